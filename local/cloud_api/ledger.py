"""The ledger file: every request judged and every status acknowledged, and how to read it.

It is SQLite in WAL mode with `synchronous=OFF`: what was committed survives a SIGKILL of the
process (it is in the kernel), not a power failure. Rows are committed at least every 50 ms, and
always before the answer, or a webhook about it, leaves.

Times: `arrived` and `at` are seconds of the machine's monotonic clock, which all processes
share and restarts continue; `wall` is Unix seconds. All functions open the file read-only and
may run beside the live process; `path` is the file.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS request (
    id INTEGER PRIMARY KEY, arrived REAL NOT NULL, wall REAL NOT NULL,
    phone_number_id TEXT NOT NULL, recipient TEXT NOT NULL, opaque_id TEXT NOT NULL,
    verdict TEXT NOT NULL, wamid TEXT NOT NULL, content TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS status (
    id INTEGER PRIMARY KEY, at REAL NOT NULL, wall REAL NOT NULL,
    wamid TEXT NOT NULL, opaque_id TEXT NOT NULL, status TEXT NOT NULL, code INTEGER
);
CREATE TABLE IF NOT EXISTS said (
    at REAL NOT NULL, wall REAL NOT NULL, phone_number_id TEXT NOT NULL, sender TEXT NOT NULL,
    wamid TEXT NOT NULL, context_id TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS stall (at REAL NOT NULL, seconds REAL NOT NULL);
"""
ACCEPTED: Final = ("accepted", "held", "lost_answer")
"""The verdicts after which the message is on its way; all others refused it."""
_IS_ACCEPTED: Final = "verdict IN ('accepted', 'held', 'lost_answer')"
_WINDOW_SECONDS: Final = 1.0


class Request(NamedTuple):
    """A request. Verdict: accepted, held, lost_answer, throttled, pair_limited, rejected:<code>."""

    id: int
    arrived: float
    wall: float
    phone_number_id: str
    recipient: str
    opaque_id: str
    verdict: str
    wamid: str
    content: str = ""
    """The template's name, or the type of a free-form message."""


class Said(NamedTuple):
    """A message of a person; ``context_id`` is the wamid that it answers, or empty."""

    at: float
    wall: float
    phone_number_id: str
    sender: str
    wamid: str
    context_id: str


class Status(NamedTuple):
    """A status that the webhook answered with 200. `code` is that of a `failed` one."""

    at: float
    wall: float
    wamid: str
    opaque_id: str
    status: str
    code: int | None


