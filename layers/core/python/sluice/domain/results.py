"""What an outcome makes of a claimed delivery."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from sluice.domain.claim import Claimed, Result, SendPolicy
from sluice.domain.delivery import State, Status
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

UNRENDERABLE: Final = -2
"""Our own code, beside Meta's: the message could not be made of what the audience has."""
SUPPRESSED: Final = -3
"""Our own: the person is suppressed, and nothing was sent."""
WINDOW_CLOSED: Final = -4
"""Our own: a free-form message, and the person last wrote to the number over a day ago."""
TOO_OFTEN: Final = -5
"""Our own: the person has had all the marketing of the frequency cap, and nothing was sent."""
UNANSWERED: Final = -6
"""Our own: nobody knows whether the last attempt left, and the campaign allows no other."""
REFUSALS: Final = {
    SUPPRESSED: "suppressed",
    WINDOW_CLOSED: "window_closed",
    TOO_OFTEN: "frequency_cap",
}
"""What a claim refuses, as reports name it."""


def settled(claimed: Claimed, outcome: Outcome, policy: SendPolicy) -> Outcome:
    """Return what an outcome is for this very delivery.

    After its last attempt a retry has failed. What would stop a campaign stops a direct send
    alone: others of its number have nothing to do with it.
    """
    if claimed.message is not None:
        outcome = _alone(outcome)
    if not isinstance(outcome, Retry):
        return outcome
    if claimed.tries < policy.max_attempts and not outcome.spent(attempts=claimed.tries):
        return outcome
    systemic = outcome.systemic and claimed.message is None
    return Failed(outcome.code, outcome.details, systemic=systemic)


def _alone(outcome: Outcome) -> Outcome:
    if isinstance(outcome, Failed):
        return replace(outcome, systemic=False)
    if not isinstance(outcome, PauseCampaign):
        return outcome
    wait = outcome.for_seconds
    if wait is None:
        return Failed(outcome.code, outcome.details)
    return Retry(outcome.code, outcome.details, wait, base_seconds=1.0, cap_seconds=wait)


def result_of(
    claimed: Claimed, outcome: Outcome, policy: SendPolicy, *, now: datetime, dice: float
) -> Result:
    """Return what to record. Waiting for the number or the campaign burns nobody's attempt."""
    outcome = settled(claimed, outcome, policy)
    match outcome:
        case Accepted(wamid=wamid, held=held):
            status = Status.HELD if held else Status.ACCEPTED
            return _result(claimed, State.DONE, None, status=status, wamid=wamid)
        case Unknown():
            return _result(claimed, State.UNKNOWN, now + policy.unknown_window)
        case Retry(code=code, details=details):
            seconds = outcome.delay_seconds(attempt=claimed.tries - 1, dice=dice)
            due_at = now + timedelta(seconds=seconds)
            return _result(claimed, State.PENDING, due_at, code=code, details=details)
        case Failed(code=code, details=details):
            return _result(claimed, State.FAILED, None, code=code, details=details)
        case Throttled(code=code, details=details) | PauseNumber(code=code, details=details):
            return _waiting(claimed, now, code, details)
        case PauseAccount(code=code, details=details) | PauseCampaign(code=code, details=details):
            return _waiting(claimed, now, code, details)
        case _:
            assert_never(outcome)


def handed_back(claimed: Claimed, *, due_at: datetime) -> Result:
    """Return the result of a claim that was not used: pending again, no attempt burned."""
    return _result(claimed, State.PENDING, due_at, burned=False)


def _waiting(claimed: Claimed, now: datetime, code: int, details: str) -> Result:
    return _result(claimed, State.PENDING, now, burned=False, code=code, details=details)


def _result(
    claimed: Claimed,
    state: State,
    due_at: datetime | None,
    *,
    status: Status = Status.NONE,
    burned: bool = True,
    wamid: str | None = None,
    code: int | None = None,
    details: str = "",
) -> Result:
    return Result(
        key=claimed.key,
        attempt=claimed.attempt,
        lease=claimed.lease,
        state=state,
        status=status,
        due_at=due_at,
        burned=burned,
        wamid=wamid,
        code=code,
        details=details,
    )
