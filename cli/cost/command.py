"""What ``sluice cost`` says: the bill by item, what dominates, and what the choices change."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, Final, get_args

from cli.cost.model import MILLION, Choices, Cost, Item, StatusesQueue, WebhookEntry, cost_of
from cli.cost.prices import PriceList
from cli.cost.profile import Profile
from infra.stage import Stage

LARGE_SHARE: Final = 0.2
"""Of a bill: what is that much of it dominates."""
REMEDIES: Final = {
    "HTTP API": "webhook_entry: function_url",
    "SQS, statuses": "statuses_queue: standard",
    "Aurora, minimum capacity": "a smaller capacity_min",
    "NAT gateways": "egress by IPv6, if the stage may",
    "custom metrics": "fewer numbers, or fewer metrics of each",
    "metrics of alarms": "nothing: they are what tells you",
}


@dataclass(frozen=True, slots=True)
class Bill:
    """The cost of one stage in one region, and of its alternatives."""

    stage: str
    region: str
    messages: int
    prices_as_of: str
    measured_on: str
    choices: Choices
    cost: Cost
    alternatives: Sequence[tuple[Choices, Cost]]

    @property
    def total(self) -> float:
        """USD of a month with so many messages."""
        return self.cost.per_month + self.cost.per_million * self.messages / MILLION

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        return {
            "stage": self.stage,
            "region": self.region,
            "messages": self.messages,
            "prices_as_of": self.prices_as_of,
            "measured_on": self.measured_on,
            "choices": asdict(self.choices),
            "usd_per_million": round(self.cost.per_million, 4),
            "usd_per_month_without_messages": round(self.cost.per_month, 4),
            "usd_of_a_month": round(self.total, 4),
            "per_million": [asdict(item) for item in self.cost.per_million_items],
            "per_month": [asdict(item) for item in self.cost.per_month_items],
            "alternatives": [
                {**asdict(choices), "usd_per_million": round(cost.per_million, 4)}
                for choices, cost in self.alternatives
            ],
        }

    def lines(self) -> list[str]:
        """For people."""
        cost = self.cost
        return [
            (
                f"{self.stage} in {self.region}, prices of {self.prices_as_of}, "
                f"measured {self.measured_on}"
            ),
            "",
            f"{cost.per_million:8.2f} USD for a million messages",
            *_table(cost.per_million_items),
            "",
            f"{cost.per_month:8.2f} USD a month, whatever is sent",
            *_table(cost.per_month_items),
            "",
            f"{self.total:8.2f} USD for a month with {self.messages:,} messages",
            "",
            "What dominates:",
            *_dominant("a million messages", cost.per_million_items, cost.per_million),
            *_dominant("a month", cost.per_month_items, cost.per_month),
            "",
            "A million messages by choice:",
            *(_alternative(choices, other, self.choices) for choices, other in self.alternatives),
        ]


def bill(
    stage: Stage, *, region: str | None, messages: int, prices: PriceList, profile: Profile
) -> Bill:
    """The bill of a stage. Raises ``InputError`` where the region has no prices."""
    where = region or stage.region
    local, chosen = prices.of(where), Choices.of(stage)
    every = [
        Choices(statuses_queue=queue, webhook_entry=entry)
        for queue, entry in product(get_args(StatusesQueue), get_args(WebhookEntry))
    ]
    return Bill(
        stage=stage.stage,
        region=where,
        messages=messages,
        prices_as_of=prices.as_of,
        measured_on=profile.measured_on,
        choices=chosen,
        cost=cost_of(stage, local, profile, chosen),
        alternatives=[(one, cost_of(stage, local, profile, one)) for one in every],
    )


def _table(items: Sequence[Item]) -> list[str]:
    return [
        f"  {item.usd:8.3f}  {item.name:<38}{item.quantity} ({item.evidence})" for item in items
    ]


def _dominant(of: str, items: Sequence[Item], total: float) -> list[str]:
    large = [item for item in items if total and item.usd / total >= LARGE_SHARE]
    lines = []
    for item in large:
        remedy = REMEDIES.get(item.name)
        change = f"; to change: {remedy}" if remedy else ""
        lines.append(f"  {item.usd / total:.0%} of {of}: {item.name}{change}")
    return lines


def _alternative(choices: Choices, cost: Cost, chosen: Choices) -> str:
    mark = "  (as the stage is)" if choices == chosen else ""
    return (
        f"  {cost.per_million:8.2f}  statuses_queue {choices.statuses_queue}, "
        f"webhook_entry {choices.webhook_entry}{mark}"
    )
