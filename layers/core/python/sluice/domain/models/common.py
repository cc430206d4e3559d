"""What every kind of message is made of."""

from datetime import UTC, datetime
from itertools import pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    model_validator,
)

from sluice.domain.addresses import ADDRESS_CHARACTERS_MAX
from sluice.domain.media import misnamed_media
from sluice.domain.templates import columns_of

COLUMNS_MAX: Final = 100
PARAMETER_CHARACTERS_MAX: Final = 4_096


BUILT_LATER: Final = ConfigDict(defer_build=True)
"""A validator is made when it is first used: each function reads one or two of a dozen kinds, and
making them all is most of what its start would take."""


class Model(BaseModel):
    """Strict: a misspelt field never passes for a default. Its errors never tell the input."""

    model_config = ConfigDict(
        strict=True,
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        **BUILT_LATER,
    )


def _in_utc(moment: datetime) -> datetime:
    return moment.astimezone(UTC)


def unique(items: tuple[str, ...]) -> tuple[str, ...]:
    """The items, if each comes once."""
    if len(set(items)) != len(items):
        raise ValueError("an element appears twice")
    return items


def ascending(items: tuple[int, ...]) -> tuple[int, ...]:
    """The items, if each is greater than the one before."""
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


class PeopleFile(Model):
    """A file of people in S3, of any length."""

    s3: Annotated[str, Field(pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.{1,1024}$")]
    """``s3://bucket/key`` of a CSV with a header line or of NDJSON, in UTF-8."""
    format: Literal["csv", "ndjson"] | None = None
    """Default: by the end of the key, ``.csv`` or ``.ndjson``."""

    @property
    def is_ndjson(self) -> bool:
        """Whether it is NDJSON, not CSV."""
        if self.format is not None:
            return self.format == "ndjson"
        return self.s3.endswith((".ndjson", ".jsonl"))


class Template(Model):
    """A template message; texts inside ``components`` may hold ``{{column}}`` placeholders."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,512}$")]
    """The template's name in the WhatsApp Manager."""
    language: Annotated[str, Field(pattern=r"^[A-Za-z]{2,3}(_[A-Za-z]{2,4})?$")]
    """The template's language code, such as ``en_US``."""
    components: Annotated[tuple[dict[str, JsonValue], ...], Field(max_length=20)] = ()
    """``components`` of the Cloud API: header, body, buttons, with their parameters. An image, a
    video or a document of a campaign's header may be ``{"s3": "s3://bucket/key"}``."""

    @model_validator(mode="after")
    def _names_its_columns(self) -> Self:
        if "" in columns_of({"components": self.components}):
            raise ValueError("a placeholder names no column")
        misnamed = misnamed_media(self.model_dump(mode="json"))
        if misnamed is not None:
            raise ValueError(misnamed)
        return self


class Person(Model):
    """Somebody, and what is filled in for them."""

    address: Annotated[str, Field(max_length=4 * ADDRESS_CHARACTERS_MAX)]
    """A phone number with + and country code, or a business-scoped user id (BSUID)."""
    parameters: Parameters = Field(default_factory=dict)
    """Column to value, for the placeholders of the template."""


class Recipient(Person):
    """One person."""

    phone_number_id: PhoneNumberId | None = None
    """The only number that may write to this person; one of the campaign's."""
