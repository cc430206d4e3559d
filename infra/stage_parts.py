"""What a stage is made of: its numbers, its database, its words, its limits."""

from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from sluice.domain.lanes import CONVERSATION, Lane
from sluice.domain.limits import FREQUENCY_DAYS_MAX
from sluice.domain.words import WORDS_CHARACTERS_MAX

SLOTS_BY_MESSAGES_PER_SECOND: Final = ((80, 2), (250, 4))
SLOTS_DEFAULT_MAX: Final = 10
CONVERSATION_SLOTS: Final = 2

STRICT: Final = ConfigDict(extra="forbid", strict=True)

PhoneNumberId = Annotated[str, Field(pattern=r"^[0-9]{5,20}$")]

Principal = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(role|user)/[A-Za-z0-9+=,.@_/-]{1,576}$")
]
"""The ARN of one role or user: no wildcard, no session, no whole account."""

EmailAddress = Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+\.[^@\s]+$")]

LogRetentionDays = Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731]
"""Those of CloudWatch that make sense here."""

Capacity = Annotated[float, Field(ge=0, le=256, multiple_of=0.5)]
"""In Aurora capacity units, of about 2 GiB of memory each."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
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
    bulk_slots: Annotated[int, Field(ge=2, le=100)] | None = None
    """Concurrent executions C of its bulk lane; None: by its cap."""

    def slots(self, lane: Lane) -> int:
        """Concurrent executions C of a lane's sender; two is the least that SQS can be told."""
        if lane == CONVERSATION:
            return CONVERSATION_SLOTS
        if self.bulk_slots is not None:
            return self.bulk_slots
        for messages_per_second, slots in SLOTS_BY_MESSAGES_PER_SECOND:
            if self.messages_per_second <= messages_per_second:
                return slots
        return SLOTS_DEFAULT_MAX


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GivenDatabase:
    """A Postgres that somebody else runs: no data stack, no VPC."""

    url: Annotated[str, Field(pattern=r"^postgresql://")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AuroraDatabase:
    """An Aurora Serverless v2 cluster of our own."""

    capacity_min: Capacity = 0.5
    """0: it pauses when nobody has been connected for ``auto_pause_seconds``."""
    capacity_max: Annotated[Capacity, Field(ge=1)] = 8.0
    auto_pause_seconds: Annotated[int, Field(ge=300, le=86_400)] | None = None
    """None: as AWS decides, which is 300 where ``capacity_min`` is 0, and never elsewhere."""
    readers: Annotated[int, Field(ge=0, le=15)] = 0
    backup_days: Annotated[int, Field(ge=1, le=35)] = 7
    deletion_protection: bool = True
    """False: the cluster and its backups go with their stack."""
    nat_gateways: Annotated[int, Field(ge=1, le=2)] = 1

    def __post_init__(self) -> None:
        """Refuse capacities that exclude each other."""
        if self.capacity_min > self.capacity_max:
            raise ValueError("capacity_min is over capacity_max")
        if self.capacity_min and self.auto_pause_seconds is not None:
            raise ValueError("auto_pause_seconds: only a capacity_min of 0 lets a database pause")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Features:
    """What costs money or time, and not everybody wants."""

    xray: bool = False
    """Traces of functions and of the topics in X-Ray; logs carry ids either way."""


Word = Annotated[str, Field(min_length=1, max_length=WORDS_CHARACTERS_MAX)]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(_[A-Za-z]{2,4})?$")]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Words:
    """What a stage changes about the words of one language: more of them, or others."""

    add: tuple[Word, ...] = ()
    replace: tuple[Word, ...] | None = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class FrequencyCap:
    """At most so many marketing messages to one person within so many days, of all campaigns."""

    messages: Annotated[int, Field(ge=1, le=100)]
    days: Annotated[int, Field(ge=1, le=FREQUENCY_DAYS_MAX)]
