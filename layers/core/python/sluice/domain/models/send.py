"""kind=send: a few people at once, by a client; or rows, by dispatch."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, JsonValue, model_validator

from sluice.domain.delivery import INTEGER_MAX
from sluice.domain.limits import CHUNK_DELIVERIES_MAX, CHUNK_RECIPIENTS_MAX
from sluice.domain.media import media_of
from sluice.domain.models.common import (
    ClientId,
    Model,
    PhoneNumberId,
    Recipient,
    Template,
    ascending,
)


class SendRequest(Model):
    """A message to a few people by one number, straight to its queue."""

    kind: Literal["send"] = "send"
    """As the message attribute ``kind``."""
    id: ClientId
    """Your own id. Publishing the same id again sends nothing again."""
    phone_number_id: PhoneNumberId
    """The number that sends; also a message attribute."""
    lane: Literal["conversation", "bulk"] = "conversation"
    """``conversation`` where a person is waiting; also a message attribute."""
    recipients: Annotated[
        tuple[Recipient, ...], Field(min_length=1, max_length=CHUNK_RECIPIENTS_MAX)
    ]
    """The people."""
    template: Template | None = None
    """A template message, or else:"""
    message: dict[str, JsonValue] | None = None
    """A free-form message of the Cloud API, within 24 h of the person's last word:
    ``{"type": "text", "text": {"body": "…"}}``."""

    @model_validator(mode="after")
    def _has_one_content(self) -> Self:
        if (self.template is None) == (self.message is None):
            raise ValueError("exactly one of template and message is needed")
        if self.message is not None and not isinstance(self.message.get("type"), str):
            raise ValueError("message has no type")
        if self.template is not None and media_of(self.template.model_dump(mode="json")):
            raise ValueError("media are uploaded for campaigns only: name them by id or link here")
        fixed = {person.phone_number_id for person in self.recipients} - {None}
        if not fixed <= {self.phone_number_id}:
            raise ValueError("a recipient's phone_number_id is another number")
        return self


class Chunk(Model):
    """A chunk of dispatch: these rows of a campaign are to be sent. It holds ids only."""

    kind: Literal["send"] = "send"
    """As the message attribute ``kind``."""
    campaign_id: Annotated[int, Field(ge=0, le=INTEGER_MAX)]
    """Our id of the campaign."""
    seqs: Annotated[
        tuple[Annotated[int, Field(ge=0, le=INTEGER_MAX)], ...],
        Field(min_length=1, max_length=CHUNK_DELIVERIES_MAX),
        AfterValidator(ascending),
    ]
    """Positions in the audience, ascending."""
