"""How fast a campaign goes, and when it ends if it goes on so."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from sluice.domain.clock import FOREVER

WINDOW_SECONDS: Final = 60.0
"""A rate is of the last minute, or of as little more as there is a sample for."""
WINDOW_SECONDS_MIN: Final = 10.0
WINDOW_SECONDS_MAX: Final = 600.0
"""What happened longer ago says nothing of now."""


class Sample(NamedTuple):
    """How many deliveries of a campaign had left at a moment."""

    at: datetime
    done: int


class Rate(NamedTuple):
    """Deliveries that left a second, over so many seconds up to now."""

    per_second: float
    window_seconds: float


@dataclass(frozen=True, slots=True)
class NumberPace:
    """A number, as fast as it may go now."""

    phone_number_id: str
    sends_per_second: float
    paused_until: datetime | None
    """FOREVER: until somebody resumes it."""


@dataclass(frozen=True, slots=True)
class Course:
    """What decides when a campaign ends."""

    state: str
    reason: str | None
    loaded: bool
    start_at: datetime | None
    window_at: datetime | None
    """When its hours begin; None: they have, or any is right."""
    held: bool
    """Until somebody approves it."""
    staged: bool
    """Its stages limit it: what comes after the present one, a person may have to decide."""
    limited: bool
    """The daily limits of its numbers are used up: it waits for those of yesterday to drop out."""
    paused_until: datetime | None
    expires_at: datetime | None
    remaining: int
    """Deliveries that have not left: pending, queued or sending."""
    numbers: Sequence[NumberPace]


@dataclass(frozen=True, slots=True)
class Forecast:
    """When the last delivery leaves. ``ends_at`` None: nobody can tell, for what it waits for."""

    ends_at: datetime | None
    basis: str | None
    """``measured``: at the rate of the last minute; ``at best``: at the full rate of its numbers,
    from when it may go on, alone."""
    waits_for: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """It as JSON."""
        return {
            "at": self.ends_at.isoformat() if self.ends_at else None,
            "basis": self.basis,
            "waits_for": list(self.waits_for),
        }


def rate_of(samples: Iterable[Sample], *, now: datetime, done: int) -> Rate | None:
    """The rate since the youngest sample of at least a minute, else since the oldest younger one.

    None: no sample is old enough, or young enough, to tell.
    """
    aged = sorted(((now - one.at).total_seconds(), one.done) for one in samples)
    usable = [one for one in aged if WINDOW_SECONDS_MIN <= one[0] <= WINDOW_SECONDS_MAX]
    if not usable:
        return None
    seconds, before = next((one for one in usable if one[0] >= WINDOW_SECONDS), usable[-1])
    # Fewer than before: Meta gave messages up, and they are pending again.
    return Rate(max(0, done - before) / seconds, seconds)


def forecast(course: Course, rate: Rate | None, *, now: datetime) -> Forecast:
    """When the campaign ends, by its rate; while something stops it, by that of its numbers."""
    over = course.state in ("finished", "cancelled", "erased")
    if over or (course.loaded and not course.remaining):
        return Forecast(None, None)
    waits = _waits(course, now)
    reasons = tuple(reason for reason, _ in waits)
    if any(until is None for _, until in waits):
        return Forecast(None, None, reasons)
    begins_at = max((until for _, until in waits if until), default=now)
    if waits or rate is None:
        basis, per_second = "at best", _full_rate(course.numbers, begins_at)
    else:
        basis, per_second = "measured", rate.per_second
    if not per_second:
        return Forecast(None, None, (*reasons, "nothing leaves at present"))
    ends_at = _later(begins_at, course.remaining / per_second)
    if course.expires_at is not None and course.expires_at < ends_at:
        return Forecast(course.expires_at, basis, (*reasons, "it expires before its end"))
    return Forecast(ends_at, basis, reasons)


def _waits(course: Course, now: datetime) -> list[tuple[str, datetime | None]]:
    """What stops it, and until when; None: nobody knows."""
    waits: list[tuple[str, datetime | None]] = []
    if not course.loaded:
        waits.append(("its audience is loading", None))
    if course.state == "paused":
        waits.append((f"it is paused: {course.reason}", _known(course.paused_until)))
    if course.start_at is not None and course.start_at > now:
        waits.append(("its start", course.start_at))
    if course.window_at is not None:
        waits.append(("its hours", course.window_at))
    if course.held:
        waits.append(("its approval", None))
    if course.staged:
        waits.append(("its stages", None))
    if course.limited:
        waits.append(("the daily limit of its portfolio", None))
    paused = [one.paused_until for one in course.numbers if one.paused_until]
    stopped = [until for until in paused if until > now]
    if stopped and len(stopped) == len(course.numbers):
        waits.append(("all its numbers are paused", _known(min(stopped))))
    if not course.numbers:
        waits.append(("none of its numbers is configured", None))
    return waits


def _known(until: datetime | None) -> datetime | None:
    return until if until is not None and until < FOREVER else None


def _full_rate(numbers: Iterable[NumberPace], at: datetime) -> float:
    return sum(
        one.sends_per_second
        for one in numbers
        if one.paused_until is None or one.paused_until <= at
    )


def _later(moment: datetime, seconds: float) -> datetime:
    return moment + timedelta(seconds=min(seconds, (FOREVER - moment).total_seconds()))