@dataclass(frozen=True, slots=True)
class WindowUse:
    """The fullest half-open second of a number, and how many such windows exceed its cap.

    A window is counted once for each request that begins it.
    """

    cap: int
    offered_max: int
    offered_windows_over: int
    accepted_max: int
    accepted_windows_over: int


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A recipient of a campaign that was accepted more than once, in order of arrival."""

    key: str
    attempts: tuple[int, ...]
    wamids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RateUse:
    """Accepted sends of a number; the times are Unix seconds, None if there were none."""

    sends: int
    first: float | None
    last: float | None
    sends_per_second: float


def requests(path: Path) -> list[Request]:
    """Every request in order of its id, which is the order of judgement."""
    return [Request(*row) for row in _rows(path, "SELECT * FROM request ORDER BY id")]


def windows_over(path: Path, cap: int | Mapping[str, int]) -> dict[str, WindowUse]:
    """For each number how full its seconds were; `cap` is for all numbers, or one for each."""
    rows = _rows(
        path,
        f"SELECT phone_number_id, arrived, {_IS_ACCEPTED} FROM request ORDER BY arrived",  # noqa: S608
    )
    offered: dict[str, list[float]] = {}
    accepted: dict[str, list[float]] = {}
    for phone_number_id, arrived, is_accepted in rows:
        offered.setdefault(phone_number_id, []).append(arrived)
        if is_accepted:
            accepted.setdefault(phone_number_id, []).append(arrived)
    uses = {}
    for phone_number_id, times in offered.items():
        limit = cap if isinstance(cap, int) else cap[phone_number_id]
        uses[phone_number_id] = WindowUse(
            limit,
            *fullest_window(times, limit),
            *fullest_window(accepted.get(phone_number_id, []), limit),
        )
    return uses


def fullest_window(times: list[float], cap: int) -> tuple[int, int]:
    """Most of the sorted `times` in any `[t, t + 1)`, and the windows with more than `cap`.

    A fullest window can always be moved to begin at a time, so only those are tried.
    """
    most = over = end = 0
    for start, begins in enumerate(times):
        while end < len(times) and times[end] < begins + _WINDOW_SECONDS:
            end += 1
        most = max(most, end - start)
        over += end - start > cap
    return most, over


def accepted_by_opaque_id(path: Path) -> dict[str, list[Request]]:
    """The accepted requests of each opaque id, in order; ids of refused ones are absent."""
    found: dict[str, list[Request]] = {}
    for row in _rows(path, f"SELECT * FROM request WHERE {_IS_ACCEPTED} ORDER BY id"):  # noqa: S608
        request = Request(*row)
        found.setdefault(request.opaque_id, []).append(request)
    return found


def duplicates(path: Path) -> list[Duplicate]:
    """Each `campaign:seq` that was accepted more than once, whatever the attempts.

    Equal attempts are a mistake for certain; different ones may be policy. Requests whose opaque
    id is not `campaign:seq:attempt` are left out.
    """
    found: dict[str, list[tuple[int, str]]] = {}
    query = f"SELECT opaque_id, wamid FROM request WHERE {_IS_ACCEPTED} ORDER BY id"  # noqa: S608
    for opaque_id, wamid in _rows(path, query):
        key, _, attempt = opaque_id.rpartition(":")
        if ":" in key and attempt.isdecimal():
            found.setdefault(key, []).append((int(attempt), wamid))
    return [
        Duplicate(key, tuple(attempt for attempt, _ in sends), tuple(wamid for _, wamid in sends))
        for key, sends in found.items()
        if len(sends) > 1
    ]


def rate_use(
    path: Path, phone_number_id: str, since: float | None = None, until: float | None = None
) -> RateUse:
    """Accepted sends of a number with `since <= wall < until` (Unix seconds, None is open).

    Per second: over `until - since` if both are given, else between the first and the last send
    on the monotonic clock.
    """
    query = (
        "SELECT count(*), min(wall), max(wall), max(arrived) - min(arrived) FROM request"  # noqa: S608
        f" WHERE {_IS_ACCEPTED} AND phone_number_id = ? AND wall >= ? AND wall < ?"
    )
    bounds = (since if since is not None else 0.0, until if until is not None else float("inf"))
    [(sends, first, last, span)] = _rows(path, query, (phone_number_id, *bounds))
    if since is not None and until is not None:
        return RateUse(sends, first, last, sends / (until - since))
    return RateUse(sends, first, last, (sends - 1) / span if span else 0.0)


def acknowledged_by_wamid(path: Path) -> dict[str, list[Status]]:
    """The statuses that the webhook acknowledged, in order, duplicates included."""
    found: dict[str, list[Status]] = {}
    query = "SELECT at, wall, wamid, opaque_id, status, code FROM status ORDER BY id"
    for row in _rows(path, query):
        status = Status(*row)
        found.setdefault(status.wamid, []).append(status)
    return found


def said(path: Path) -> list[Said]:
    """Every message of a person, in order."""
    return [Said(*row) for row in _rows(path, "SELECT * FROM said ORDER BY at")]


def stalls(path: Path) -> list[tuple[float, float]]:
    """When the judge's own clock was late, and for how many seconds: the error of `arrived`."""
    return list(_rows(path, "SELECT at, seconds FROM stall ORDER BY at"))


def summary(path: Path) -> dict[str, Any]:
    """Counts: `{"requests": {number: {verdict: n}}, "statuses": {status: n}}`."""
    by_number: dict[str, dict[str, int]] = {}
    query = "SELECT phone_number_id, verdict, count(*) FROM request GROUP BY 1, 2"
    for phone_number_id, verdict, count in _rows(path, query):
        by_number.setdefault(phone_number_id, {})[verdict] = count
    statuses = dict(_rows(path, "SELECT status, count(*) FROM status GROUP BY 1"))
    return {"requests": by_number, "statuses": statuses}


@contextmanager
def _reader(path: Path) -> Iterator[sqlite3.Connection]:
    uri = f"{Path(path).resolve().as_uri()}?mode=ro"
    with closing(sqlite3.connect(uri, uri=True, timeout=10)) as connection:
        yield connection


def _rows(path: Path, query: str, parameters: tuple[object, ...] = ()) -> list[Any]:
    with _reader(path) as connection:
        return connection.execute(query, parameters).fetchall()
