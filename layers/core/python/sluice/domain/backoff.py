"""How long to wait before trying again. The dice are an argument."""

from typing import Final

EXPONENT_MAX: Final = 64
"""2^64 seconds is longer than any cap, and no larger power is ever computed."""
PAIR_SECONDS_MAX: Final = 4**6
"""About 68 minutes: where Meta's 4^X stops growing here."""


def full_jitter_seconds(
    *, attempt: int, base_seconds: float, cap_seconds: float, dice: float
) -> float:
    """A wait between 0 and min(cap, base x 2^attempt), spread evenly by ``dice`` in [0, 1).

    ``attempt`` is 0 for the first retry.
    Source: Exponential Backoff And Jitter, AWS Architecture Blog, 2015.
    """
    return min(cap_seconds, base_seconds * float(2 ** _exponent(attempt))) * dice


def pair_seconds(attempt: int) -> float:
    """The wait after error 131056 (number and recipient): 4^X seconds, X = 0, 1, 2, …, capped.

    Source: Meta, about the platform, pair rate limits.
    """
    return float(min(PAIR_SECONDS_MAX, 4 ** _exponent(attempt)))


def _exponent(attempt: int) -> int:
    return min(max(attempt, 0), EXPONENT_MAX)
