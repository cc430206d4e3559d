"""How a campaign stands, and an overview of all."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.budget import Allowance
from sluice.domain.cost import Prices
from sluice.domain.progress import Sample, forecast, rate_of
from sluice.domain.standing import (
    LEFT,
    REJECTED_SHOWN_MAX,
    Counter,
    approval_document,
    by_number,
    course_of,
    deliveries_in,
    iso,
    limit_document,
    next_window_at,
    refused_document,
    rejected_document,
    stage_of,
    summary,
)
from sluice.steps.report.details import Rows, details

CAMPAIGNS_SHOWN_MAX = 50
RESENDS_SHOWN_MAX = 20


class Reports(Rows, Protocol):
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

    def resends(self, campaign_id: int, *, limit: int) -> list[dict[str, Any]]:
        """Return the columns of its newest orders to send again."""

    def allowances(self, numbers: Sequence[str], *, now: datetime) -> list[Allowance]:
        """Return what is used of the daily limits of the numbers' portfolios."""

    def samples(self, campaign_id: int, *, now: datetime) -> list[Sample]:
        """Return what is still of use of the campaign's progress."""

    def numbers(self, only: Sequence[str] | None = None, *, now: datetime) -> list[dict[str, Any]]:
        """Return the columns of all numbers, or of those named."""


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
    rejected = reports.rejected(row["campaign_id"], limit=REJECTED_SHOWN_MAX)
    allowances = reports.allowances(row["numbers"], now=now)
    return {
        **summary(row, counters),
        **_progress(row, counters, allowances, reports, now),
        "approval": approval_document(row),
        "stage": stage_of(row),
        "next_window_at": iso(next_window_at(row, now)),
        "numbers": by_number(counters),
        "refused": refused_document(reports.refused(row["campaign_id"])),
        "resends": [
            {**one, "began_at": iso(one["began_at"]), "finished_at": iso(one["finished_at"])}
            for one in reports.resends(row["campaign_id"], limit=RESENDS_SHOWN_MAX)
        ],
        "daily_limits": [limit_document(one) for one in allowances],
        "holdout": row["holdout"],
        "rejected": row["rejected"],
        "rejected_lines": rejected_document(rejected),
        **({"details": details(row, reports, prices)} if prices else {}),
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
