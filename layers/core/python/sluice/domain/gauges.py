"""How much there is of what, once a minute: for metrics, and a line of log for each campaign."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sluice.domain.delivery import State, Status

LINES_MAX = 100
"""Campaigns that are told of one by one in a minute, the newest: a log has its price."""
_TOLD: tuple[tuple[str, tuple[Status, ...]], ...] = (
    ("held", (Status.HELD,)),
    ("accepted", (Status.ACCEPTED,)),
    ("sent", (Status.SENT, Status.DELIVERED, Status.READ)),
    ("delivered", (Status.DELIVERED, Status.READ)),
    ("read", (Status.READ,)),
    ("given_up", (Status.FAILED,)),
)


@dataclass(slots=True)
class CampaignGauge:
    """Where the deliveries of one open campaign stand."""

    campaign_id: int
    campaign: str
    kind: str
    state: str
    deliveries: dict[tuple[State, Status], int] = field(default_factory=dict)

    def in_state(self, state: State) -> int:
        """Deliveries in one state."""
        return sum(count for (one, _), count in self.deliveries.items() if one is state)

    def line(self) -> dict[str, Any]:
        """What the log says of it; who has read a message is among whom it was delivered to."""
        states = {state.value: self.in_state(state) for state in State}
        statuses = {
            f"status_{word}": sum(
                count
                for (state, status), count in self.deliveries.items()
                if state is State.DONE and status in ranks
            )
            for word, ranks in _TOLD
        }
        return {
            "campaign_id": self.campaign_id,
            "campaign": self.campaign,
            "state": self.state,
            **{f"rows_{name}": count for name, count in states.items()},
            **statuses,
        }


@dataclass(frozen=True, slots=True)
class Standing:
    """What stands still until somebody does something."""

    awaiting_approval: int = 0
    numbers_paused: int = 0
    campaigns_paused: int = 0


def gauges_of(rows: Iterable[tuple[int, str, str, str, str, str, int]]) -> list[CampaignGauge]:
    """Gather counters, (campaign_id, campaign, kind, state, row state, status, deliveries)."""
    found: dict[int, CampaignGauge] = {}
    for campaign_id, campaign, kind, state, row_state, status, deliveries in rows:
        gauge = found.setdefault(campaign_id, CampaignGauge(campaign_id, campaign, kind, state))
        gauge.deliveries[State(row_state), Status[status.upper()]] = deliveries
    return list(found.values())


def rows_in(gauges: Iterable[CampaignGauge], state: State) -> int:
    """Deliveries of all open campaigns in one state."""
    return sum(gauge.in_state(state) for gauge in gauges)


def told_apart(gauges: Iterable[CampaignGauge]) -> list[CampaignGauge]:
    """The newest campaigns; direct sends are no campaign, and have no end."""
    campaigns = [gauge for gauge in gauges if gauge.kind == "campaign"]
    return sorted(campaigns, key=lambda gauge: -gauge.campaign_id)[:LINES_MAX]
