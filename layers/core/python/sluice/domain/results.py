"""What an outcome makes of a claimed delivery."""

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
REFUSALS: Final = {
    SUPPRESSED: "suppressed",
    WINDOW_CLOSED: "window_closed",
    TOO_OFTEN: "frequency_cap",
}
"""What a claim refuses, as reports name it."""


def result_of(
    claimed: Claimed, outcome: Outcome, policy: SendPolicy, *, now: datetime, dice: float
) -> Result:
    """Return what to record. Waiting for the number or the campaign burns nobody's attempt."""
    match outcome:
        case Accepted(wamid=wamid, held=held):
            status = Status.HELD if held else Status.ACCEPTED
            return _result(claimed, State.DONE, None, status=status, wamid=wamid)
        case Unknown():
            return _result(claimed, State.UNKNOWN, now + policy.unknown_window)
        case Retry(code=code, details=details):
            due_at = _retry_at(claimed, outcome, policy, now, dice)
            state = State.FAILED if due_at is None else State.PENDING
            return _result(claimed, state, due_at, code=code, details=details)
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


def _retry_at(
    claimed: Claimed, retry: Retry, policy: SendPolicy, now: datetime, dice: float
) -> datetime | None:
    retries = claimed.attempt - 1
    if claimed.attempt >= policy.max_attempts:
        return None
    if retry.tries_max is not None and retries >= retry.tries_max:
        return None
    return now + timedelta(seconds=retry.delay_seconds(attempt=retries, dice=dice))


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
