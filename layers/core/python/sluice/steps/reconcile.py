"""Reconcile: come back to what nobody else will, and end what is over."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from sluice.domain.aftermath import Applied, Attempt, Failure
from sluice.domain.campaign import OpenCampaign
from sluice.domain.clock import Clock
from sluice.domain.delivery import StatusUpdate, UnmatchedStatus, matched, reduce_updates
from sluice.domain.limits import RECONCILE_BATCH_ROWS

ORPHAN_DAYS = 7
"""Meta repeats a webhook for at most a week: an older orphan was never ours."""
MARGIN_SECONDS = 15.0


class Reconciliations(Protocol):
    """The statements; each changes at most ``limit`` rows of one campaign."""

    def open_campaigns(self, *, now: datetime) -> list[OpenCampaign]:
        """Return every campaign that is not finished."""

    def requeue_lost(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Return queued rows whose chunk must be lost to pending."""

    def doubt_stuck(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Make rows of senders that died unknown."""

    def settle_unknown(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Apply the campaign's policy where no status came in the window."""

    def close_waiting(self, campaign: OpenCampaign, *, state: str, limit: int) -> list[str]:
        """End rows that nobody will send."""

    def finish(self, campaign: OpenCampaign, *, now: datetime) -> bool:
        """End the campaign if every row is final."""


class Statuses(Protocol):
    """Statuses that came before their message was known."""

    def orphans(self, *, limit: int) -> list[UnmatchedStatus]:
        """Return kept statuses that can be matched now."""

    def resolve(self, wamids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Return (campaign_id, seq, attempt) of each wamid that we know."""

    def apply(
        self,
        updates: Sequence[StatusUpdate],
        *,
        retries: Mapping[Attempt, datetime],
        failures: Sequence[Failure],
        now: datetime,
    ) -> Applied:
        """Write updates."""

    def forget_orphans(self, wamids: Sequence[str], *, before: datetime) -> None:
        """Drop the ones that were applied, and those too old to be ours."""


@dataclass(slots=True)
class Reconciled:
    """What a run did."""

    changes: Counter[str] = field(default_factory=Counter)
    """Rows by what happened to them: requeued, doubted, resent, left, exhausted, …"""
    finished: list[int] = field(default_factory=list)
    orphans: int = 0
    wake: bool = False
    """Rows became pending: dispatch should not wait for its schedule."""


def reconcile(
    *, reconciliations: Reconciliations, statuses: Statuses, clock: Clock, deadline: float
) -> Reconciled:
    """Do one pass over every open campaign, in bounded batches, until done or near the deadline.

    ``deadline`` is on ``clock.monotonic()``. Run twice, or at once with another, it finds less.
    """
    done = Reconciled()
    now = clock.now()

    def repeat(name: Callable[[str], str], batch: Callable[[], list[str]]) -> None:
        while clock.monotonic() < deadline - MARGIN_SECONDS:
            states = batch()
            done.changes.update(map(name, states))
            done.wake = done.wake or "pending" in states
            if len(states) < RECONCILE_BATCH_ROWS:
                return

    done.orphans = _adopt(statuses, now)
    for campaign in reconciliations.open_campaigns(now=now):
        _settle(campaign, reconciliations, now, repeat)
        if reconciliations.finish(campaign, now=now):
            done.finished.append(campaign.campaign_id)
    return done


_SETTLED = {"pending": "resent", "unknown": "left", "failed": "exhausted"}

_Repeat = Callable[[Callable[[str], str], Callable[[], list[str]]], None]


def _settle(
    campaign: OpenCampaign, statements: Reconciliations, now: datetime, repeat: _Repeat
) -> None:
    limit = RECONCILE_BATCH_ROWS
    repeat(lambda _: "requeued", lambda: statements.requeue_lost(campaign, now=now, limit=limit))
    repeat(lambda _: "doubted", lambda: statements.doubt_stuck(campaign, now=now, limit=limit))
    repeat(
        _SETTLED.__getitem__,
        lambda: statements.settle_unknown(campaign, now=now, limit=limit),
    )
    if campaign.state == "cancelled" or campaign.expired:
        end = "cancelled" if campaign.state == "cancelled" else "expired"
        repeat(lambda state: state, lambda: statements.close_waiting(
            campaign, state=end, limit=limit
        ))  # fmt: skip


def _adopt(statuses: Statuses, now: datetime) -> int:
    """Apply statuses without our id whose message has become known since."""
    orphans = statuses.orphans(limit=RECONCILE_BATCH_ROWS)
    known = statuses.resolve([orphan.wamid for orphan in orphans])
    updates = [matched(orphan, known[orphan.wamid]) for orphan in orphans if orphan.wamid in known]
    statuses.apply(reduce_updates(updates), retries={}, failures=[], now=now)
    statuses.forget_orphans(sorted(known), before=now - timedelta(days=ORPHAN_DAYS))
    return len(updates)
