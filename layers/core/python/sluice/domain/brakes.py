"""What an outcome stops beside its own message: the number, its account, or the campaign."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sluice.domain.clock import FOREVER
from sluice.domain.limits import SYSTEMIC_FAILURES_MAX
from sluice.domain.outcomes import (
    Accepted,
    Failed,
    Outcome,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Throttled,
)

RATE_LIMIT_HIT: Final = 130429
"""Meta, error codes: the number sends faster than its level."""


@dataclass(frozen=True, slots=True)
class StopNumber:
    """The number waits; ``slower`` says that it was too fast and goes on at half its rate."""

    until: datetime
    reason: str
    slower: bool = False


@dataclass(frozen=True, slots=True)
class StopAccount:
    """Every number of the account waits."""

    until: datetime
    reason: str


@dataclass(frozen=True, slots=True)
class StopCampaign:
    """The campaign waits; ``until`` None: until somebody resumes it."""

    until: datetime | None
    reason: str


Stop = StopNumber | StopAccount | StopCampaign


def stop_of(outcome: Outcome, *, now: datetime) -> Stop | None:
    """Return what an outcome stops at once; None where it concerns its recipient only."""
    match outcome:
        case Throttled(code=code, details=details, for_seconds=seconds):
            slower = code == RATE_LIMIT_HIT
            return StopNumber(now + timedelta(seconds=seconds), f"{code} {details}", slower)
        case PauseNumber(code=code, details=details, for_seconds=wait):
            return StopNumber(_until(now, wait), f"{code} {details}")
        case PauseAccount(code=code, details=details, for_seconds=wait):
            return StopAccount(_until(now, wait), f"{code} {details}")
        case PauseCampaign(code=code, details=details, for_seconds=wait):
            until = None if wait is None else _until(now, wait)
            return StopCampaign(until, f"{code} {details}")
        case _:
            return None


@dataclass(slots=True)
class CircuitBreaker:
    """Stops a campaign that fails, many times in a row, as every recipient would."""

    _failures: Counter[int] = field(default_factory=Counter)

    def heed(self, campaign_id: int, outcome: Outcome) -> StopCampaign | None:
        """Count an outcome of a campaign; return the stop when it is the last one too many."""
        if isinstance(outcome, Accepted):
            self._failures[campaign_id] = 0
        if not (isinstance(outcome, Failed) and outcome.systemic):
            return None
        self._failures[campaign_id] += 1
        if self._failures[campaign_id] != SYSTEMIC_FAILURES_MAX:
            return None
        failures = f"{SYSTEMIC_FAILURES_MAX} failures in a row"
        return StopCampaign(None, f"{failures}, the last one {outcome.code} {outcome.details}")


def _until(now: datetime, wait_seconds: float | None) -> datetime:
    return FOREVER if wait_seconds is None else now + timedelta(seconds=wait_seconds)
