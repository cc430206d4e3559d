"""What one stage deploys: read from ``infra/config/<stage>.json``, checked, frozen."""

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from sluice.domain.lanes import BULK, CONVERSATION, Lane, lends
from sluice.domain.limits import (
    FREQUENCY_DAYS_MAX,
    RETENTION_DAYS_DEFAULT,
    RETENTION_DAYS_MIN,
)
from sluice.domain.words import WORDS_CHARACTERS_MAX, vocabulary_from

CONFIG_DIRECTORY: Final = Path(__file__).parent / "config"
SLOTS_BY_MESSAGES_PER_SECOND: Final = ((80, 2), (250, 4))
SLOTS_MAX: Final = 10
CONVERSATION_SLOTS: Final = 2
WORDS_BYTES_MAX: Final = 2_048
"""Of the 4,096 that Lambda gives to all variables of a function."""
HOST_RUNTIME: Final = "host"
"""Bundle for the interpreter that runs ``app.py``: the local AWS runs functions with it."""

_STRICT: Final = ConfigDict(extra="forbid", strict=True)

PhoneNumberId = Annotated[str, Field(pattern=r"^[0-9]{5,20}$")]


Principal = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]{1,576}$")
]
"""The ARN of one role or user: no wildcard, no session, no whole account."""


class ConfigError(ValueError):
    """A stage that cannot be deployed; its message lists every reason."""


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Number:
    """A WhatsApp business phone number and its cap."""

    phone_number_id: PhoneNumberId
    account_id: Annotated[str, Field(min_length=1)]
    portfolio_id: Annotated[str, Field(min_length=1)]
    messages_per_second: Annotated[int, Field(ge=10, le=1_000)]
    bucket: Annotated[int, Field(ge=0)]
    """The stack that holds it: kept with the number, so that none moves between stacks."""
    state: Literal["active", "draining"] = "active"
    """``draining``: dispatch gives it no more work; what is queued still goes out."""
    conversation_share: Annotated[float, Field(ge=0.05, le=0.5)] = 0.2
    """Of its rate, what conversations have for themselves; bulk borrows it while nobody talks."""

    def slots(self, lane: Lane) -> int:
        """Concurrent executions C of a lane's sender; two is the least that SQS can be told."""
        if lane == CONVERSATION:
            return CONVERSATION_SLOTS
        for messages_per_second, slots in SLOTS_BY_MESSAGES_PER_SECOND:
            if self.messages_per_second <= messages_per_second:
                return slots
        return SLOTS_MAX


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class GivenDatabase:
    """A Postgres that somebody else runs: no data stack, no VPC."""

    url: Annotated[str, Field(pattern=r"^postgresql://")]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class AuroraDatabase:
    """An Aurora Serverless v2 cluster of our own; capacities in Aurora capacity units."""

    capacity_min: Annotated[float, Field(ge=0, le=256)] = 0.5
    capacity_max: Annotated[float, Field(ge=1, le=256)] = 8.0
    readers: Annotated[int, Field(ge=0, le=15)] = 0
    backup_days: Annotated[int, Field(ge=1, le=35)] = 7
    nat_gateways: Annotated[int, Field(ge=1, le=2)] = 1


Word = Annotated[str, Field(min_length=1, max_length=WORDS_CHARACTERS_MAX)]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(_[A-Za-z]{2,4})?$")]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Words:
    """What a stage changes about the words of one language: more of them, or others."""

    add: tuple[Word, ...] = ()
    replace: tuple[Word, ...] | None = None


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class FrequencyCap:
    """At most so many marketing messages to one person within so many days, of all campaigns."""

    messages: Annotated[int, Field(ge=1, le=100)]
    days: Annotated[int, Field(ge=1, le=FREQUENCY_DAYS_MAX)]


