"""kind=schedule: a campaign that starts again and again."""

import json
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal, Self, get_args
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, Field, JsonValue, TypeAdapter, ValidationError, model_validator

from sluice.domain.limits import MISSED_START_TOLERANCE_SECONDS_DEFAULT
from sluice.domain.models.campaign import CampaignRequest
from sluice.domain.models.common import BUILT_LATER, Model, Moment
from sluice.domain.models.timing import TimeZone
from sluice.domain.problems import path_of
from sluice.domain.schedules import (
    StoredSchedule,
    at_moment,
    campaign_id_of,
    expression_problem,
)

DAY_SECONDS: Final = 86_400
OWN_FIELDS: Final = ("kind", "campaign", "start_at", "expires_at")
"""Fields of a campaign that each start sets anew."""


def _expression(text: str) -> str:
    problem = expression_problem(text)
    if problem is not None:
        raise ValueError(problem)
    return text


def _startable(content: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The content, if it is a campaign once it has an id."""
    mine = sorted(content.keys() & set(OWN_FIELDS))
    if mine:
        raise ValueError(f"{', '.join(mine)}: each start has its own")
    audience = content.get("audience")
    if isinstance(audience, dict) and "recipients" in audience:
        raise ValueError("audience: the people are in a file, not in the schedule")
    try:
        CampaignRequest.model_validate_json(json.dumps({**content, "campaign": "each"}))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = path_of(first["loc"])
        raise ValueError(f"{place}: {first['msg'].removeprefix('Value error, ')}") from error
    return content


class _Scheduled(Model):
    kind: Literal["schedule"] = "schedule"
    """As the message attribute ``kind``."""
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._:-]{1,100}$")]
    """Your own id of the schedule."""


class MissedStart(Model):
    """What becomes of a start that is seen too late."""

    policy: Literal["skip", "start_late"] = "skip"
    """``skip`` leaves it out, ``start_late`` starts it all the same."""
    tolerance_seconds: Annotated[int, Field(ge=60, le=DAY_SECONDS)] = (
        MISSED_START_TOLERANCE_SECONDS_DEFAULT
    )
    """So late is not too late."""


class SchedulePut(_Scheduled):
    """Have a campaign started again and again, or change how."""

    action: Literal["put"]
    """What to do."""
    revision: Annotated[int, Field(ge=1, le=2**31 - 1)] = 1
    """Of two the higher one counts, in whatever order they come: count it up with each change."""
    expression: Annotated[str, Field(max_length=256), AfterValidator(_expression)]
    """``cron(…)``, ``rate(…)`` or ``at(…)`` of EventBridge Scheduler."""
    time_zone: TimeZone = "UTC"
    """IANA name: by whose clock ``cron`` and ``at`` count."""
    starts_at: Moment | None = None
    """Nothing is started earlier."""
    ends_at: Moment | None = None
    """Nothing is started later."""
    campaign: Annotated[dict[str, JsonValue], AfterValidator(_startable)]
    """A campaign as of kind=campaign, without ``kind``, ``campaign``, ``start_at`` and
    ``expires_at``, and with its audience in a file."""
    expires_after_seconds: Annotated[int, Field(ge=60, le=90 * DAY_SECONDS)] | None = None
    """Each campaign expires so long after its time. Default: never."""
    missed_start: MissedStart = Field(default_factory=MissedStart)
    """What becomes of a start that is seen too late."""
    overlap: Literal["skip", "start"] = "skip"
    """Whether a campaign is started while an earlier one of the schedule is not finished."""

    def is_over(self, now: datetime) -> bool:
        """Whether it can start nothing any more."""
        moment = at_moment(self.expression)
        over = moment is not None and moment.replace(tzinfo=ZoneInfo(self.time_zone)) <= now
        return over or (self.ends_at is not None and self.ends_at <= now)

    @model_validator(mode="after")
    def _ends_after_its_start(self) -> Self:
        if self.starts_at and self.ends_at and self.ends_at <= self.starts_at:
            raise ValueError("ends_at is not after starts_at")
        return self


class ScheduleChange(_Scheduled):
    """Pause, resume or drop a schedule. Campaigns that it has started go on."""

    action: Literal["pause", "resume", "drop"]
    """What to do."""


class ScheduleStart(_Scheduled):
    """What EventBridge Scheduler sends when it is time; nobody else needs to."""

    action: Literal["start"]
    """What to do."""
    at: Moment
    """The time that it was scheduled for."""


ScheduleRequest = SchedulePut | ScheduleChange | ScheduleStart
SCHEDULE: Final[TypeAdapter[ScheduleRequest]] = TypeAdapter(
    Annotated[ScheduleRequest, Field(discriminator="action")],
    config=BUILT_LATER,
)
SCHEDULE_ACTIONS: Final = frozenset(
    action
    for request in get_args(ScheduleRequest)
    for action in get_args(request.model_fields["action"].annotation)
)


def schedule_of(stored: StoredSchedule) -> SchedulePut:
    """The schedule as it was published."""
    return SchedulePut.model_validate_json(json.dumps(stored.request))


def campaign_of(schedule: SchedulePut, start: ScheduleStart) -> dict[str, Any]:
    """The request of kind=campaign of one start."""
    request = {
        "kind": "campaign",
        "campaign": campaign_id_of(schedule.id, start.at),
        **schedule.campaign,
    }
    if schedule.expires_after_seconds is not None:
        expires_at = start.at + timedelta(seconds=schedule.expires_after_seconds)
        request["expires_at"] = expires_at.isoformat()
    return request
