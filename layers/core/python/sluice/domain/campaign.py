"""A campaign as it is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from sluice.domain.audience import Position


@dataclass(frozen=True, slots=True)
class StoredCampaign:
    """A published campaign, as far as its load has come."""

    campaign_id: int
    request_hash: str
    state: str
    """running, paused, cancelled or finished."""
    audience_etag: str | None
    position: Position
    loaded: bool
    media: Mapping[str, str] = field(default_factory=dict)
    """Files of its template's header, by URI, with the ETags that they had."""


@dataclass(frozen=True, slots=True)
class OpenCampaign:
    """A campaign that may still have deliveries to come back to."""

    campaign_id: int
    kind: str
    """``campaign``, or ``direct``: a number's sends of kind=send, which never finish."""
    state: str
    expired: bool | None
    numbers: list[str]
    unknown_resend: bool
    unknown_window: timedelta
    max_attempts: int
    sticky_numbers: list[str] = field(default_factory=list)
    """Numbers that rows stay with because their people talk with them."""
