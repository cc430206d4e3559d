"""What a row of the table of alarms says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from aws_cdk import aws_cloudwatch as cloudwatch

from infra.names import Names
from infra.observability.inventory import Inventory
from infra.observability.series import Place, Series
from infra.stage import Stage
from infra.stage_parts import Number

RUNBOOK: Final = "docs/runbook.md"


@dataclass(frozen=True, kw_only=True)
class Watched:
    """What the alarms of one stack are about."""

    stage: Stage
    names: Names
    place: Place
    inventory: Inventory
    numbers: tuple[Number, ...] = ()
    """Of the bucket; none in the stack of what all numbers share."""

    @property
    def shared(self) -> bool:
        """Whether this is what all numbers share."""
        return not self.numbers


Missing = Literal["notBreaching", "breaching", "missing"]


@dataclass(frozen=True, kw_only=True)
class Row:
    """One kind of alarm: an alarm for each of its subjects.

    Over (or under, or at) ``threshold`` in ``breaching`` of the last ``periods`` of
    ``minutes`` each. ``missing`` says what silence means: of a queue that idles, and of a metric
    that is emitted only when something happens, it is good news.
    """

    name: str
    """Also the anchor of its section in the runbook."""
    meaning: str
    subjects: Callable[[Watched], Iterable[str]]
    """What there is an alarm for: names of queues, functions or numbers; "" for the stage."""
    series: Callable[[Watched, str], Series]
    threshold: float = 0
    threshold_of: Callable[[Watched], float] | None = None
    """Where the configuration of the stage decides it."""
    comparison: cloudwatch.ComparisonOperator = cloudwatch.ComparisonOperator.GREATER_THAN_THRESHOLD
    minutes: int = 5
    periods: int = 1
    breaching: int | None = None
    """None: in all of them."""
    missing: Missing = "notBreaching"
    pooled: bool = False
    """One cause makes many of these: they tell nobody, one composite alarm over all of them does,
    and not even that while the database is known to be away."""

    def limit(self, watched: Watched) -> float:
        """What it is compared with."""
        return self.threshold if self.threshold_of is None else self.threshold_of(watched)

    def describe(self) -> str:
        """What a person reads first."""
        return f"{self.meaning} {RUNBOOK}#{self.name}"

    def alarm_name(self, watched: Watched, subject: str) -> str:
        """``sluice-<stage>-<row>-<subject>``."""
        short = subject.removeprefix(watched.names.prefix).removesuffix(".fifo")
        return watched.names.of(self.name, *filter(None, (short,)))
