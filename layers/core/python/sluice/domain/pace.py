"""The leading gap, which makes the rate of a slot exact.

Every send, the first of an invocation included, is preceded by a gap. The starts of one slot are
then at least a gap apart, across invocations, crashes and new environments too, because the
slot's previous occupant had stopped before this one was entered. So C slots share a cap without
sharing anything else.
"""

import math
from dataclasses import dataclass
from typing import Final, Self

_NANOSECONDS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Pace:
    """The pace of one slot: at least ``gap_seconds`` between the starts of two sends."""

    gap_seconds: float

    @classmethod
    def of_rate(cls, sends_per_second: float) -> Self:
        """The pace of a slot that may start ``sends_per_second`` (positive, may be a fraction).

        The gap is rounded up by one to two nanoseconds, more than adding floats loses on a
        monotonic clock younger than 97 days, so that a rate of 38 is never 39 by rounding.
        """
        assert sends_per_second > 0, "a slot that never sends has no pace"
        return cls((math.ceil(_NANOSECONDS / sends_per_second) + 1) / _NANOSECONDS)

    def due(self, last_seconds: float, now_seconds: float) -> float:
        """When the next send may start, on the clock of the arguments.

        ``last_seconds`` is the start of the previous send, or the entry of the handler before
        the first one. After a stall the answer is now: nothing is caught up.
        """
        return max(last_seconds + self.gap_seconds, now_seconds)


def one_second_sends_max(sends_per_second: float) -> int:
    """The most sends of one slot that any one-second window holds: the rate rounded up.

    Starts a gap apart put n into a window [t, t + 1) only if (n - 1) gaps fit in strictly less
    than a second, so n < rate + 1. Whoever shares a cap among C slots therefore needs
    C x one_second_sends_max(rate) <= cap: four slots at 62.5 may reach 252, not 250.
    """
    return math.ceil(sends_per_second)
