"""What an outcome stops beside its own message: the number, its account, or the campaign."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sluice.domain.clock import FOREVER
from sluice.domain.limits import OUTAGE_ANSWERS_MAX, OUTAGE_SECONDS, SYSTEMIC_FAILURES_MAX
from sluice.domain.outcomes import (
    Accepted,
    Failed,
    Outcome,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Retry,
    Throttled,
    Unknown,
)

TOO_FAST: Final = (130429, 429)
"""Meta, error codes: the number sends faster than its level; the second is the HTTP status."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Soon after another pause for this code the pause is twice as long as that one."""

    code: int
    began_at: datetime
    longest_seconds: float


@dataclass(frozen=True, slots=True)
class StopNumber:
    """The number waits; ``slower`` says that it was too fast and goes on at half its rate."""

    until: datetime
    reason: str
    slower: bool = False
    backoff: Backoff | None = None


@dataclass(frozen=True, slots=True)
class StopAccount:
    """Every number of the account waits; of the ``whole_app``: every number that we have."""

    until: datetime
    reason: str
    backoff: Backoff | None = None
    whole_app: bool = False


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
            slower = code in TOO_FAST
            return StopNumber(now + timedelta(seconds=seconds), f"{code} {details}", slower)
        case PauseNumber(code=code, details=details, for_seconds=wait):
            backoff = _backoff(outcome, now)
            return StopNumber(_until(now, wait), f"{code} {details}", backoff=backoff)
        case PauseAccount(code=code, details=details, for_seconds=wait, whole_app=whole_app):
            backoff = _backoff(outcome, now)
            return StopAccount(_until(now, wait), f"{code} {details}", backoff, whole_app)
        case PauseCampaign(code=code, details=details, for_seconds=wait):
            until = None if wait is None else _until(now, wait)
            return StopCampaign(until, f"{code} {details}")
        case _:
            return None


@dataclass(slots=True)
class CircuitBreaker:
    """Stops a campaign that fails, many times in a row, as every recipient would.

    And the number while Meta is away: else an outage would cost everybody every attempt.
    """

    _failures: Counter[int] = field(default_factory=Counter)
    _silent: int = 0

    def heed(
        self, campaign_id: int, outcome: Outcome, *, now: datetime
    ) -> StopCampaign | StopNumber | None:
        """Count an outcome of a campaign; return the stop when it is the last one too many."""
        if isinstance(outcome, Accepted):
            self.clear(campaign_id)
        return self._outage(outcome, now) or self._systemic(campaign_id, outcome)

    def clear(self, campaign_id: int) -> None:
        """Begin again: a message of the campaign came through."""
        self._failures[campaign_id] = 0

    def _outage(self, outcome: Outcome, now: datetime) -> StopNumber | None:
        match outcome:
            case Unknown(reason=last):
                pass
            case Retry(code=code, outage=True):
                last = str(code)
            case _:
                self._silent = 0
                return None
        self._silent += 1
        if self._silent % OUTAGE_ANSWERS_MAX:
            return None
        reason = f"no answer {OUTAGE_ANSWERS_MAX} times in a row, the last one {last}"
        return StopNumber(now + timedelta(seconds=OUTAGE_SECONDS), reason)

    def _systemic(self, campaign_id: int, outcome: Outcome) -> StopCampaign | None:
        if not (isinstance(outcome, Failed) and outcome.systemic):
            return None
        self._failures[campaign_id] += 1
        if self._failures[campaign_id] != SYSTEMIC_FAILURES_MAX:
            return None
        failures = f"{SYSTEMIC_FAILURES_MAX} failures in a row"
        return StopCampaign(None, f"{failures}, the last one {outcome.code} {outcome.details}")


def _backoff(pause: PauseNumber | PauseAccount, now: datetime) -> Backoff | None:
    longest = pause.longest_seconds
    return None if longest is None else Backoff(pause.code, now, longest)


def _until(now: datetime, wait_seconds: float | None) -> datetime:
    return FOREVER if wait_seconds is None else now + timedelta(seconds=wait_seconds)
