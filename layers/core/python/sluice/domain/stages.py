"""Canary and ramp: whether a campaign may go on to more of its audience."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from math import ceil
from typing import Any, Final

from sluice.domain.delivery import State, Status


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the audience that is sent first, and what must come of it."""

    recipients: int | None
    """So many people, those of the stages before included; None: ``share`` of the audience."""
    share: float | None
    failure_rate_max: float
    wait_seconds: float

    def released_max(self, total: int) -> int:
        """Return how many of so many people it lets go; a part of a person is a whole one."""
        if self.recipients is not None:
            return min(self.recipients, total)
        return ceil(Fraction(str(self.share)) * total)


def stages_of(request: Sequence[Mapping[str, Any]]) -> tuple[Stage, ...]:
    """Read ``stages`` of a campaign's request as it is stored."""
    return tuple(Stage(**stage) for stage in request)


@dataclass(frozen=True, slots=True)
class Waits:
    """There is nothing to decide yet."""


@dataclass(frozen=True, slots=True)
class AllLeft:
    """Everybody of the stage has been tried: from now on only statuses are waited for."""


@dataclass(frozen=True, slots=True)
class Passes:
    """The next stage may begin; after the last one everybody."""


@dataclass(frozen=True, slots=True)
class Holds:
    """Too many failed: a person must decide."""

    reason: str


Verdict = Waits | AllLeft | Passes | Holds

Count = tuple[State, Status, int]
"""(state, status, deliveries)"""

_ENDED: Final = frozenset({State.FAILED, State.CANCELLED, State.EXPIRED})
_IN_FLIGHT: Final = frozenset({State.QUEUED, State.SENDING})


@dataclass(frozen=True, slots=True)
class StagedCampaign:
    """A running campaign that its stages limit, with what became of its deliveries."""

    campaign_id: int
    stages: tuple[Stage, ...]
    stage: int
    """How many are behind it: the position of the one that it is in."""
    released: int
    """People let go so far."""
    left_at: datetime | None
    """When all of this stage were seen to have been tried."""
    untried: bool
    """Somebody who was let go came back unsent: the window closed, or the number was paused."""
    counts: Sequence[Count]
    refused: int = 0
    """Of them, those who were not sent to: suppressed since, or written to often enough. They fail,
    but say nothing about the template."""

    def verdict(self, *, now: datetime) -> Verdict:
        """Return whether the next stage may begin.

        The stage ends when each of its people has a status beyond ``accepted``, or its wait is
        over. Whoever waits for another attempt has been tried; what is unknown counts as failed.
        """
        stage = self.stages[self.stage]
        total = sum(deliveries for _, _, deliveries in self.counts)
        if self.released < stage.released_max(total):
            return Waits()
        if self._where(_is_settled) < self.released:
            if self.left_at is None:
                return Waits() if self.untried or self._where(_is_in_flight) else AllLeft()
            if now < self.left_at + timedelta(seconds=stage.wait_seconds):
                return Waits()
        failed = max(0, self._where(_has_failed) - self.refused)
        if failed > stage.failure_rate_max * self._tried:
            return Holds(self._reason(stage, failed))
        return Passes()

    @property
    def _tried(self) -> int:
        return self.released - self.refused

    def _where(self, wanted: Callable[[State, Status], bool]) -> int:
        return sum(number for state, status, number in self.counts if wanted(state, status))

    def _reason(self, stage: Stage, failed: int) -> str:
        return (
            f"stage {self.stage + 1} of {len(self.stages)}: {failed} of {self._tried} failed,"
            f" which is {failed / self._tried:.1%}; {stage.failure_rate_max:.1%} is allowed"
        )


def _is_in_flight(state: State, _status: Status) -> bool:
    return state in _IN_FLIGHT


def _is_settled(state: State, status: Status) -> bool:
    return state in _ENDED or status > Status.ACCEPTED


def _has_failed(state: State, status: Status) -> bool:
    return state in {State.FAILED, State.UNKNOWN} or status is Status.FAILED
