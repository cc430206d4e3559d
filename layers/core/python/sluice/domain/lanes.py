"""The two lanes of a number, and how bulk borrows the share of a conversation that is silent.

``conversation`` has a share of the number's rate for itself. While nobody talks, each claim of a
bulk slot lends it that share for LEND_SECONDS. A conversation slot that claims holds the share for
HOLD_SECONDS, and nothing is lent meanwhile. What was lent just before is waited out: a grant was
given before the hold, under the lock of the number's row, so it ends LEND_SECONDS after the answer
to the claim at the latest, whatever the clocks of the two functions say. See docs/decisions/0010.
"""

import math
from dataclasses import dataclass, field
from typing import Final, Literal

from sluice.domain.claim import Claim
from sluice.domain.limits import (
    HOLD_SECONDS,
    LEND_MARGIN_SECONDS,
    LEND_SECONDS,
    RATE_FACTOR_MIN,
    SEND_SUB_BATCH_SECONDS,
    SKEW_SECONDS_MAX,
)
from sluice.domain.pace import Pace

Lane = Literal["conversation", "bulk"]
CONVERSATION: Final = "conversation"
BULK: Final = "bulk"
LANES: Final[tuple[Lane, ...]] = (CONVERSATION, BULK)


@dataclass(slots=True)
class SlotPace:
    """The pace of one slot, as its latest claim allows; seconds are monotonic, of this slot."""

    lane: Lane
    slots: int
    """Of the lane."""
    own_per_second: float
    """Sends of this slot, whatever the other lane does."""
    lent_per_second: float
    """The same while the share of the conversation lane is lent to it."""
    _own: Pace = field(init=False)
    _lent: Pace = field(init=False)
    _lent_until: float = field(init=False, default=-math.inf)
    _silent_until: float = field(init=False, default=-math.inf)
    _held_until: float = field(init=False, default=-math.inf)

    def __post_init__(self) -> None:
        """Begin with what is its own: nothing is lent before a claim says so."""
        self._own = self._lent = Pace.of_rate(self.own_per_second)

    def heed(self, claim: Claim, *, asked_at: float, answered_at: float) -> None:
        """Take over what the answer to a claim says of the rate.

        What Meta counts of people's own messages is taken from bulk.
        """
        taken = claim.inbound_per_second / self.slots if self.lane == BULK else 0.0
        self._own = _slowed(self.own_per_second, claim.rate_factor, taken)
        self._lent = _slowed(self.lent_per_second, claim.rate_factor, taken)
        if self.lane == BULK:
            self._lent_until = asked_at + LEND_SECONDS if claim.lent else -math.inf
            return
        # Held without a break since an earlier claim, nothing was lent that was not waited out.
        if claim.lent and self.must_ask(asked_at):
            self._silent_until = answered_at + LEND_SECONDS + LEND_MARGIN_SECONDS
        self._held_until = asked_at + HOLD_SECONDS - SKEW_SECONDS_MAX

    def due(self, last: float, now: float) -> float:
        """Return when the next send may start; ``last`` as of ``Pace.due``."""
        due = self._lent.due(last, now)
        if due >= self._lent_until:
            due = self._own.due(last, now)
        return max(due, self._silent_until)

    def rows(self, now: float) -> int:
        """Return how many rows are about a second of work."""
        pace = self._lent if now < self._lent_until else self._own
        return max(1, round(SEND_SUB_BATCH_SECONDS / pace.gap_seconds))

    def must_ask(self, now: float) -> bool:
        """Whether the hold of the conversation's share must be renewed before the next send."""
        return self.lane == CONVERSATION and now > self._held_until


def lends(*, bulk_slots: int, conversation_slots: int, reserved_per_second: float) -> bool:
    """Whether the pause between the lanes makes up for what their slots may add to its second.

    Slots that start together add at most one send each to a window. The reserved share that
    nobody uses during LEND_MARGIN_SECONDS must be at least that much.
    """
    return bulk_slots + conversation_slots <= reserved_per_second * LEND_MARGIN_SECONDS


def _slowed(per_second: float, factor: float, taken: float) -> Pace:
    return Pace.of_rate(max(per_second * RATE_FACTOR_MIN, per_second * factor - taken))
