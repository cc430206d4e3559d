"""Report: how campaigns, numbers and parked messages stand, for whoever asks."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.budget import Allowance
from sluice.domain.cost import Prices, cost_document, cost_of, kinds_document
from sluice.domain.delivery import State
from sluice.domain.limits import PARKED_LOOK_SECONDS, REPORT_DETAILS_SECONDS
from sluice.domain.parked import Parked, destination_of
from sluice.domain.progress import Sample, forecast, rate_of
from sluice.domain.results import SUPPRESSED
from sluice.domain.standing import (
    LEFT,
    Counter,
    by_number,
    course_of,
    deliveries_in,
    iso,
    limit_document,
    next_window_at,
    refused_document,
    stage_of,
    summary,
)
from sluice.domain.summary import (
    Details,
    Spread,
    Times,
    attempts_of,
    billing_of,
    count_where,
    errors_of,
    first_attempt_success,
    numbers_of,
    sample_of,
)

REJECTED_SHOWN_MAX = 50
CAMPAIGNS_SHOWN_MAX = 50
SAMPLED_MAX = 5_000
PARKED_READ_MAX = 1_000
PARKED_SHOWN_MAX = 100
PARKED_BODY_CHARACTERS_MAX = 2_000
"""So many, and each may become twelve bytes, fit into what Lambda answers: 6 MB."""


class Reports(Protocol):
    """What is known of campaigns and numbers."""

    def campaign(self, campaign: str) -> dict[str, Any] | None:
        """Return the campaign's columns."""

    def newest(self, *, limit: int) -> list[dict[str, Any]]:
        """Return the columns of the newest campaigns."""

    def counters(self, campaign_ids: Sequence[int]) -> list[Counter]:
        """Return their counters."""

    def rejected(self, campaign_id: int, *, limit: int) -> list[tuple[int, str]]:
        """Return its first rejected audience rows as (line, reason)."""

    def refused(self, campaign_id: int) -> list[tuple[int, int]]:
        """Return how many deliveries claims refused, as (our code, deliveries)."""

    def allowances(self, numbers: Sequence[str], *, now: datetime) -> list[Allowance]:
        """Return what is used of the daily limits of the numbers' portfolios."""

    def samples(self, campaign_id: int, *, now: datetime) -> list[Sample]:
        """Return what is still of use of the campaign's progress."""

    def numbers(self, only: Sequence[str] | None = None, *, now: datetime) -> list[dict[str, Any]]:
        """Return the columns of all numbers, or of those named."""

    def details(self, campaign_id: int) -> Details | None:
        """Read every row of the campaign; None: that took too long."""

    def times(self, campaign_id: int, seqs: Sequence[int]) -> Times:
        """Return how long these deliveries took."""


class Lists(Protocol):
    """What is known of published suppressions."""

    def suppressions(self, list_id: str) -> dict[str, Any] | None:
        """Return their columns."""

    def suppressions_rejected(self, list_id: str, *, limit: int) -> list[tuple[int, str]]:
        """Return the first lines that name nobody as (line, reason)."""


class ParkedMessages(Protocol):
    """The parked queue."""

    def take(self, *, hidden_seconds: int) -> Sequence[Parked]:
        """Take some, hidden from others for so long; none: no more are to be seen."""

    def show_again(self, parked: Sequence[Parked]) -> None:
        """Let others see them at once."""

    def approximate_count(self) -> int:
        """Return how many there are, about."""


def report_suppressions(list_id: str, *, reports: Lists) -> dict[str, Any] | None:
    """Return how far published suppressions have come; None: there are none of this id."""
    row = reports.suppressions(list_id)
    if row is None:
        return None
    rejected = reports.suppressions_rejected(list_id, limit=REJECTED_SHOWN_MAX)
    return {
        "suppressions": list_id,
        "state": "loading" if row["finished_at"] is None else "finished",
        **{name: row[name] for name in ("lines", "people", "rejected")},
        "rejected_lines": _lines(rejected),
        **{name: iso(row[name]) for name in ("created_at", "finished_at")},
    }


class Trials(Protocol):
    """What is known of tests."""

    def test(self, test: str) -> list[tuple[str, int, str, str, int | None]]:
        """Return (phone_number_id, recipient, state, status, code) of each message."""


def report(
    campaign: str, *, reports: Reports, now: datetime, prices: Prices | None = None
) -> dict[str, Any] | None:
    """Return how a campaign stands, as JSON, from its counters; None: there is no such campaign.

    With ``prices``, also ``details``: what only its rows tell.
    """
    row = reports.campaign(campaign)
    if row is None:
        return None
    counters = reports.counters([row["campaign_id"]])
    allowances = reports.allowances(row["numbers"], now=now)
    return {
        **summary(row, counters),
        **_progress(row, counters, allowances, reports, now),
        "stage": stage_of(row),
        "next_window_at": iso(next_window_at(row, now)),
        "numbers": by_number(counters),
        "refused": refused_document(reports.refused(row["campaign_id"])),
        "daily_limits": [limit_document(one) for one in allowances],
        "rejected": row["rejected"],
        "rejected_lines": _lines(reports.rejected(row["campaign_id"], limit=REJECTED_SHOWN_MAX)),
        **({"details": _details(row, reports, prices)} if prices else {}),
    }


