"""The two rates that Meta enforces: a number's cap, and the rate between a number and a person."""

from collections import deque
from typing import Final, NamedTuple

WINDOW_SECONDS: Final = 1.0


class Window:
    """Accepted requests of one number in the half-open second that ends with the newest.

    `[t, t + 1)` holds a request at `a` exactly if `a < t + 1`; the ledger counts by the same
    expression, so both agree to the last bit.
    """

    def __init__(self) -> None:
        self._accepted: deque[float] = deque()
        self._newest = float("-inf")

    def in_order(self, arrived: float) -> float:
        """The arrival, never before one that was judged already.

        A body that comes in a second packet can let a later request overtake by microseconds.
        """
        self._newest = max(self._newest, arrived)
        return self._newest

    def full(self, arrived: float, cap: int) -> bool:
        """Whether one more request at `arrived` (monotonic seconds) would exceed the cap."""
        accepted = self._accepted
        while accepted and arrived >= accepted[0] + WINDOW_SECONDS:
            accepted.popleft()
        return len(accepted) >= cap

    def accept(self, arrived: float) -> None:
        """Count a request that was not refused."""
        self._accepted.append(arrived)


class _Burst(NamedTuple):
    started: float
    messages: int
    repaid: float


class PairLimit:
    """One message in `interval` seconds to one person, or a burst borrowed from the future.

    Within one interval up to `burst` messages pass; then nothing does until all are repaid: a
    burst of 20 costs two minutes. Source: Meta, "About the platform", pair rate limits.
    """

    def __init__(self) -> None:
        self._bursts: dict[tuple[str, str], _Burst] = {}
        self._swept = float("-inf")

    def admits(self, pair: tuple[str, str], now: float, *, interval: float, burst: int) -> bool:
        """Whether a message from `pair[0]` to `pair[1]` passes at `now`; if so it is counted."""
        self._sweep(now, interval)
        state = self._bursts.get(pair)
        if state is None or now >= state.repaid:
            state = _Burst(started=now, messages=0, repaid=now)
        elif now >= state.started + interval or state.messages >= burst:
            return False
        self._bursts[pair] = _Burst(state.started, state.messages + 1, state.repaid + interval)
        return True

    def _sweep(self, now: float, interval: float) -> None:
        """Forget who owes nothing: a campaign of millions must not stay in memory."""
        if now < self._swept + interval:
            return
        self._swept = now
        for pair in [pair for pair, state in self._bursts.items() if now >= state.repaid]:
            del self._bursts[pair]
