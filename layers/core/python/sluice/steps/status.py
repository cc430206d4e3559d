"""Status: whole batches of statuses to their deliveries, never backwards."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.delivery import (
    StatusUpdate,
    UnmatchedStatus,
    matched,
    reduce_updates,
    update_of,
)


class Statuses(Protocol):
    """Where statuses are written."""

    def apply(self, updates: Sequence[StatusUpdate]) -> int:
        """Write at most one update for each delivery; returns how many rows it reached."""

    def resolve(self, wamids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Return (campaign_id, seq, attempt) of each wamid that we know."""

    def keep_orphans(self, orphans: Sequence[UnmatchedStatus], *, now: datetime) -> None:
        """Keep statuses whose message we do not know yet."""


@dataclass(slots=True)
class Applied:
    """What a batch came to."""

    statuses: int = 0
    updates: int = 0
    reached: int = 0
    """Deliveries that were found. The others are of another installation or a later attempt."""
    orphans: int = 0
    invalid: list[Mapping[str, Any]] = field(default_factory=list)
    oldest_at: datetime | None = None


def apply_statuses(
    batch: Iterable[Mapping[str, Any]], *, statuses: Statuses, now: datetime
) -> Applied:
    """Write a batch of compact statuses. Written again, or in another order, it ends the same."""
    applied = Applied()
    updates: list[StatusUpdate] = []
    unmatched: list[UnmatchedStatus] = []
    for status in batch:
        applied.statuses += 1
        match update_of(status):
            case StatusUpdate() as update:
                updates.append(update)
            case UnmatchedStatus() as stranger:
                unmatched.append(stranger)
            case None:
                applied.invalid.append(status)
    applied.oldest_at = _oldest(updates)
    known = statuses.resolve(sorted({stranger.wamid for stranger in unmatched}))
    updates += [matched(one, known[one.wamid]) for one in unmatched if one.wamid in known]
    orphans = [one for one in unmatched if one.wamid not in known]
    reduced = latest_attempts(reduce_updates(updates))
    applied.updates = len(reduced)
    applied.reached = statuses.apply(reduced)
    statuses.keep_orphans(orphans, now=now)
    applied.orphans = len(orphans)
    return applied


def apply_split(
    messages: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    statuses: Statuses,
    now: datetime,
    fatal: type[Exception],
) -> tuple[list[Applied], dict[str, Exception]]:
    """Write queue messages (id to statuses) together; where that fails, in halves.

    So one message that can never be written holds nobody else. Returns what was written and the
    failures by message id. A ``fatal`` error, that no splitting helps, passes through.
    """
    try:
        everything = [status for batch in messages.values() for status in batch]
        return [apply_statuses(everything, statuses=statuses, now=now)], {}
    except fatal:
        raise
    except Exception as error:  # noqa: BLE001 - reported by message; the others go on
        if len(messages) == 1:
            return [], dict.fromkeys(messages, error)
    applied: list[Applied] = []
    failures: dict[str, Exception] = {}
    ids = list(messages)
    for half in (ids[: len(ids) // 2], ids[len(ids) // 2 :]):
        written, failed = apply_split(
            {name: messages[name] for name in half}, statuses=statuses, now=now, fatal=fatal
        )
        applied += written
        failures |= failed
    return applied, failures


def latest_attempts(updates: Sequence[StatusUpdate]) -> list[StatusUpdate]:
    """Keep the highest attempt of each delivery: a later one makes the others history.

    ``updates`` are sorted by (campaign_id, seq, attempt), one for each.
    """
    latest = {(update.campaign_id, update.seq): update for update in updates}
    return list(latest.values())


def _oldest(updates: Sequence[StatusUpdate]) -> datetime | None:
    moments = [
        moment
        for update in updates
        for moment in (update.sent_at, update.delivered_at, update.read_at, update.failed_at)
        if moment is not None
    ]
    return min(moments, default=None)
