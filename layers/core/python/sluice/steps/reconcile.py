"""Reconcile: come back to what nobody else will, and end what is over."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Protocol

from sluice.domain.aftermath import (
    Applied,
    Attempt,
    Failure,
    counted_anew,
    failure_of,
    retry_at,
)
from sluice.domain.campaign import OpenCampaign
from sluice.domain.clock import Clock
from sluice.domain.delivery import StatusUpdate, UnmatchedStatus, matched, reduce_updates
from sluice.domain.frequency import FrequencyCap, contacts_kept
from sluice.domain.gauges import CampaignGauge, Standing
from sluice.domain.limits import (
    PROGRESS_KEPT_SECONDS,
    RECONCILE_BATCH_ROWS,
    RECONCILE_SWEEPS_MAX,
)
from sluice.domain.silence import Passed, Unswept
from sluice.domain.stages import AllLeft, Holds, Passes, StagedCampaign, Waits

ORPHAN_DAYS = 7
"""Meta repeats a webhook for at most a week: an older orphan was never ours."""
MARGIN_SECONDS = 15.0


class Reconciliations(Protocol):
    """The statements; each changes at most ``limit`` rows of one campaign."""

    def open_campaigns(self, *, now: datetime) -> list[OpenCampaign]:
        """Return every campaign that is not finished."""

    def note_progress(self, *, now: datetime, forget_before: datetime) -> None:
        """Write down how far each open campaign is, and drop what was noted too long ago."""

    def requeue_lost(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Return queued rows whose chunk must be lost to pending."""

    def doubt_stuck(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Make rows of senders that died unknown."""

    def settle_unknown(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Apply the campaign's policy where no status came in the window."""

    def free_sticky(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Let others of the pool send what stayed with a number that cannot."""

    def close_waiting(self, campaign: OpenCampaign, *, state: str, limit: int) -> list[str]:
        """End rows that nobody will send."""

    def finish(self, campaign: OpenCampaign, *, now: datetime) -> bool:
        """End the campaign if every row is final."""

    def standing(self) -> Standing:
        """Return how much stands still until somebody does something."""

    def gauges(self) -> list[CampaignGauge]:
        """Return where the deliveries of each open campaign stand."""


class Statuses(Protocol):
    """Statuses that came before their message was known."""

    def orphans(self, *, limit: int) -> list[UnmatchedStatus]:
        """Return kept statuses that can be matched now."""

    def resolve(self, wamids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Return (campaign_id, seq, attempt) of each wamid that we know."""

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
        """Write updates."""

    def forget_orphans(self, wamids: Sequence[str], *, before: datetime) -> None:
        """Drop the ones that were applied, and those too old to be ours."""


class Stages(Protocol):
    """Campaigns that go to a part of their audience first."""

    def staged(self) -> list[StagedCampaign]:
        """Return every running campaign that its stages still limit."""

    def all_left(self, campaign: StagedCampaign, *, now: datetime) -> None:
        """Remember since when only statuses of the stage are waited for."""

    def go_on(self, campaign: StagedCampaign) -> bool:
        """Begin the next stage; False: it was begun already."""

    def hold(self, campaign: StagedCampaign, *, reason: str) -> bool:
        """Pause the campaign before its next stage; False: it was already."""


class Silences(Protocol):
    """Messages of which Meta says nothing more."""

    def unswept(self, *, now: datetime) -> list[Unswept]:
        """Return the campaigns that may have some whose time to live is over."""

    def sweep(self, campaign: Unswept, *, now: datetime, limit: int) -> Passed:
        """End those among the next rows."""


class Limits(Protocol):
    """Contacts, which count against limits."""

    def forget_contacts(self, *, before: datetime, limit: int) -> int:
        """Delete contacts that nothing counts any more."""


@dataclass(slots=True)
class Reconciled:
    """What a run did."""

    changes: Counter[str] = field(default_factory=Counter)
    """Rows by what happened to them: requeued, doubted, resent, left, exhausted, freed, …"""
    finished: list[int] = field(default_factory=list)
    stages_passed: list[int] = field(default_factory=list)
    """Campaigns that went on to their next stage."""
    stages_held: list[int] = field(default_factory=list)
    """Campaigns that were paused, because too many of a stage had failed."""
    orphans: int = 0
    silent: int = 0
    """Messages that Meta must have dropped: their time to live is over."""
    forgotten: int = 0
    """Contacts that nothing counts any more."""
    gauges: list[CampaignGauge] = field(default_factory=list)
    """Where open campaigns stood when the run began."""
    standing: Standing = field(default_factory=Standing)
    """What stood still when it ended."""
    wake: bool = False
    """There is more to send: dispatch should not wait for its schedule."""


def reconcile(
    *,
    reconciliations: Reconciliations,
    statuses: Statuses,
    stages: Stages,
    silences: Silences,
    limits: Limits,
    frequency_cap: FrequencyCap | None,
    clock: Clock,
    dice: Callable[[], float],
    deadline: float,
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

    kept = timedelta(seconds=PROGRESS_KEPT_SECONDS)
    reconciliations.note_progress(now=now, forget_before=now - kept)
    # Before any of them is finished: then its last line says how it ended.
    done.gauges = reconciliations.gauges()
    done.orphans = _adopt(statuses, now, dice())
    for staged in stages.staged():
        _judge(staged, stages, now, done)
    for campaign in reconciliations.open_campaigns(now=now):
        _settle(campaign, reconciliations, now, repeat)
        if reconciliations.finish(campaign, now=now):
            done.finished.append(campaign.campaign_id)

    done.standing = reconciliations.standing()

    def has_time() -> bool:
        return clock.monotonic() < deadline - MARGIN_SECONDS

    done.silent = _sweep(silences, now, has_time)
    done.forgotten = _forget(limits, now - contacts_kept(frequency_cap), has_time)
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
    if campaign.sticky_numbers:
        repeat(lambda _: "freed", lambda: statements.free_sticky(campaign, now=now, limit=limit))
    if campaign.state == "cancelled" or campaign.expired:
        end = "cancelled" if campaign.state == "cancelled" else "expired"
        repeat(lambda state: state, lambda: statements.close_waiting(
            campaign, state=end, limit=limit
        ))  # fmt: skip


def _judge(campaign: StagedCampaign, stages: Stages, now: datetime, done: Reconciled) -> None:
    """Let a campaign go on to its next stage, or stop it before that."""
    match campaign.verdict(now=now):
        case AllLeft():
            stages.all_left(campaign, now=now)
        case Passes():
            if stages.go_on(campaign):
                done.stages_passed.append(campaign.campaign_id)
                done.wake = True
        case Holds(reason=reason):
            if stages.hold(campaign, reason=reason):
                done.stages_held.append(campaign.campaign_id)
        case Waits():
            pass


def _sweep(silences: Silences, now: datetime, has_time: Callable[[], bool]) -> int:
    """Go on looking through campaigns where the last run stopped, a page of each in turn."""
    expired = pages = 0
    waiting = deque(silences.unswept(now=now))
    pages_max = max(RECONCILE_SWEEPS_MAX, len(waiting))
    while waiting and pages < pages_max and has_time():
        campaign = waiting.popleft()
        passed = silences.sweep(campaign, now=now, limit=RECONCILE_BATCH_ROWS)
        expired += passed.expired
        pages += 1
        if passed.more:
            waiting.append(replace(campaign, after=passed.after))
    return expired


def _forget(limits: Limits, before: datetime, has_time: Callable[[], bool]) -> int:
    forgotten, last = 0, RECONCILE_BATCH_ROWS
    while last == RECONCILE_BATCH_ROWS and has_time():
        last = limits.forget_contacts(before=before, limit=RECONCILE_BATCH_ROWS)
        forgotten += last
    return forgotten


def _adopt(statuses: Statuses, now: datetime, dice: float) -> int:
    """Apply statuses without our id whose message has become known since."""
    orphans = statuses.orphans(limit=RECONCILE_BATCH_ROWS)
    known = statuses.resolve([orphan.wamid for orphan in orphans])
    updates = [matched(orphan, known[orphan.wamid]) for orphan in orphans if orphan.wamid in known]
    failures = [failure for one in updates if (failure := failure_of({}, one))]
    before = statuses.attempts_before(failures)
    failures = [counted_anew(failure, before) for failure in failures]
    retries = {
        failure.attempt: at
        for failure in failures
        if (at := retry_at(failure, now=now, dice=dice)) is not None
    }
    statuses.apply(reduce_updates(updates), retries=retries, failures=failures, now=now)
    statuses.forget_orphans(sorted(known), before=now - timedelta(days=ORPHAN_DAYS))
    return len(updates)