@dataclass(frozen=True, kw_only=True, config=_STRICT)
class Stage:
    """One deployment."""

    stage: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,11}$")]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
    runtime: Annotated[str, Field(pattern=r"^(host|python3\.1[1-9])$")]
    cloud_api_url: Annotated[str, Field(pattern=r"^https?://.+/v[0-9]+\.[0-9]+$")]
    """The Cloud API with its version and no slash at the end."""
    database: GivenDatabase | AuroraDatabase
    numbers: Annotated[tuple[Number, ...], Field(min_length=1)]
    pace_factor: Annotated[float, Field(gt=0, le=1)] = 0.95
    """Share of the cap that is used: the network bunches what we space."""
    webhook_concurrency: Annotated[int, Field(ge=1)] = 64
    webhook_requests_per_second: Annotated[int, Field(ge=1)] = 3_000
    account_concurrency: Annotated[int, Field(ge=1)] = 1_000
    """The account's quota of concurrent executions, of which AWS keeps 100 unreserved."""
    alarm_email: str | None = None
    stop_words: Mapping[Language, Words] = field(default_factory=dict)
    """Whole messages that stop marketing, beside those that are built in (``domain.words``)."""
    start_words: Mapping[Language, Words] = field(default_factory=dict)
    """Whole messages that resume it, likewise."""
    stop_payloads: tuple[Word, ...] = ()
    """What buttons send that stop marketing, whatever is written on them."""

    def __post_init__(self) -> None:
        """Refuse words that mean both, or nothing, or do not fit into a variable."""
        vocabulary_from(self.words)
        size = len(self.words.encode())
        if size > WORDS_BYTES_MAX:
            raise ValueError(f"the words take {size} bytes, at most {WORDS_BYTES_MAX}")

    @property
    def words(self) -> str:
        """The changes as ``signal`` is told them, in JSON."""
        told = {
            "stop_words": {name: _told(one) for name, one in self.stop_words.items()},
            "start_words": {name: _told(one) for name, one in self.start_words.items()},
            "stop_payloads": self.stop_payloads,
        }
        return json.dumps(
            {name: value for name, value in told.items() if value},
            ensure_ascii=False,
            separators=(",", ":"),
        )

    daily_limits: Mapping[str, Annotated[int, Field(ge=1)]] = field(default_factory=dict)
    """By portfolio_id: people that it may write to first in 24 hours, until Meta tells a limit."""
    frequency_cap: FrequencyCap | None = None
    template_check: Literal["required", "when_known", "off"] = "required"
    """A campaign's template must fit Meta's; where Meta cannot be asked, what is known of it; or
    never."""

    retention_days: Annotated[int, Field(ge=RETENTION_DAYS_MIN)] | None = RETENTION_DAYS_DEFAULT
    """What has been over for so long is deleted; None: it is kept until somebody erases it."""
    approval_above_recipients: Annotated[int, Field(ge=0)] | None = None
    """A campaign to more people waits until an approver lets it go; null: none does."""
    approvers: tuple[Principal, ...] = ()
    """Roles and users who may approve, and may not publish."""

    @property
    def approval_above_json(self) -> str:
        """The number of people as functions are told it."""
        return json.dumps(self.approval_above_recipients)

    @property
    def buckets(self) -> tuple[int, ...]:
        """The buckets that hold a number, ascending."""
        return tuple(sorted({number.bucket for number in self.numbers}))

    @property
    def frequency_cap_json(self) -> str:
        """The frequency cap as functions are told it."""
        return json.dumps(self.frequency_cap and asdict(self.frequency_cap))

    def send_rate(self, number: Number) -> float:
        """Sends per second of a number, over both lanes."""
        return round(number.messages_per_second * self.pace_factor, 6)

    def lane_rate(self, number: Number, lane: Lane) -> float:
        """Sends per second that a lane has for itself, over all its slots."""
        share = number.conversation_share
        return self.send_rate(number) * (share if lane == CONVERSATION else 1 - share)

    def lent_rate(self, number: Number, lane: Lane) -> float:
        """The same while what is reserved for conversations is lent to bulk."""
        reserved = self.lane_rate(number, CONVERSATION)
        bulk, conversation = number.slots(BULK), number.slots(CONVERSATION)
        if lane == CONVERSATION or not lends(
            bulk_slots=bulk, conversation_slots=conversation, reserved_per_second=reserved
        ):
            return self.lane_rate(number, lane)
        return self.send_rate(number)


def _told(words: Words) -> dict[str, tuple[str, ...]]:
    replaced = {} if words.replace is None else {"replace": words.replace}
    return {**({"add": words.add} if words.add else {}), **replaced}


def stage_of(values: Mapping[str, Any]) -> Stage:
    """The stage that these values describe, or ``ConfigError`` with everything wrong in them."""
    try:
        # As JSON, because strictness lets only JSON give a list for a tuple.
        return TypeAdapter(Stage).validate_json(json.dumps(values))
    except ValidationError as error:
        problems = [
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
            for problem in error.errors()
        ]
        raise ConfigError("\n".join(problems)) from None


def load_stage(
    name: str,
    *,
    cloud_api_url: str | None = None,
    database_url: str | None = None,
    directory: Path = CONFIG_DIRECTORY,
) -> Stage:
    """The stage in ``<directory>/<name>.json``.

    The two addresses, where given, replace those of the file: the local run chooses its ports
    when it starts.
    """
    file = directory / f"{name}.json"
    if not file.is_file():
        known = ", ".join(sorted(path.stem for path in directory.glob("*.json")))
        raise ConfigError(f"no stage {name!r}: {directory} has {known}")
    values = json.loads(file.read_text(encoding="utf-8"))
    if cloud_api_url:
        values["cloud_api_url"] = cloud_api_url
    if database_url:
        values["database"] = {"url": database_url}
    try:
        stage = stage_of(values)
    except ConfigError as error:
        raise ConfigError(f"{file}:\n{error}") from None
    if stage.stage != name:
        raise ConfigError(f"{file}: its stage is {stage.stage!r}, its file says {name!r}")
    return stage
