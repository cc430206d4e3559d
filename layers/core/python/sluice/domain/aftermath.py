"""What a ``failed`` status comes to: another attempt, a pause, or the end."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sluice.domain.delivery import StatusUpdate, integer_of
from sluice.domain.errors import classify
from sluice.domain.outcomes import (
    Failed,
    Refusal,
    Retry,
    Throttled,
)


class Attempt(NamedTuple):
    """One attempt at a delivery."""

    campaign_id: int
    seq: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Failure:
    """An attempt that Meta accepted and then gave up, with its code and words."""

    attempt: Attempt
    phone_number_id: str | None
    code: int
    details: str
    at: datetime
    attempts_before: int = 0
    """Attempts before a person ordered to send it again: they do not count any more."""

    @property
    def tries(self) -> int:
        """Attempts that count, this one included."""
        return self.attempt.attempt - self.attempts_before

    @property
    def refusal(self) -> Refusal:
        """What the error table makes of it; after the last retry that it allows, a failure."""
        refusal = classify(self.code, self.details, failed=True)
        if isinstance(refusal, Retry) and refusal.spent(attempts=self.tries):
            return Failed(self.code, self.details, systemic=refusal.systemic)
        return refusal


@dataclass(frozen=True, slots=True)
class Applied:
    """Deliveries that a batch of statuses reached, and how many of them are tried again."""

    reached: int
    again: int
    delivered_after_seconds: tuple[float, ...] = ()
    """By Meta's times from sent to delivered, of those that were delivered."""


def failure_of(status: Mapping[str, Any], update: StatusUpdate) -> Failure | None:
    """Return the failure that a compact status tells; None where it tells none."""
    if update.error_code is None or update.failed_at is None:
        return None
    number = status.get("number")
    return Failure(
        Attempt(*update.key),
        number if isinstance(number, str) else None,
        update.error_code,
        _words(status.get("errors"), update.error_code),
        update.failed_at,
    )


def _words(errors: object, code: int) -> str:
    """Meta's words beside the code that counts."""
    for error in errors if isinstance(errors, list) else []:
        if isinstance(error, dict) and integer_of(error.get("code")) == code:
            details = error.get("details")
            return details if isinstance(details, str) else ""
    return ""


def counted_anew(failure: Failure, before: Mapping[tuple[int, int], int]) -> Failure:
    """The failure, with how often its delivery was tried ``before`` an order to send it again.

    An attempt of before the order counts as the first.
    """
    attempt = failure.attempt
    attempts_before = before.get((attempt.campaign_id, attempt.seq), 0)
    return replace(failure, attempts_before=min(attempts_before, attempt.attempt - 1))


def retry_at(failure: Failure, *, now: datetime, dice: float) -> datetime | None:
    """Return when a failed attempt may be tried again; None: never.

    What a pause stopped goes on when the pause is over; each try is another attempt.
    """
    retries = failure.tries - 1
    match failure.refusal:
        case Failed():
            return None
        case Retry() as retry:
            return now + timedelta(seconds=retry.delay_seconds(attempt=retries, dice=dice))
        case Throttled(for_seconds=seconds):
            return now + timedelta(seconds=seconds)
        case _:
            return now
