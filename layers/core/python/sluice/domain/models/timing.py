"""When a campaign may be sent, and how much of it at first."""

from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from sluice.domain.models.common import Model, unique
from sluice.domain.windows import DAYS, zone_names

STAGES_MAX: Final = 10
QUIET_HOURS_MAX: Final = 10
STAGE_WAIT_SECONDS_MAX: Final = 7 * 86_400

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
Begin = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
End = Annotated[str, Field(pattern=r"^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$")]


def _known_zone(name: str) -> str:
    if name not in zone_names():
        raise ValueError("is not the name of an IANA time zone")
    return name


TimeZone = Annotated[str, Field(max_length=64), AfterValidator(_known_zone)]


class SendWindow(Model):
    """The hours in which something may be sent, by the clock of each recipient's time zone."""

    opens: Begin
    """``HH:MM``."""
    closes: End
    """``HH:MM``, up to ``24:00``; before ``opens``: on the next day."""
    days: Annotated[tuple[Day, ...], Field(min_length=1), AfterValidator(unique)] = DAYS
    """The days on which the window opens. Default: all."""

    @model_validator(mode="after")
    def _opens(self) -> Self:
        _refuse_nothing(self.opens, self.closes)
        return self


class QuietHours(Model):
    """Hours of every day in which nothing is sent, by the clock of each recipient's time zone."""

    model_config = ConfigDict(serialize_by_alias=True)

    begin: Annotated[Begin, Field(alias="from")]
    """``HH:MM``."""
    end: Annotated[End, Field(alias="to")]
    """``HH:MM``, up to ``24:00``; before ``from``: on the next day."""

    @model_validator(mode="after")
    def _lasts(self) -> Self:
        _refuse_nothing(self.begin, self.end)
        return self


class StageRequest(Model):
    """A part of the audience that is sent first, and what must come of it."""

    recipients: Annotated[int, Field(ge=1)] | None = None
    """So many people, those of the stages before included, or else:"""
    share: Annotated[float, Field(gt=0, lt=1, strict=False)] | None = None
    """such a part of the audience."""
    failure_rate_max: Annotated[float, Field(ge=0, le=1, strict=False)] = 0.05
    """The campaign goes on by itself if at most such a part of them has failed."""
    wait_seconds: Annotated[int, Field(ge=0, le=STAGE_WAIT_SECONDS_MAX)] = 600
    """How long to wait for statuses after the last of them was sent."""

    @model_validator(mode="after")
    def _has_one_size(self) -> Self:
        if (self.recipients is None) == (self.share is None):
            raise ValueError("exactly one of recipients and share is needed")
        return self


def growing(stages: tuple[StageRequest, ...]) -> tuple[StageRequest, ...]:
    """The stages, if each is larger than those before, as far as that can be told."""
    for sizes in (
        [stage.recipients for stage in stages if stage.recipients is not None],
        [stage.share for stage in stages if stage.share is not None],
    ):
        if list(sizes) != sorted(set(sizes)):
            raise ValueError("each stage must be larger than the one before")
    return stages


def _refuse_nothing(begin: str, end: str) -> None:
    if begin == end:
        raise ValueError("begins when it ends; a whole day is 00:00 to 24:00")
