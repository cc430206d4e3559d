"""When people may be written to: hours of the week, by the clock on each one's own wall."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from typing import Any, Final
from zoneinfo import ZoneInfo

DAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_MINUTES: Final = 24 * 60
_WEEK_MINUTES: Final = 7 * _DAY_MINUTES
_DAY: Final = timedelta(days=1)
_LOOKS_MAX: Final = 100
"""Looks at the clock until a week that opens at all opens: a day each, or a change of the clock."""

CLOSED: Final = b"\0"
OPEN: Final = b"\1"


@dataclass(frozen=True, slots=True)
class Hours:
    """The hours of a campaign, and the time zones in which its people live.

    The clock on the wall decides: an hour that it skips in spring does not come, and one that it
    repeats in autumn comes twice.
    """

    week: bytes
    """A byte for each minute from Monday 00:00: OPEN or CLOSED; at least one is open."""
    zones: tuple[str, ...]
    """IANA names; the position is the zone's id, 0 the campaign's own."""

    @classmethod
    def of(
        cls,
        send_window: Mapping[str, Any] | None,
        quiet_hours: Sequence[Mapping[str, str]] | None,
        zones: Sequence[str],
    ) -> "Hours | None":
        """Read what a request says; None where it says nothing, so that any time is right."""
        if not send_window and not quiet_hours:
            return None
        return cls(week_of(send_window, quiet_hours or ()), tuple(zones))

    def is_open(self, zone: int, now: datetime) -> bool:
        """Whether the people of a zone may be written to now."""
        return self.week[_minute(_local(now, self.zones[zone]))] == OPEN[0]

    def open_zones(self, now: datetime) -> tuple[int, ...]:
        """Return the ids of the zones whose people may be written to now."""
        return tuple(zone for zone in range(len(self.zones)) if self.is_open(zone, now))

    def opens_at(self, zone: int, now: datetime) -> datetime:
        """Return, in UTC, the first moment from ``now`` on at which a zone is open."""
        moment = now.astimezone(UTC)
        for _ in range(_LOOKS_MAX):
            local = _local(moment, self.zones[zone])
            minute = _minute(local)
            if self.week[minute] == OPEN[0]:
                return moment
            ahead = timedelta(minutes=self._minutes_until_open(minute))
            begun = timedelta(seconds=local.second, microseconds=local.microsecond)
            moment = _clock_changes(moment, min(ahead - begun, _DAY), self.zones[zone])
        raise AssertionError("a week opens for at least a minute")

    def next_opening(self, now: datetime) -> datetime:
        """Return, in UTC, the first moment from ``now`` on at which any zone is open."""
        return min(self.opens_at(zone, now) for zone in range(len(self.zones)))

    def _minutes_until_open(self, minute: int) -> int:
        found = self.week.find(OPEN, minute)
        return found - minute if found >= 0 else self.week.find(OPEN) + _WEEK_MINUTES - minute


def week_of(
    send_window: Mapping[str, Any] | None, quiet_hours: Sequence[Mapping[str, str]]
) -> bytes:
    """Return a byte for each minute of the week from Monday 00:00: OPEN or CLOSED.

    ``send_window`` is ``{"opens", "closes", "days"}``, None for always; ``quiet_hours`` are
    ``{"from", "to"}`` of every day. What ends before it begins ends on the next day; a day is the
    one on which it begins.
    """
    week = bytearray(CLOSED * _WEEK_MINUTES)
    window = send_window or {"opens": "00:00", "closes": "24:00", "days": DAYS}
    for day in window["days"]:
        _paint(week, DAYS.index(day), window["opens"], window["closes"], OPEN)
    for quiet in quiet_hours:
        for day in range(len(DAYS)):
            _paint(week, day, quiet["from"], quiet["to"], CLOSED)
    return bytes(week)


@cache
def zone_names() -> frozenset[str]:
    """Return the names of the IANA time zones."""
    return frozenset((resources.files("tzdata") / "zones").read_text(encoding="ascii").split())


def _paint(week: bytearray, day: int, begin: str, end: str, colour: bytes) -> None:
    first, last = _minute_of_day(begin), _minute_of_day(end)
    length = last - first if last > first else last + _DAY_MINUTES - first
    start = day * _DAY_MINUTES + first
    stop = min(start + length, _WEEK_MINUTES)
    week[start:stop] = colour * (stop - start)
    # A Sunday's night ends on Monday, where the week began.
    over = start + length - stop
    week[:over] = colour * over


def _minute_of_day(text: str) -> int:
    hours, minutes = text.split(":")
    return int(hours) * 60 + int(minutes)


def _minute(local: datetime) -> int:
    return local.weekday() * _DAY_MINUTES + local.hour * 60 + local.minute


def _local(moment: datetime, zone: str) -> datetime:
    return moment.astimezone(_zone(zone))


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _clock_changes(moment: datetime, step: timedelta, zone: str) -> datetime:
    """Return the moment after ``step``, or earlier the first one of another UTC offset."""
    offset, later = _local(moment, zone).utcoffset(), moment + step
    if _local(later, zone).utcoffset() == offset:
        return later
    start = moment.replace(microsecond=0)
    seconds = bisect_left(
        range(int(step.total_seconds()) + 1),
        True,  # noqa: FBT003 - the first second for which the key is true
        key=lambda second: _local(start + timedelta(seconds=second), zone).utcoffset() != offset,
    )
    return start + timedelta(seconds=seconds)
