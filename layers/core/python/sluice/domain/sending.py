"""What a sender needs of the world outside: its deliveries, the pauses, the Cloud API."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

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

    def pause_number(self, phone_number_id: str, *, until: datetime, reason: str) -> bool:
        """Stop the number."""

    def pause_account(self, phone_number_id: str, *, until: datetime, reason: str) -> bool:
        """Stop every number of its account."""

    def throttle_number(self, phone_number_id: str, *, now: datetime) -> None:
        """Halve the rate of the number."""

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
