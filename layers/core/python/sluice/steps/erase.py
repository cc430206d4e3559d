"""Erase: a person everywhere, a campaign that is over, and whatever is too old."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from sluice.domain.addresses import parse_address
from sluice.domain.audit import Origin
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.clock import Clock
from sluice.domain.erasure import Finished, Walked
from sluice.domain.limits import ERASE_BATCH_ROWS, ERASE_MARGIN_SECONDS, ERASE_PAGE_ROWS
from sluice.domain.problems import Problem
from sluice.domain.requests import EraseRequest
from sluice.domain.suppressions import match_key

PATIENCE_RECEIVES = 5
RETRY_SECONDS = 60
"""An audience that loads, and a campaign that is being cancelled, are waited for some minutes."""
LEASE_SECONDS = 90
"""Longer than a row may be on its way out."""
AGAIN_SECONDS = 1


class Erasures(Protocol):
    """Erasures of people."""

    def is_loading(self) -> bool:
        """Whether some campaign's audience is being read."""

    def unfinished(self) -> Sequence[str]:
        """Return those that have begun and not ended."""

    def begin(
        self,
        erasure_id: str,
        key: str,
        *,
        forget_suppression: bool,
        origin: Origin,
        now: datetime,
    ) -> bool:
        """Begin, or go on; False: the id is of something else."""

    def walk_recipients(self, erasure_id: str, *, now: datetime, limit: int) -> Walked:
        """Erase the person from the next recipients."""

    def walk_signals(self, erasure_id: str, *, limit: int) -> Walked:
        """Blank the next signals that name the person."""

    def finish(self, erasure_id: str, *, now: datetime) -> str:
        """Forget the rest, and return what became of suppressions."""


class Holdings(Protocol):
    """What is kept of campaigns."""

    def find(self, campaign: str) -> Finished | None:
        """Return whether the campaign is over."""

    def note(self, erasure_id: str, campaign: str, *, now: datetime) -> bool:
        """Write down what is asked for; False: the id is of another erasure."""

    def condemn(self, campaign_id: int, *, origin: Origin, now: datetime) -> bool:
        """Make a campaign that is over an erased one."""

    def condemn_old(self, *, before: datetime, now: datetime) -> list[int]:
        """Do the same with all that were over by then."""

    def condemned(self) -> list[int]:
        """Return the erased campaigns that may still have rows."""

    def delete(self, campaign_id: int, *, limit: int) -> int | None:
        """Delete the next rows; 0: none are left; None: somebody reads them just now."""

    def erased(self, campaign_id: int, *, now: datetime) -> None:
        """Write down that nothing is left."""


