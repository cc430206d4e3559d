"""kind=command: an order about a campaign or a number."""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import Field, TypeAdapter, model_validator

from sluice.domain.models.common import ClientId, Model, PhoneNumberId

Reason = Annotated[str, Field(min_length=1, max_length=500)]


class Order(Model):
    """What every order has."""

    kind: Literal["command"] = "command"
    """As the message attribute ``kind``."""
    reason: Reason | None = None
    """Shown in the report."""


class StopOrGo(Order):
    """Pause or resume a campaign or a number; what is queued already obeys too."""

    action: Literal["pause", "resume"]
    """What to do."""
    campaign: ClientId | None = None
    """The campaign's id, as its request named it, or else:"""
    phone_number_id: PhoneNumberId | None = None
    """The number."""

    @model_validator(mode="after")
    def _has_one_subject(self) -> Self:
        if (self.campaign is None) == (self.phone_number_id is None):
            raise ValueError("exactly one of campaign and phone_number_id is needed")
        return self


class Cancel(Order):
    """End a campaign for good: what did not leave yet never will."""

    action: Literal["cancel"]
    """What to do."""
    campaign: ClientId
    """The campaign's id, as its request named it."""


class Prioritise(Order):
    """Give a campaign another priority."""

    action: Literal["prioritise"]
    """What to do."""
    campaign: ClientId
    """The campaign's id, as its request named it."""
    priority: Literal["normal", "deferrable"]
    """From the next chunk on. Deferrable campaigns take what normal ones leave."""


Command = StopOrGo | Cancel | Prioritise
COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(
    Annotated[Command, Field(discriminator="action")]
)
COMMAND_ACTIONS: Final = frozenset(
    action
    for order in get_args(Command)
    for action in get_args(order.model_fields["action"].annotation)
)
