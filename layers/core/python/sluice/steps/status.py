"""Status: whole batches of statuses to their deliveries, never backwards."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from sluice.domain.aftermath import (
    Applied,
    Attempt,
    Failure,
    counted_anew,
    failure_of,
    retry_at,
)
from sluice.domain.brakes import (
    CircuitBreaker,
    Stop,
    StopAccount,
    StopCampaign,
    StopNumber,
    stop_of,
)
from sluice.domain.clock import Clock
from sluice.domain.delivery import (
    Status,
    StatusUpdate,
    UnmatchedStatus,
    matched,
    reduce_updates,
    update_of,
)
from sluice.domain.halves import in_halves
from sluice.domain.outcomes import Failed
from sluice.domain.suppressions import is_user_id

STOP_SECONDS_MAX = 900.0
"""A failure that is older stops nothing: if its cause lasts, the next answer tells it."""


class Statuses(Protocol):
    """Where statuses are written."""

    def attempts_before(self, failures: Sequence[Failure]) -> Mapping[tuple[int, int], int]:
        """Return how often those were tried before an order to send them again."""

    def apply(
        self,
        updates: Sequence[StatusUpdate],
        *,
        retries: Mapping[Attempt, datetime],
        failures: Sequence[Failure],
        now: datetime,
    ) -> Applied:
        """Write at most one update for each delivery."""

    def learn(self, user_ids: Mapping[tuple[int, int], str]) -> None:
        """Remember whose user ids these are: of whom a message, (campaign_id, seq), went to."""

    def resolve(self, wamids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Return (campaign_id, seq, attempt) of each wamid that we know."""

    def keep_orphans(self, orphans: Sequence[UnmatchedStatus], *, now: datetime) -> None:
        """Keep statuses whose message we do not know yet."""


class Stops(Protocol):
    """Pauses, in force at the next claim."""

    def stop_sending(
        self, phone_number_id: str, stop: StopNumber | StopAccount, *, now: datetime
    ) -> bool:
        """Stop the number, its account or the whole app."""

    def pause_campaign(self, campaign_id: int, *, until: datetime | None, reason: str) -> None:
        """Stop the campaign."""


