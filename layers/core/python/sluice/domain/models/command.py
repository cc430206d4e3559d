"""kind=command: an order about a campaign, a number or parked messages."""

from typing import Annotated, Final, Literal, Self, get_args

from pydantic import AfterValidator, Field, TypeAdapter, model_validator

from sluice.domain.limits import CHUNK_RECIPIENTS_MAX
from sluice.domain.models.common import (
    BUILT_LATER,
    ClientId,
    Model,
    Moment,
    Person,
    PhoneNumberId,
    unique,
)
from sluice.domain.resends import Scope

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


class Trial(Order):
    """Send a campaign's template to a few people now, whatever state the campaign is in."""

    action: Literal["test"]
    """What to do."""
    campaign: ClientId
    """The campaign's id, as its request named it."""
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,64}$")]
    """Your own id of the test. Publishing it again sends nothing again."""
    recipients: Annotated[tuple[Person, ...], Field(min_length=1, max_length=CHUNK_RECIPIENTS_MAX)]
    """The people: each gets it from each of the numbers."""
    numbers: (
        Annotated[tuple[PhoneNumberId, ...], Field(min_length=1), AfterValidator(unique)] | None
    ) = None
    """Some of the campaign's numbers. Default: all of them."""
    variant: Annotated[str, Field(min_length=1, max_length=24)] | None = None
    """One of the campaign's variants. Default: everything that anybody may get."""


class Resend(Order):
    """Send to those of a campaign again whom a scope names, each once for each order."""

    action: Literal["resend"]
    """What to do."""
    campaign: ClientId
    """The campaign's id, as its request named it."""
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,80}$")]
    """Your own id of the order. Publishing it again sends nothing again."""
    scope: Scope
    """``pending``: who was not sent to before the campaign expired; ``failed_retryable``: who
    failed for a reason that may be gone by now; ``failed``: everybody who failed; ``unknown``: of
    whom nobody knows whether they were sent to, with the risk of a second message."""
    expires_at: Moment | None = None
    """The campaign's new end; needed where it has expired."""


class EmptyParked(Order):
    """Return parked messages to where they belong, or discard them; those parked before it only."""

    action: Literal["return", "discard"]
    """What to do."""
    parked: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$")]
    """The id of a parked message as the report tells it, or ``all``."""
    step: (
        Literal["campaign", "command", "export", "schedule", "erase", "send", "status", "signal"]
        | None
    ) = None
    """Only what this step parked, or redrive on its way to it."""


class Decision(Order):
    """Let a campaign go that needs an approval, or end it. It counts only from an approver."""

    action: Literal["approve", "decline"]
    """What to do."""
    campaign: ClientId
    """The campaign's id, as its request named it."""
    request_hash: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None
    """As the report tells it: a campaign with another content is not approved."""


Steering = StopOrGo | Cancel | Prioritise
"""Orders that change how something goes on."""
Command = Steering | Trial | Resend | EmptyParked | Decision
COMMAND: Final[TypeAdapter[Command]] = TypeAdapter(
    Annotated[Command, Field(discriminator="action")],
    config=BUILT_LATER,
)
COMMAND_ACTIONS: Final = frozenset(
    action
    for order in get_args(Command)
    for action in get_args(order.model_fields["action"].annotation)
)
