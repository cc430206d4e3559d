"""kind=erase: a person everywhere, or a campaign that is over."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from sluice.domain.addresses import ADDRESS_CHARACTERS_MAX
from sluice.domain.models.common import ClientId, Model


class EraseRequest(Model):
    """Erase what is kept of a person, or of a campaign."""

    kind: Literal["erase"] = "erase"
    """As the message attribute ``kind``."""
    id: ClientId
    """Your own id, by which the report tells how far it is. Nothing about the person."""
    address: Annotated[str, Field(max_length=4 * ADDRESS_CHARACTERS_MAX)] | None = None
    """The person, under every way to write the number and every user id that is known; or else:"""
    campaign: ClientId | None = None
    """The id of a campaign that is finished, or cancelled."""
    forget_suppression: bool = False
    """Forget too that the person has stopped messages, so that the next campaign writes again.
    Default: a stop outlives the person's data."""

    @model_validator(mode="after")
    def _has_one_subject(self) -> Self:
        if (self.address is None) == (self.campaign is None):
            raise ValueError("exactly one of address and campaign is needed")
        if self.campaign is not None and self.forget_suppression:
            raise ValueError("forget_suppression is about a person")
        return self
