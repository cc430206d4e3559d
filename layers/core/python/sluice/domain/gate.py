"""What of a campaign may go now: whose window is open, and how many its stage lets go."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sluice.domain.stages import stages_of
from sluice.domain.windows import Hours


@dataclass(frozen=True, slots=True)
class Gate:
    """How far a campaign is open now."""

    zones: tuple[int, ...] = (0,)
    """Ids of the time zones whose people may be written to."""
    released_max: int | None = None
    """How many people may be let go, those who were included; None: everybody."""
    room: int | None = None
    """Deliveries that may be queued now, those that came back included; None: all."""

    @property
    def is_shut(self) -> bool:
        """Whether nothing at all may go."""
        return not self.zones or self.room == 0

    def part_of(self, deliveries: int) -> int:
        """Return how many of so many pending deliveries there is room for."""
        return deliveries if self.room is None else min(deliveries, self.room)


OPEN_GATE: Final = Gate()


@dataclass(frozen=True, slots=True)
class GatedCampaign:
    """A campaign with a window or stages, as far as its gate depends on it."""

    request: Mapping[str, Any]
    """``send_window``, ``quiet_hours`` and ``stages`` as published."""
    zones: Sequence[str]
    stage: int
    deliveries: int
    gone: int
    """Deliveries that are not pending."""

    def gate(self, now: datetime) -> Gate:
        """Return how far it is open now."""
        hours = Hours.of(self.request["send_window"], self.request["quiet_hours"], self.zones)
        zones = (0,) if hours is None else hours.open_zones(now)
        stages = stages_of(self.request["stages"])
        if self.stage >= len(stages):
            return Gate(zones)
        released_max = stages[self.stage].released_max(self.deliveries)
        return Gate(zones, released_max, max(0, released_max - self.gone))
