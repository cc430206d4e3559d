"""Time as an argument."""

from datetime import UTC, datetime
from typing import Final, Protocol

FOREVER: Final = datetime(9999, 12, 31, tzinfo=UTC)
"""The end of a pause that only a person, or a signal, ends."""


class Clock(Protocol):
    """The time, in the two kinds that are needed, and the passing of it."""

    def now(self) -> datetime:
        """Return the time of day, in UTC: what is written down."""

    def monotonic(self) -> float:
        """Return seconds since some moment, never back: what gaps and deadlines are measured by."""

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
