"""What passes between the claim of a delivery and the record of its result."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sluice.domain.clock import FOREVER
from sluice.domain.delivery import State, Status
from sluice.domain.windows import Hours


class Key(NamedTuple):
    """A delivery: campaign and position in its audience. Sorted, it is the order of locking."""

    campaign_id: int
    seq: int


@dataclass(frozen=True, slots=True)
class Claimed:
    """A delivery that is ours to send, until its lease is over."""

    key: Key
    attempt: int
    lease: datetime
    """When it stops being ours; unique to the claim, so it also proves that it is ours."""
    address: str
    parameters: Mapping[str, str]
    message: Mapping[str, Any] | None
    """A direct send's own ``{"template": …}`` or ``{"message": …}``; None: the campaign's."""
    zone: int = 0
    """The person's time zone, as the campaign numbers them."""
    variant: int = 0
    """The variant of the campaign that the person gets, from 1 on; 0: none."""
    attempts_before: int = 0
    """Attempts before a person ordered to send it again: they do not count any more."""

    @property
    def tries(self) -> int:
        """Attempts that count, this one included."""
        return self.attempt - self.attempts_before


@dataclass(frozen=True, slots=True)
class Claim:
    """The answer to a claim: what stops the number, if anything, and the rows that are ours."""

    paused_until: datetime | None
    rate_factor: float
    """How much of its rate the number may use; below 1 after it was throttled."""
    rows: tuple[Claimed, ...]
    lent: bool = False
    """Bulk: the share of the conversation lane may be used. Conversation: it may be in use."""
    inbound_per_second: float = 0.0
    """What people write to the number: Meta counts it in the same cap."""


@dataclass(frozen=True, slots=True)
class SendPolicy:
    """What a sender must know of a campaign; only its media may be uploaded anew."""

    campaign_id: int
    template: Mapping[str, Any] | None
    max_attempts: int
    unknown_window: timedelta
    hours: Hours | None = None
    """When its people may be written to; None: at any time."""
    media_until: datetime = FOREVER
    """Until when this number may send the template's media; the past: it has no upload of them."""
    variants: tuple[Mapping[str, Any], ...] = ()
    """Templates of its variants, in their order."""

    def template_for(self, claimed: Claimed) -> Mapping[str, Any] | None:
        """What the person gets of the campaign."""
        return self.variants[claimed.variant - 1] if claimed.variant else self.template

    def is_open(self, claimed: Claimed, at: datetime) -> bool:
        """Whether the person may be written to at that time."""
        return self.hours is None or self.hours.is_open(claimed.zone, at)


@dataclass(frozen=True, slots=True)
class Result:
    """What one attempt came to, ready to be recorded.

    ``burned`` is false where the attempt does not count: nothing was sent, or the number was
    throttled or paused. ``due_at`` is None for a final state.
    """

    key: Key
    attempt: int
    lease: datetime
    state: State
    status: Status
    due_at: datetime | None
    burned: bool = True
    wamid: str | None = None
    code: int | None = None
    details: str = ""
