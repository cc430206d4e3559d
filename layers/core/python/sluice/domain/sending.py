"""What a sender needs of the world outside, and what it tells of its work."""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.brakes import StopAccount, StopNumber
from sluice.domain.claim import Claim, Key, Result, SendPolicy
from sluice.domain.outcomes import Outcome


class Claims(Protocol):
    """The deliveries of this number."""

    def claim(self, keys: Iterable[Key], *, now: datetime, lease: datetime) -> Claim:
        """Make queued rows ours until ``lease``."""

    def record(self, results: Sequence[Result], *, now: datetime, patience_seconds: float) -> None:
        """Write results."""

    def release(self, keys: Iterable[Key], *, now: datetime) -> None:
        """Give queued rows back to pending."""

    def policy(self, campaign_id: int) -> SendPolicy:
        """Return what a sender must know of a campaign."""


class Stops(Protocol):
    """Pauses that every slot sees at its next claim."""

    def stop_sending(
        self, phone_number_id: str, stop: StopNumber | StopAccount, *, now: datetime
    ) -> bool:
        """Stop the number, its account or the whole app."""

    def pause_campaign(self, campaign_id: int, *, until: datetime | None, reason: str) -> None:
        """Stop the campaign."""


class CloudApi(Protocol):
    """Requests in the background."""

    @property
    def in_flight(self) -> int:
        """Requests whose outcome was not taken yet."""

    @property
    def full(self) -> bool:
        """Whether another request would have to wait."""

    def prepare(self) -> None:
        """Make ready for a batch."""

    def start(self, name: Hashable, body: Mapping[str, Any], *, due_at: float) -> float:
        """Post in the background, not before ``due_at``; returns when it really left."""

    def take(self, *, timeout_seconds: float) -> list[tuple[Any, Outcome]]:
        """Return finished requests, waiting up to the timeout for one."""


@dataclass(slots=True)
class Sent:
    """What an invocation did, for logs, metrics and the batch response."""

    unfinished: set[int] = field(default_factory=set)
    """Chunks that must come again, by their place in the batch; only after a failure."""
    failure: Exception | None = None
    """What ended the batch early: the database was away, mostly."""
    claimed: int = 0
    started: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """By the name of the outcome, e.g. ``Accepted``."""
    refusals: Counter[tuple[int, int]] = field(default_factory=Counter)
    """By campaign_id and Meta's code."""
    campaign_ids: set[int] = field(default_factory=set)
    """Campaigns of what was started."""
    claim_milliseconds: list[float] = field(default_factory=list)
    """How long each claim took."""
    stops: int = 0
    """Outcomes that stopped the number, its account or a campaign."""
    without_media: set[int] = field(default_factory=set)
    """Campaigns whose template's media this number may not send: they were not uploaded for it."""
    unrecognised: set[int] = field(default_factory=set)
    """Codes that the error table does not have."""
    spaced: int = 0
    """Handed back, because their person had a burst of messages from the number already."""
    paced_seconds: float = 0.0
    """Spent waiting for the pace: near zero while the rate is low means that something is slow."""

    def start(self, campaign_id: int) -> None:
        """Count a request that left."""
        self.started += 1
        self.campaign_ids.add(campaign_id)

    @property
    def codes(self) -> Counter[int]:
        """Refusals by Meta's code."""
        codes: Counter[int] = Counter()
        for (_, code), count in self.refusals.items():
            codes[code] += count
        return codes