@dataclass(slots=True)
class Written:
    """What a batch came to."""

    statuses: int = 0
    updates: int = 0
    reached: int = 0
    """Deliveries that were found. The others are of another installation or a later attempt."""
    again: int = 0
    """Deliveries that failed and are tried again."""
    orphans: int = 0
    stops: int = 0
    unrecognised: set[int] = field(default_factory=set)
    """Codes that the error table does not have."""
    invalid: list[Mapping[str, Any]] = field(default_factory=list)
    oldest_at: datetime | None = None
    delivered_after_seconds: list[float] = field(default_factory=list)
    """By Meta's times from sent to delivered."""
    campaign_ids: set[int] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class StatusWriter:
    """Writes batches of compact statuses. Written again, or in another order, they end the same."""

    statuses: Statuses
    stops: Stops
    clock: Clock
    dice: Callable[[], float]

    def write(self, batch: Iterable[Mapping[str, Any]]) -> Written:
        """Write a batch in one statement, then carry out the pauses that its failures ask for."""
        now = self.clock.now()
        written = Written()
        known, orphans = self._sorted_out(batch, written)
        told = self._told(known)
        failures = [failure for _, failure in told if failure]
        retries = {
            failure.attempt: at
            for failure in failures
            if (at := retry_at(failure, now=now, dice=self.dice())) is not None
        }
        reduced = latest_attempts(reduce_updates(update for _, update in known))
        applied = self.statuses.apply(reduced, retries=retries, failures=failures, now=now)
        self.statuses.learn(_user_ids(known))
        self.statuses.keep_orphans(orphans, now=now)
        self._heed(told, now, written)
        written.oldest_at = _oldest(reduced)
        written.updates, written.orphans = len(reduced), len(orphans)
        written.reached, written.again = applied.reached, applied.again
        written.delivered_after_seconds += applied.delivered_after_seconds
        written.campaign_ids |= {update.campaign_id for update in reduced}
        return written

    def _told(
        self, known: Iterable[tuple[Mapping[str, Any], StatusUpdate]]
    ) -> list[tuple[StatusUpdate, Failure | None]]:
        """Return each update with the failure that it tells."""
        told = [(update, failure_of(one, update)) for one, update in known]
        before = self.statuses.attempts_before([failure for _, failure in told if failure])
        return [(update, failure and counted_anew(failure, before)) for update, failure in told]

    def _sorted_out(
        self, batch: Iterable[Mapping[str, Any]], written: Written
    ) -> tuple[list[tuple[Mapping[str, Any], StatusUpdate]], list[UnmatchedStatus]]:
        """Return the statuses whose delivery we know, each with its update, and the others."""
        known: list[tuple[Mapping[str, Any], StatusUpdate]] = []
        strangers: list[tuple[Mapping[str, Any], UnmatchedStatus]] = []
        for status in batch:
            written.statuses += 1
            match update_of(status):
                case StatusUpdate() as update:
                    known.append((status, update))
                case UnmatchedStatus() as stranger:
                    strangers.append((status, stranger))
                case None:
                    written.invalid.append(status)
        keys = self.statuses.resolve(sorted({stranger.wamid for _, stranger in strangers}))
        known += [(status, matched(one, keys[one.wamid])) for status, one in strangers
                  if one.wamid in keys]  # fmt: skip
        return known, [one for _, one in strangers if one.wamid not in keys]

    def _heed(
        self,
        told: Iterable[tuple[StatusUpdate, Failure | None]],
        now: datetime,
        written: Written,
    ) -> None:
        """Carry out each pause once, however many messages ask for it."""
        done: set[tuple[type[Stop], str | int | None]] = set()
        breaker = CircuitBreaker()
        for update, failure in told:
            if update.status >= Status.DELIVERED:
                breaker.clear(update.campaign_id)
            if failure is None:
                continue
            refusal = failure.refusal
            if isinstance(refusal, Failed) and not refusal.recognised:
                written.unrecognised.add(failure.code)
            # Brought again later, it must not stop again what was resumed since.
            if now - failure.at > timedelta(seconds=STOP_SECONDS_MAX):
                continue
            stop = stop_of(refusal, now=now) or breaker.heed(update.campaign_id, refusal, now=now)
            number = failure.phone_number_id
            subject = update.campaign_id if isinstance(stop, StopCampaign) else number
            if stop is None or (type(stop), subject) in done:
                continue
            done.add((type(stop), subject))
            self._stop(update.campaign_id, number, stop, now, written)

    def _stop(
        self, campaign_id: int, number: str | None, stop: Stop, now: datetime, written: Written
    ) -> None:
        if isinstance(stop, StopCampaign):
            self.stops.pause_campaign(campaign_id, until=stop.until, reason=stop.reason)
        elif number is not None:
            self.stops.stop_sending(number, stop, now=now)
        # To be too fast for a moment needs nobody.
        written.stops += not (isinstance(stop, StopNumber) and stop.slower)


def write_split(
    messages: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    writer: StatusWriter,
    fatal: type[Exception],
) -> tuple[list[Written], dict[str, Exception]]:
    """Write queue messages (id to statuses) together; where that fails, in halves.

    So one message that can never be written holds nobody else. Returns what was written and the
    failures by message id. A ``fatal`` error, that no splitting helps, passes through.
    """
    written, failed = in_halves(
        list(messages),
        lambda ids: writer.write([status for name in ids for status in messages[name]]),
        fatal=fatal,
    )
    return written, dict(failed)


def latest_attempts(updates: Sequence[StatusUpdate]) -> list[StatusUpdate]:
    """Keep the highest attempt of each delivery: a later one makes the others history.

    ``updates`` are sorted by (campaign_id, seq, attempt), one for each.
    """
    latest = {(update.campaign_id, update.seq): update for update in updates}
    return list(latest.values())


def _user_ids(
    known: Sequence[tuple[Mapping[str, Any], StatusUpdate]],
) -> dict[tuple[int, int], str]:
    return {
        (update.campaign_id, update.seq): user_id
        for status, update in known
        if is_user_id(user_id := status.get("user"))
    }


def _oldest(updates: Sequence[StatusUpdate]) -> datetime | None:
    moments = [
        moment
        for update in updates
        for moment in (update.sent_at, update.delivered_at, update.read_at, update.failed_at)
        if moment is not None
    ]
    return min(moments, default=None)
