"""Recurring campaigns: when they start, under which id, and which starts are left out."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

AT_FORMAT: Final = "%Y-%m-%dT%H:%M:%S"
NAME_CHARACTERS_MAX: Final = 64
"""Of a schedule at EventBridge Scheduler, which takes letters, digits and ``- _ .``."""
_DIGEST_CHARACTERS: Final = 16

_EXPRESSION: Final = re.compile(r"(cron|rate|at)\((.+)\)")
_RATE: Final = re.compile(r"[1-9][0-9]{0,4} (minute|hour|day)s?")


class _Field(NamedTuple):
    name: str
    least: int
    most: int
    characters: str


_CRON: Final = (
    _Field("minutes", 0, 59, r"[0-9,\-*/]+"),
    _Field("hours", 0, 23, r"[0-9,\-*/]+"),
    _Field("day of month", 1, 31, r"[0-9,\-*/?LW]+"),
    _Field("month", 1, 12, r"[0-9A-Z,\-*/]+"),
    _Field("day of week", 1, 7, r"[0-9A-Z,\-*?#]+"),
    _Field("year", 1970, 2199, r"[0-9,\-*/]+"),
)
_NUMBER: Final = re.compile(r"(?<![/#0-9])[0-9]+")


def expression_problem(expression: str) -> str | None:
    """What is wrong with a schedule's expression; None: AWS may take it, and has the last word.

    Source: EventBridge Scheduler, schedule types.
    """
    match = _EXPRESSION.fullmatch(expression)
    if match is None:
        return "is none of cron(…), rate(…), at(…)"
    kind, inner = match.groups()
    if kind == "rate":
        return None if _RATE.fullmatch(inner) else "a rate is as in rate(1 day), rate(12 hours)"
    if kind == "at":
        return None if at_moment(expression) else "a time is as in at(2026-12-01T08:00:00)"
    return _cron_problem(inner.split())


def at_moment(expression: str) -> datetime | None:
    """The wall-clock time of ``at(…)``, without a zone; None for anything else."""
    try:
        return datetime.strptime(expression, f"at({AT_FORMAT})")  # noqa: DTZ007 - the wall's clock
    except ValueError:
        return None


def _cron_problem(fields: Sequence[str]) -> str | None:
    if len(fields) != len(_CRON):
        return f"a cron has six fields, not {len(fields)}"
    for field, text in zip(_CRON, fields, strict=True):
        outside = [n for n in map(int, _NUMBER.findall(text)) if not field.least <= n <= field.most]
        if outside or not re.fullmatch(field.characters, text):
            return f"{text} is no {field.name}"
    if (fields[2] == "?") == (fields[4] == "?"):
        return "exactly one of day of month and day of week is ?"
    return None


def name_of(schedule_id: str) -> str:
    """The name of a schedule at AWS: readable, and different for every id."""
    digest = hashlib.sha256(schedule_id.encode()).hexdigest()[:_DIGEST_CHARACTERS]
    readable = re.sub(r"[^A-Za-z0-9_.-]", "-", schedule_id)
    return f"{readable[: NAME_CHARACTERS_MAX - _DIGEST_CHARACTERS - 1]}-{digest}"


def campaign_id_of(schedule_id: str, at: datetime) -> str:
    """The id of the campaign that a schedule starts at a time: one, however often it is told."""
    return f"{schedule_id}:{at.astimezone(UTC):{AT_FORMAT}}Z"


@dataclass(frozen=True, slots=True)
class StoredSchedule:
    """A schedule, as its newest revision has it."""

    revision: int
    request_hash: str
    request: Mapping[str, Any]
    """As it was published, with all defaults."""
    state: str
    """active, paused or dropped."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What became of one start."""

    reason: str | None
    """Why it was left out; None: it is a campaign."""
    request: Mapping[str, Any] | None = None
    """What is still to be published."""


def decide(
    schedule: StoredSchedule, *, at: datetime, now: datetime, unfinished: str | None
) -> str | None:
    """Why the start of ``at``, seen ``now``, is left out; None: it is not.

    ``unfinished`` is an earlier campaign of the schedule that still runs.
    """
    if schedule.state != "active":
        return f"the schedule is {schedule.state}"
    missed = schedule.request["missed_start"]
    late_seconds, tolerance = (now - at).total_seconds(), missed["tolerance_seconds"]
    if missed["policy"] == "skip" and late_seconds > tolerance:
        return f"seen {late_seconds:.0f} s after its time, over the tolerance of {tolerance} s"
    if schedule.request["overlap"] == "skip" and unfinished is not None:
        return f"{unfinished} is not finished"
    return None
