"""The rate from one number to one person: known before sending, as far as one sender can know it.

Meta, pair rate: one message in 6 seconds from a number to a person; a burst is borrowed from the
future, and what is over it is refused (131056).
"""

from dataclasses import dataclass, field

from sluice.domain.limits import PAIR_BURST_MESSAGES, PAIR_SECONDS, PAIRS_MAX


@dataclass(slots=True)
class Pairs:
    """A token bucket for each person to whom this sender wrote in the last half minute.

    Times are seconds of a wall clock, because a sender is frozen between invocations. A bucket is
    kept as the moment from which it is full again; one that is full needs no memory.
    """

    _full_at: dict[str, float] = field(default_factory=dict)

    def wait_seconds(self, person: str, *, now: float) -> float:
        """Return how long the person's next message must wait; 0.0 within the burst."""
        borrowed = self._full_at.get(person, now) - now
        return max(0.0, borrowed - (PAIR_BURST_MESSAGES - 1) * PAIR_SECONDS)

    def took(self, person: str, *, now: float) -> None:
        """A message leaves to the person."""
        if len(self._full_at) >= PAIRS_MAX:
            self._forget(now)
        # Taken out and put back: the order is that of the last message.
        self._full_at[person] = max(now, self._full_at.pop(person, now)) + PAIR_SECONDS

    def _forget(self, now: float) -> None:
        """Drop full buckets; if there are none to speak of, the half that was used least lately."""
        self._full_at = {who: at for who, at in self._full_at.items() if at > now}
        for who in list(self._full_at)[: max(0, len(self._full_at) - PAIRS_MAX // 2)]:
            del self._full_at[who]
