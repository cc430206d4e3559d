"""Report: the progress of a campaign, from its counters."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.budget import Allowance
from sluice.domain.delivery import State, Status
from sluice.domain.results import REFUSALS
from sluice.domain.windows import Hours

REJECTED_SHOWN_MAX = 50

Counter = tuple[str, str, str, int]
"""(phone_number_id or '', state, status, deliveries)"""


class Reports(Protocol):
    """What is known of campaigns."""

    def campaign(self, campaign: str) -> dict[str, Any] | None:
        """Return the campaign's columns."""

    def counters(self, campaign_id: int) -> list[Counter]:
        """Return its counters."""

    def rejected(self, campaign_id: int, *, limit: int) -> list[tuple[int, str]]:
        """Return its first rejected audience rows as (line, reason)."""

    def refused(self, campaign_id: int) -> list[tuple[int, int]]:
        """Return how many deliveries claims refused, as (our code, deliveries)."""

    def allowances(self, numbers: Sequence[str], *, now: datetime) -> list[Allowance]:
        """Return what is used of the daily limits of the numbers' portfolios."""


class Lists(Protocol):
    """What is known of published suppressions."""

    def suppressions(self, list_id: str) -> dict[str, Any] | None:
        """Return their columns."""

    def suppressions_rejected(self, list_id: str, *, limit: int) -> list[tuple[int, str]]:
        """Return the first lines that name nobody as (line, reason)."""


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
        **{name: _iso(row[name]) for name in ("created_at", "finished_at")},
    }


class Trials(Protocol):
    """What is known of tests."""

    def test(self, test: str) -> list[tuple[str, int, str, str, int | None]]:
        """Return (phone_number_id, recipient, state, status, code) of each message."""


def report(campaign: str, *, reports: Reports, now: datetime) -> dict[str, Any] | None:
    """Return the campaign's progress as JSON; None: there is no such campaign."""
    row = reports.campaign(campaign)
    if row is None:
        return None
    counters = reports.counters(row["campaign_id"])
    by_number: dict[str, list[Counter]] = defaultdict(list)
    for counter in counters:
        if counter[0]:
            by_number[counter[0]].append(counter)
    rejected = reports.rejected(row["campaign_id"], limit=REJECTED_SHOWN_MAX)
    return {
        "campaign": campaign,
        "campaign_id": row["campaign_id"],
        "state": _state(row),
        "reason": row["reason"],
        "total": sum(deliveries for _, _, _, deliveries in counters),
        **_breakdown(counters),
        "stage": _stage(row),
        "next_window_at": _iso(_next_window_at(row, now)),
        "numbers": {number: _breakdown(own) for number, own in sorted(by_number.items())},
        "refused": _refused(reports.refused(row["campaign_id"])),
        "daily_limits": [_limit(one) for one in reports.allowances(row["numbers"], now=now)],
        "rejected": row["rejected"],
        "rejected_lines": _lines(rejected),
        **{name: _iso(row[name]) for name in ("created_at", "loaded_at", "finished_at")},
    }


def _lines(rejected: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
    return [{"line": line, "reason": reason} for line, reason in rejected]


def trial_report(test: str, *, reports: Trials) -> dict[str, Any] | None:
    """Return what became of a test's messages; None: none of them is there yet."""
    rows = reports.test(test)
    if not rows:
        return None
    names = ("phone_number_id", "recipient", "state", "status", "error_code")
    return {"test": test, "messages": [dict(zip(names, row, strict=True)) for row in rows]}


def _state(row: Mapping[str, Any]) -> str:
    loading = row["state"] == "running" and row["loaded_at"] is None
    return "loading" if loading else str(row["state"])


def _stage(row: Mapping[str, Any]) -> dict[str, int] | None:
    """Where the campaign stands in its stages; None where they do not limit it, or no more."""
    if row["stage"] >= row["stages"]:
        return None
    return {"number": row["stage"] + 1, "of": row["stages"], "released": row["released"]}


def _next_window_at(row: Mapping[str, Any], now: datetime) -> datetime | None:
    """When the first of its windows opens; None where one is open when it may be sent."""
    hours = Hours.of(row["send_window"], row["quiet_hours"], row["zones"])
    may_be_sent_at = max(now, row["start_at"] or now)
    if hours is None or row["finished_at"] or hours.open_zones(may_be_sent_at):
        return None
    return hours.next_opening(may_be_sent_at)


def _breakdown(counters: Sequence[Counter]) -> dict[str, dict[str, int]]:
    states = {state.value: 0 for state in State}
    statuses = {status.label: 0 for status in Status if status is not Status.NONE}
    for _, state, status, deliveries in counters:
        states[state] += deliveries
        if status in statuses:
            statuses[status] += deliveries
    return {"states": states, "statuses": statuses}


def _refused(refused: Sequence[tuple[int, int]]) -> dict[str, int]:
    """Deliveries by why the last look before sending stopped them; all are ``failed``."""
    counted = dict(refused)
    return {name: counted.get(code, 0) for code, name in REFUSALS.items()}


def _limit(allowance: Allowance) -> dict[str, str | int]:
    return {
        "portfolio_id": allowance.portfolio_id,
        "daily_limit": allowance.daily_limit,
        "contacted": allowance.contacted,
        "queued": allowance.queued,
        "left": allowance.left,
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
