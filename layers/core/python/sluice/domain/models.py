"""The shapes of what may be published to the topic: a model a kind, and dispatch's own chunk."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    model_validator,
)

from sluice.domain.addresses import ADDRESS_CHARACTERS_MAX
from sluice.domain.delivery import INTEGER_MAX
from sluice.domain.limits import (
    ATTEMPTS_MAX,
    ATTEMPTS_MAX_DEFAULT,
    CHUNK_DELIVERIES_MAX,
    CHUNK_RECIPIENTS_MAX,
    RECIPIENTS_INLINE_MAX,
    UNKNOWN_WINDOW_SECONDS_DEFAULT,
)
from sluice.domain.templates import columns_of

NUMBERS_MAX: Final = 100
COLUMNS_MAX: Final = 100
PARAMETER_CHARACTERS_MAX: Final = 4_096
UNKNOWN_WINDOW_SECONDS_MAX: Final = 7 * 86_400
"""Meta repeats a webhook for at most seven days: no later status can be hoped for."""


class _Model(BaseModel):
    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, use_attribute_docstrings=True
    )


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def _unique(items: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(items)) != len(items):
        raise ValueError("an element appears twice")
    return items


def _ascending(items: tuple[int, ...]) -> tuple[int, ...]:
    if any(one >= other for one, other in pairwise(items)):
        raise ValueError("not in ascending order, each once")
    return items


ClientId = Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,128}$")]
PhoneNumberId = Annotated[str, Field(pattern=r"^[0-9]{1,32}$")]
Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]
Parameters = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=128)],
        Annotated[str, Field(max_length=PARAMETER_CHARACTERS_MAX)],
    ],
    Field(max_length=COLUMNS_MAX),
]


class Template(_Model):
    """A template message; texts inside ``components`` may hold ``{{column}}`` placeholders."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,512}$")]
    """The template's name in the WhatsApp Manager."""
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(_[A-Za-z]{2,4})?$")]
    """The template's language code, such as ``en_US``."""
    components: Annotated[tuple[dict[str, JsonValue], ...], Field(max_length=20)] = ()
    """``components`` of the Cloud API: header, body, buttons, with their parameters."""

    @model_validator(mode="after")
    def _names_its_columns(self) -> Self:
        if "" in columns_of({"components": self.components}):
            raise ValueError("a placeholder names no column")
        return self


class Recipient(_Model):
    """One person."""

    address: Annotated[str, Field(max_length=4 * ADDRESS_CHARACTERS_MAX)]
    """A phone number with + and country code, or a business-scoped user id (BSUID)."""
    parameters: Parameters = Field(default_factory=dict)
    """Column to value, for the placeholders of the template."""
    phone_number_id: PhoneNumberId | None = None
    """The only number that may write to this person; one of the campaign's."""


class StoredAudience(_Model):
    """An audience in a file in S3, of any size."""

    s3: Annotated[str, Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.{1,1024}$")]
    """``s3://bucket/key`` of a CSV with a header line or of NDJSON, in UTF-8."""
    format: Literal["csv", "ndjson"] | None = None
    """Default: by the end of the key, ``.csv`` or ``.ndjson``."""


class InlineAudience(_Model):
    """A small audience in the request itself."""

    recipients: Annotated[
        tuple[Recipient, ...], Field(min_length=1, max_length=RECIPIENTS_INLINE_MAX)
    ]
    """The people."""


def _audience_tag(audience: Any) -> str:
    stored = (
        "s3" in audience if isinstance(audience, dict) else isinstance(audience, StoredAudience)
    )
    return "stored" if stored else "inline"


AUDIENCE_TAGS: Final = frozenset({"stored", "inline"})
Audience = Annotated[
    Annotated[StoredAudience, Tag("stored")] | Annotated[InlineAudience, Tag("inline")],
    Discriminator(_audience_tag),
]


class CampaignRequest(_Model):
    """A campaign: one template, sent once to everybody in an audience."""

    kind: Literal["campaign"] = "campaign"
    """As the message attribute ``kind``."""
    campaign: ClientId
    """Your own id. Publishing the same campaign again changes nothing."""
    template: Template
    """What is sent."""
    numbers: Annotated[
        tuple[PhoneNumberId, ...],
        Field(min_length=1, max_length=NUMBERS_MAX),
        AfterValidator(_unique),
    ]
    """The number, or the pool of numbers, that sends it."""
    audience: Audience
    """Who receives it."""
    priority: Literal["normal", "deferrable"] = "normal"
    """Deferrable campaigns take what normal ones leave."""
    start_at: Moment | None = None
    """Nothing is sent earlier. Default: at once."""
    expires_at: Moment | None = None
    """Nothing is sent later. Default: never."""
    unknown_policy: Literal["resend", "leave"] = "leave"
    """What to do when nobody can tell whether a message was sent: ``resend`` risks a second one,
    ``leave`` risks none."""
    unknown_window_seconds: Annotated[int, Field(ge=60, le=UNKNOWN_WINDOW_SECONDS_MAX)] = (
        UNKNOWN_WINDOW_SECONDS_DEFAULT
    )
    """How long to wait for a status that tells, before the policy decides."""
    max_attempts: Annotated[int, Field(ge=1, le=ATTEMPTS_MAX)] = ATTEMPTS_MAX_DEFAULT
    """Attempts for one person, the first included."""
    category: Literal["marketing", "utility", "authentication", "service"] = "marketing"
    """The template's category, kept with the campaign."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.start_at and self.expires_at and self.expires_at <= self.start_at:
            raise ValueError("expires_at is not after start_at")
        recipients = getattr(self.audience, "recipients", ())
        fixed = {person.phone_number_id for person in recipients} - {None}
        if not fixed <= set(self.numbers):
            raise ValueError("a recipient's phone_number_id is not among the numbers")
        return self


class SendRequest(_Model):
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
        fixed = {person.phone_number_id for person in self.recipients} - {None}
        if not fixed <= {self.phone_number_id}:
            raise ValueError("a recipient's phone_number_id is another number")
        return self


class Chunk(_Model):
    """A chunk of dispatch: these rows of a campaign are to be sent. It holds ids only."""

    kind: Literal["send"] = "send"
    """As the message attribute ``kind``."""
    campaign_id: Annotated[int, Field(ge=0, le=INTEGER_MAX)]
    """Our id of the campaign."""
    seqs: Annotated[
        tuple[Annotated[int, Field(ge=0, le=INTEGER_MAX)], ...],
        Field(min_length=1, max_length=CHUNK_DELIVERIES_MAX),
        AfterValidator(_ascending),
    ]
    """Positions in the audience, ascending."""


class CommandRequest(_Model):
    """An order about a campaign or a number. It acts on what is queued already, too."""

    kind: Literal["command"] = "command"
    """As the message attribute ``kind``."""
    action: Literal["pause", "resume", "cancel"]
    """Cancel is final, and only for a campaign."""
    campaign: ClientId | None = None
    """The campaign's id, as its request named it, or else:"""
    phone_number_id: PhoneNumberId | None = None
    """The number."""
    reason: Annotated[str, Field(min_length=1, max_length=500)] | None = None
    """Shown in the report."""

    @model_validator(mode="after")
    def _has_one_subject(self) -> Self:
        if (self.campaign is None) == (self.phone_number_id is None):
            raise ValueError("exactly one of campaign and phone_number_id is needed")
        if self.action == "cancel" and self.campaign is None:
            raise ValueError("only a campaign can be cancelled")
        return self


Request = CampaignRequest | SendRequest | Chunk | CommandRequest
