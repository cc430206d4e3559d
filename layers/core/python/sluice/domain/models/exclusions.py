"""Who gets nothing of a campaign: people of saved audiences and of other campaigns."""

from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Tag

from sluice.domain.models.common import ClientId, Model

EXCLUSIONS_MAX: Final = 20


class ExcludedAudience(Model):
    """The people of a saved audience."""

    saved: ClientId
    """Its id."""


class ExcludedCampaign(Model):
    """The people of another campaign, as far as it has come when this one is loaded."""

    campaign: ClientId
    """Its id."""
    who: Literal["sent", "all"] = "sent"
    """``sent``: whose message Meta took, or may have taken, whatever became of it; ``all``:
    everybody in its audience, but for rejected lines."""


def _exclusion_tag(exclusion: Any) -> str:
    by_campaign = (
        "campaign" in exclusion
        if isinstance(exclusion, dict)
        else isinstance(exclusion, ExcludedCampaign)
    )
    return "excluded_campaign" if by_campaign else "excluded_audience"


EXCLUSION_TAGS: Final = frozenset({"excluded_campaign", "excluded_audience"})
Exclusion = Annotated[
    Annotated[ExcludedAudience, Tag("excluded_audience")]
    | Annotated[ExcludedCampaign, Tag("excluded_campaign")],
    Discriminator(_exclusion_tag),
]
