"""kind=campaign: one template to one audience."""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, model_validator

from sluice.domain.limits import (
    ATTEMPTS_MAX,
    ATTEMPTS_MAX_DEFAULT,
    RECIPIENTS_INLINE_MAX,
    STAY_WITH_NUMBER_DAYS_DEFAULT,
    UNKNOWN_WINDOW_SECONDS_DEFAULT,
)
from sluice.domain.models.common import (
    ClientId,
    Model,
    Moment,
    PeopleFile,
    PhoneNumberId,
    Recipient,
    Template,
    unique,
)
from sluice.domain.models.exclusions import EXCLUSIONS_MAX, Exclusion
from sluice.domain.models.split import Split
from sluice.domain.models.timing import (
    QUIET_HOURS_MAX,
    STAGES_MAX,
    QuietHours,
    SendWindow,
    StageRequest,
    TimeZone,
    growing,
)
from sluice.domain.split import Sides
from sluice.domain.windows import OPEN, week_of

NUMBERS_MAX: Final = 100
UNKNOWN_WINDOW_SECONDS_MAX: Final = 7 * 86_400
"""Meta repeats a webhook for at most seven days: no later status can be hoped for."""


class StoredAudience(PeopleFile):
    """An audience in a file in S3, of any size."""


class SavedAudience(Model):
    """An audience that was saved: its file, as it was then."""

    saved: ClientId
    """Its id."""


class CampaignRecipient(Recipient):
    """One person of a campaign."""

    time_zone: TimeZone | None = None
    """By whose clock the campaign's window counts for this person. Default: the campaign's."""


class InlineAudience(Model):
    """A small audience in the request itself."""

    recipients: Annotated[
        tuple[CampaignRecipient, ...], Field(min_length=1, max_length=RECIPIENTS_INLINE_MAX)
    ]
    """The people."""


_BY_FIELD: Final = {"s3": "stored", "saved": "saved_audience"}


def _audience_tag(audience: Any) -> str:
    fields = audience if isinstance(audience, dict) else getattr(audience, "model_fields_set", ())
    return next((tag for name, tag in _BY_FIELD.items() if name in fields), "inline")


AUDIENCE_TAGS: Final = frozenset({"inline", *_BY_FIELD.values()})
Audience = Annotated[
    Annotated[StoredAudience, Tag("stored")]
    | Annotated[SavedAudience, Tag("saved_audience")]
    | Annotated[InlineAudience, Tag("inline")],
    Discriminator(_audience_tag),
]


class CampaignRequest(Model):
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
        AfterValidator(unique),
    ]
    """The number, or the pool of numbers, that sends it."""
    audience: Audience
    """Who receives it."""
    exclude: Annotated[tuple[Exclusion, ...], Field(max_length=EXCLUSIONS_MAX)] = ()
    """Who gets nothing of it all the same."""
    split: Split | None = None
    """Parts of the people that get variants of the message, or nothing."""
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
    stay_with_number_days: Annotated[int, Field(ge=0, le=365)] = STAY_WITH_NUMBER_DAYS_DEFAULT
    """Whoever wrote to a number of the pool in so many days is sent to by that number. 0: off."""
    send_window: SendWindow | None = None
    """Nothing is sent outside of it. Default: any time is right."""
    quiet_hours: Annotated[tuple[QuietHours, ...], Field(max_length=QUIET_HOURS_MAX)] = ()
    """Nothing is sent within them."""
    time_zone: TimeZone | None = None
    """IANA name, by whose clock they count; needed where one of them is given."""
    stages: Annotated[
        tuple[StageRequest, ...], Field(max_length=STAGES_MAX), AfterValidator(growing)
    ] = ()
    """Parts of the audience to begin with, each larger than the one before. Default: everybody."""

    time_to_live_seconds: Annotated[int, Field(ge=30, le=2_592_000)] | None = None
    """The template's ``message_send_ttl_seconds``: how long Meta tries to deliver. Default: Meta's,
    600 for authentication and 30 days otherwise."""
    us_marketing: Literal["reject", "send"] = "reject"
    """Meta delivers no marketing to numbers of the United States: ``reject`` leaves them out of a
    campaign of that category, ``send`` tries."""

    @property
    def templates(self) -> dict[str, Template]:
        """Everything that it may send, by its path in the request."""
        variants = self.split.variants if self.split else ()
        own = {
            f"split.variants.{variant.name}.template": variant.template
            for variant in variants
            if variant.template is not None
        }
        return {"template": self.template, **own}

    @property
    def sides(self) -> Sides | None:
        """What decides which variant a person gets."""
        if self.split is None:
            return None
        shares = [variant.share for variant in self.split.variants]
        return Sides.of(self.split.key or self.campaign, holdout=self.split.holdout, shares=shares)

    @property
    def timed(self) -> bool:
        """Whether it matters what time it is where a person lives."""
        return self.send_window is not None or bool(self.quiet_hours)

    @model_validator(mode="after")
    def _opens_at_some_time(self) -> Self:
        if not self.timed:
            return self
        if self.time_zone is None:
            raise ValueError("send_window and quiet_hours need a time_zone")
        document = self.model_dump(mode="json", include={"send_window", "quiet_hours"})
        if OPEN not in week_of(document["send_window"], document["quiet_hours"]):
            raise ValueError("quiet_hours leave nothing of the send_window")
        return self

    @property
    def sends_to_the_united_states(self) -> bool:
        """Whether people with numbers there are left in the audience."""
        return self.category != "marketing" or self.us_marketing == "send"

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.start_at and self.expires_at and self.expires_at <= self.start_at:
            raise ValueError("expires_at is not after start_at")
        recipients = getattr(self.audience, "recipients", ())
        fixed = {person.phone_number_id for person in recipients} - {None}
        if not fixed <= set(self.numbers):
            raise ValueError("a recipient's phone_number_id is not among the numbers")
        if self.campaign in {getattr(one, "campaign", None) for one in self.exclude}:
            raise ValueError("a campaign cannot exclude its own people")
        return self