def overview(*, reports: Reports, now: datetime) -> dict[str, Any]:
    """Return the newest campaigns and every number, as JSON."""
    rows = reports.newest(limit=CAMPAIGNS_SHOWN_MAX)
    by_campaign: dict[int, list[Counter]] = defaultdict(list)
    for counter in reports.counters([row["campaign_id"] for row in rows]):
        by_campaign[counter[0]].append(counter)
    return {
        "campaigns": [summary(row, by_campaign[row["campaign_id"]]) for row in rows],
        "numbers": [
            {**number, "paused_until": iso(number["paused_until"])}
            for number in reports.numbers(now=now)
        ],
    }


def parked(messages: ParkedMessages, *, wanted: str | None) -> dict[str, Any]:
    """Return parked messages as JSON, the oldest first, and leave them where they are.

    ``wanted`` is the id of one that is to be told whole; None: all, bounded, with excerpts.
    """
    seen: dict[str, Parked] = {}
    while len(seen) < PARKED_READ_MAX:
        batch = messages.take(hidden_seconds=PARKED_LOOK_SECONDS)
        if not batch:
            break
        seen |= {one.letter.message_id: one for one in batch}
    count = messages.approximate_count()
    messages.show_again(list(seen.values()))
    found = [one for one in seen.values() if wanted in (None, one.id)]
    oldest_first = sorted(found, key=lambda one: one.at.timestamp() if one.at else 0)
    length = PARKED_BODY_CHARACTERS_MAX if wanted is None else None
    return {
        "approximate_count": count,
        "read": len(seen),
        "parked": [_parked(one, length) for one in oldest_first[:PARKED_SHOWN_MAX]],
    }


def _parked(one: Parked, characters: int | None) -> dict[str, Any]:
    destination = destination_of(one)
    return {
        "id": one.id,
        "parked_at": iso(one.at),
        "step": one.step,
        "reasons": list(one.reasons),
        "attributes": dict(one.attributes),
        "body": one.body[:characters],
        "body_characters": len(one.body),
        "truncated": one.truncated,
        "cannot_return": destination if isinstance(destination, str) else None,
    }


def _progress(
    row: Mapping[str, Any],
    counters: Sequence[Counter],
    allowances: Sequence[Allowance],
    reports: Reports,
    now: datetime,
) -> dict[str, Any]:
    samples = reports.samples(row["campaign_id"], now=now)
    begun_at = max(filter(None, (row["loaded_at"], row["start_at"])), default=None)
    if row["kind"] == "campaign" and begun_at is not None:
        samples.append(Sample(begun_at, 0))
    rate = rate_of(samples, now=now, done=deliveries_in(counters, LEFT))
    numbers = reports.numbers(row["numbers"], now=now)
    course = course_of(row, counters, numbers, allowances, now)
    return {
        "sends_per_second": round(rate.per_second, 2) if rate else None,
        "over_seconds": round(rate.window_seconds, 1) if rate else None,
        "ends": forecast(course, rate, now=now).document(),
    }


def _details(row: Mapping[str, Any], reports: Reports, prices: Prices) -> dict[str, Any]:
    seqs = sample_of(row["loaded_rows"], size=SAMPLED_MAX)
    told = _times(reports.times(row["campaign_id"], seqs), asked=len(seqs), of=row["loaded_rows"])
    found = reports.details(row["campaign_id"])
    if found is None:
        seconds = REPORT_DETAILS_SECONDS
        return {"problem": f"reading every row took longer than {seconds} s", "times": told}
    groups = found.groups
    return {
        "attempts": attempts_of(groups),
        "first_attempt_success": first_attempt_success(groups),
        "errors": errors_of(groups, found.errors),
        "billing": _billing(found, prices),
        "times": told,
        "unknown_left": count_where(groups, state=State.UNKNOWN, waits=False),
        "suppressed": {
            "at_load": sum(n for why, n in found.reasons if why.startswith("suppressed: ")),
            "before_sending": count_where(groups, state=State.FAILED, error_code=SUPPRESSED),
        },
        "rejected": dict(found.reasons),
        "numbers": numbers_of(groups),
    }


def _billing(found: Details, prices: Prices) -> dict[str, Any]:
    billing = billing_of(found.groups)
    return {
        "billable": sum(billing.billable.values()),
        "free": billing.free,
        "untold": billing.untold,
        "by_kind": kinds_document(billing.billable.items()),
        "cost": cost_document(cost_of(billing.billable, prices), prices),
    }


def _times(times: Times, *, asked: int, of: int) -> dict[str, Any]:
    return {
        "sample": {"positions": asked, "of": of, "found": times.found},
        "accepted_to_sent_seconds": _spread(times.accepted_to_sent),
        "sent_to_delivered_seconds": _spread(times.sent_to_delivered),
    }


def _spread(spread: Spread | None) -> dict[str, Any] | None:
    return asdict(spread) if spread else None


def _lines(rejected: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
    return [{"line": line, "reason": reason} for line, reason in rejected]


def trial_report(test: str, *, reports: Trials) -> dict[str, Any] | None:
    """Return what became of a test's messages; None: none of them is there yet."""
    rows = reports.test(test)
    if not rows:
        return None
    names = ("phone_number_id", "recipient", "state", "status", "error_code")
    return {"test": test, "messages": [dict(zip(names, row, strict=True)) for row in rows]}
