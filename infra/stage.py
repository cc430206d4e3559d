"""What one stage deploys, checked and frozen, and what follows from it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from math import ceil
from typing import Annotated, Final, Literal

from pydantic import Discriminator, Field, Tag
from pydantic.dataclasses import dataclass

from infra.stage_parts import (
    STRICT,
    AuroraDatabase,
    EmailAddress,
    Features,
    FrequencyCap,
    GivenDatabase,
    Language,
    LogRetentionDays,
    Number,
    Principal,
    Word,
    Words,
)
from sluice.domain.lanes import BULK, CONVERSATION, Lane, lends
from sluice.domain.limits import RETENTION_DAYS_DEFAULT, RETENTION_DAYS_MIN
from sluice.domain.words import vocabulary_from

HOST_RUNTIME: Final = "host"
"""Bundle for the interpreter that runs ``app.py``: the local AWS runs functions with it."""
WEBHOOKS_PER_SEND: Final = 3
"""Sent, delivered and read may each come in a request of its own."""
WEBHOOKS_PER_SECOND_MIN: Final = 100
"""However slowly a stage sends: people answer, and after an outage Meta brings what waited."""
WORDS_BYTES_MAX: Final = 2_048
"""Of the 4,096 that Lambda gives to all variables of a function."""


def _kind_of(database: object) -> str:
    given = "url" in database if isinstance(database, Mapping) else hasattr(database, "url")
    return "given" if given else "aurora"


Database = Annotated[
    Annotated[GivenDatabase, Tag("given")] | Annotated[AuroraDatabase, Tag("aurora")],
    # So that only the problems of the one that is meant are told.
    Discriminator(_kind_of),
]


Egress = Literal["nat", "ipv6"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Stage:
    """One deployment."""

    stage: Annotated[str, Field(pattern=r"^[a-z][a-z0-9]{0,11}$")]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
    runtime: Annotated[str, Field(pattern=r"^(host|python3\.1[1-9])$")]
    cloud_api_url: Annotated[str, Field(pattern=r"^https?://.+/v[0-9]+\.[0-9]+$")]
    """The Cloud API with its version and no slash at the end."""
    database: Database
    numbers: Annotated[tuple[Number, ...], Field(min_length=1)]
    egress: Egress = "nat"
    """How functions beside a cluster of our own reach AWS and Meta: IPv4 by NAT, or IPv6."""
    pace_factor: Annotated[float, Field(gt=0, le=1)] = 0.95
    """Share of the cap that is used: the network bunches what we space."""
    webhook_concurrency: Annotated[int, Field(ge=1)] = 64
    webhook_requests_per_second: Annotated[int, Field(ge=1)] | None = None
    """What API Gateway lets in; None: what Meta may bring, ``webhooks_per_second_max``."""
    webhook_entry: Literal["http_api", "function_url"] = "http_api"
    """What Meta calls: an HTTP API, which limits the rate, or the function's own address."""
    statuses_queue: Literal["fifo", "standard"] = "fifo"
    """Whether statuses come in order, and once, to their function; in batches of ten then."""
    account_concurrency: Annotated[int, Field(ge=1)] = 1_000
    """The account's quota of concurrent executions, of which AWS keeps 100 unreserved."""
    alarm_emails: tuple[EmailAddress, ...] = ()
    """Who is written to when an alarm rings, and must confirm it once."""
    log_retention_days: LogRetentionDays = 30
    features: Features = field(default_factory=Features)
    template_check: Literal["required", "when_known", "off"] = "required"
    """A campaign's template must fit Meta's; where Meta cannot be asked, what is known of it; or
    never."""
    daily_limits: Mapping[str, Annotated[int, Field(ge=1)]] = field(default_factory=dict)
    """By portfolio_id: people that it may write to first in 24 hours, until Meta tells a limit."""
    frequency_cap: FrequencyCap | None = None
    retention_days: Annotated[int, Field(ge=RETENTION_DAYS_MIN)] | None = RETENTION_DAYS_DEFAULT
    """What has been over for so long is deleted; None: it is kept until somebody erases it."""
    approval_above_recipients: Annotated[int, Field(ge=0)] | None = None
    """A campaign to more people waits until an approver lets it go; None: none does."""
    approvers: tuple[Principal, ...] = ()
    """Roles and users who may approve, and may not publish."""
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

    @property
    def approval_above_json(self) -> str:
        """The number of people as functions are told it."""
        return json.dumps(self.approval_above_recipients)

    @property
    def frequency_cap_json(self) -> str:
        """The frequency cap as functions are told it."""
        return json.dumps(self.frequency_cap and asdict(self.frequency_cap))

    @property
    def webhooks_per_second_max(self) -> int:
        """What Meta may bring while every number sends as fast as it may."""
        return max(
            WEBHOOKS_PER_SECOND_MIN,
            ceil(WEBHOOKS_PER_SEND * sum(self.send_rate(number) for number in self.numbers)),
        )

    @property
    def webhook_rate(self) -> int:
        """Requests per second that API Gateway lets in."""
        return self.webhook_requests_per_second or self.webhooks_per_second_max

    @property
    def buckets(self) -> tuple[int, ...]:
        """The buckets that hold a number, ascending."""
        return tuple(sorted({number.bucket for number in self.numbers}))

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