class Retention(Protocol):
    """What goes by its age."""

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables of ``forget``."""

    def direct_campaigns(self) -> list[int]:
        """Return the campaigns of direct sends."""

    def forget_sends(self, campaign_id: int, *, before: datetime, limit: int) -> tuple[int, bool]:
        """Delete old direct sends: how many deliveries, and whether there are more."""

    def forget(self, table: str, *, before: datetime, now: datetime, limit: int) -> int:
        """Delete old rows of a table."""


@dataclass(slots=True)
class Cleared:
    """What a scheduled run deleted."""

    campaigns: list[int] = field(default_factory=list)
    """Whose last row went."""
    people: int = 0
    """Erasures that nobody else had ended."""
    rows: Counter[str] = field(default_factory=Counter)
    """By table; ``campaigns``: rows of campaigns."""


def erase(
    request: EraseRequest,
    *,
    receives: int,
    origin: Origin,
    erasures: Erasures,
    holdings: Holdings,
    clock: Clock,
    deadline: float,
) -> Carried:
    """Erase until nothing is left, or the deadline is near; then the message comes again.

    Done twice it is done once. ``deadline`` is on ``clock.monotonic()``.
    """
    has_time = _time_until(deadline, clock)
    if request.address is None:
        return _erase_campaign(
            request,
            receives=receives,
            origin=origin,
            holdings=holdings,
            clock=clock,
            has_time=has_time,
        )
    address = parse_address(request.address)
    if isinstance(address, Problem):
        return Refused([str(address)])
    # Of an audience that is being read, the person may be in what comes next.
    if receives < PATIENCE_RECEIVES and erasures.is_loading():
        return Again(RETRY_SECONDS, "an audience is being loaded")
    begun = erasures.begin(
        request.id,
        match_key(address.value),
        forget_suppression=request.forget_suppression,
        origin=origin,
        now=clock.now(),
    )
    if not begun:
        return Refused([f"erasure {request.id} exists with another content"])
    return _erase_person(request.id, erasures, clock, has_time)


def clear(
    *,
    retention_days: int | None,
    erasures: Erasures,
    holdings: Holdings,
    retention: Retention,
    clock: Clock,
    deadline: float,
) -> Cleared:
    """End what was begun and left, then delete what is older than so many days; None: nothing."""
    now, cleared, has_time = clock.now(), Cleared(), _time_until(deadline, clock)
    for erasure_id in erasures.unfinished():
        cleared.people += isinstance(_erase_person(erasure_id, erasures, clock, has_time), Done)
    before = None if retention_days is None else now - timedelta(days=retention_days)
    if before is not None:
        holdings.condemn_old(before=before, now=now)
    for campaign_id in holdings.condemned():
        if _delete_rows(campaign_id, holdings, clock, has_time, cleared.rows):
            cleared.campaigns.append(campaign_id)
    if before is not None:
        _forget_sends(retention, before, has_time, cleared.rows)
        _forget_rows(retention, before, now, has_time, cleared.rows)
    return cleared


def _time_until(deadline: float, clock: Clock) -> Callable[[], bool]:
    return lambda: clock.monotonic() < deadline - ERASE_MARGIN_SECONDS


def _erase_person(
    erasure_id: str, erasures: Erasures, clock: Clock, has_time: Callable[[], bool]
) -> Done | Again:
    walks: tuple[Callable[[], Walked], ...] = (
        lambda: erasures.walk_recipients(erasure_id, now=clock.now(), limit=ERASE_PAGE_ROWS),
        lambda: erasures.walk_signals(erasure_id, limit=ERASE_BATCH_ROWS),
    )
    for walk in walks:
        walked = Walked(more=True)
        while walked.more:
            if not has_time():
                return Again(AGAIN_SECONDS, f"erasure {erasure_id} needs more time")
            walked = walk()
        if walked.waits:
            return Again(LEASE_SECONDS, f"erasure {erasure_id} waits for a message that leaves")
    suppression = erasures.finish(erasure_id, now=clock.now())
    return Done({"erase": erasure_id, "suppression": suppression})


def _erase_campaign(
    request: EraseRequest,
    *,
    receives: int,
    origin: Origin,
    holdings: Holdings,
    clock: Clock,
    has_time: Callable[[], bool],
) -> Carried:
    campaign = request.campaign
    assert campaign is not None, "the model has checked that it has a subject"
    found = holdings.find(campaign)
    wanting = _wanting(found, campaign)
    if wanting is not None:
        waits = receives < PATIENCE_RECEIVES and (found is None or found.state == "cancelled")
        return Again(RETRY_SECONDS, wanting) if waits else Refused([wanting])
    assert found is not None, "nothing is wanting"
    if not holdings.note(request.id, campaign, now=clock.now()):
        return Refused([f"erasure {request.id} exists with another content"])
    condemned = holdings.condemn(found.campaign_id, origin=origin, now=clock.now())
    if not condemned and found.state != "erased":
        return Again(RETRY_SECONDS, f"campaign {campaign} goes on")
    rows: Counter[str] = Counter()
    if not _delete_rows(found.campaign_id, holdings, clock, has_time, rows):
        return Again(RETRY_SECONDS, f"campaign {campaign} has more rows", counts=_counts(rows))
    facts = {"erase": request.id, "campaign_id": found.campaign_id}
    return Done(facts, counts=_counts(rows))


def _wanting(found: Finished | None, campaign: str) -> str | None:
    """Why a campaign cannot be erased now."""
    if found is None:
        return f"there is no campaign {campaign}"
    if found.kind != "campaign":
        return f"{campaign} holds direct sends, which go by their age"
    if found.state in ("running", "paused"):
        return f"campaign {campaign} is {found.state}: cancel it, or let it finish"
    return None if found.over else f"campaign {campaign} still has deliveries to cancel"


def _delete_rows(
    campaign_id: int,
    holdings: Holdings,
    clock: Clock,
    has_time: Callable[[], bool],
    rows: Counter[str],
) -> bool:
    """Delete what is left of an erased campaign; False: there is more for the next run."""
    while has_time():
        deleted = holdings.delete(campaign_id, limit=ERASE_BATCH_ROWS)
        if deleted is None:
            return False
        rows["campaigns"] += deleted
        if not deleted:
            holdings.erased(campaign_id, now=clock.now())
            return True
    return False


def _forget_sends(
    retention: Retention, before: datetime, has_time: Callable[[], bool], rows: Counter[str]
) -> None:
    for campaign_id in retention.direct_campaigns():
        more = True
        while more and has_time():
            sends, more = retention.forget_sends(campaign_id, before=before, limit=ERASE_BATCH_ROWS)
            rows["direct"] += sends


def _forget_rows(
    retention: Retention,
    before: datetime,
    now: datetime,
    has_time: Callable[[], bool],
    rows: Counter[str],
) -> None:
    for table in retention.tables:
        last = ERASE_BATCH_ROWS
        while last == ERASE_BATCH_ROWS and has_time():
            last = retention.forget(table, before=before, now=now, limit=ERASE_BATCH_ROWS)
            rows[table] += last


def _counts(rows: Counter[str]) -> dict[str, int]:
    return {"RowsErased": rows.total()}
