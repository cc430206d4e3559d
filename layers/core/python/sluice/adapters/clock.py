"""The machine's clock and dice."""

import random
import time
from datetime import UTC, datetime


class SystemClock:
    """The clock that functions are wired with."""

    def now(self) -> datetime:
        """Return the time of day, in UTC."""
        return datetime.fromtimestamp(time.time(), UTC)

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        if seconds > 0:
            time.sleep(seconds)


def roll() -> float:
    """Return a number in [0, 1): the dice that spread retries."""
    return random.random()  # noqa: S311 - jitter, not a secret
