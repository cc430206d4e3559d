"""What a campaign names must be there before it is stored."""

from collections.abc import Iterator
from typing import Final, Protocol

from sluice.domain.campaign import StoredCampaign
from sluice.domain.carried import Again, Refused
from sluice.domain.erasure import ERASED
from sluice.domain.requests import (
    CampaignRequest,
    ExcludedAudience,
    SavedAudience,
)
from sluice.domain.saved import Kept, why_unusable

PATIENCE_RECEIVES: Final = 5
RETRY_SECONDS: Final = 15
"""A campaign may overtake what it names: it waits for it about a minute."""


class SavedAudiences(Protocol):
    """Audiences that were saved."""

    def find(self, audience: str) -> Kept | None:
        """Return the audience that has the client's id."""


class Campaigns(Protocol):
    """What clients published."""

    def find(self, campaign: str) -> StoredCampaign | None:
        """Return the campaign that has the client's id."""


def awaited(
    request: CampaignRequest, *, receives: int, saved: SavedAudiences, campaigns: Campaigns
) -> Again | Refused | None:
    """Wait about a minute for audiences and campaigns that are not there, then refuse."""
    missing = list(_missing(request, saved, campaigns))
    if not missing:
        return None
    if receives < PATIENCE_RECEIVES:
        return Again(RETRY_SECONDS, "; ".join(missing))
    return Refused(missing)


def _missing(
    request: CampaignRequest, saved: SavedAudiences, campaigns: Campaigns
) -> Iterator[str]:
    if isinstance(request.audience, SavedAudience):
        name = request.audience.saved
        why = why_unusable(name, saved.find(name))
        if why is not None:
            yield f"audience.saved: {why}"
    for place, one in enumerate(request.exclude):
        if isinstance(one, ExcludedAudience):
            why = why_unusable(one.saved, saved.find(one.saved))
            if why is not None:
                yield f"exclude.{place}.saved: {why}"
        else:
            other = campaigns.find(one.campaign)
            if other is None:
                yield f"exclude.{place}.campaign: there is no campaign {one.campaign}"
            elif other.state == ERASED:
                yield f"exclude.{place}.campaign: campaign {one.campaign} is erased"
