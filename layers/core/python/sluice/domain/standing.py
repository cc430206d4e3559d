"""How a campaign stands, as JSON, from its row and its counters."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sluice.domain.approval import AWAITED
from sluice.domain.budget import Allowance
from sluice.domain.delivery import State, Status
from sluice.domain.progress import Course, NumberPace
from sluice.domain.results import REFUSALS
from sluice.domain.windows import Hours

AWAITING_APPROVAL = "awaiting approval"
Counter = tuple[int, str, str, str, int]
"""(campaign_id, phone_number_id or '', state, status, deliveries)"""
REJECTED_SHOWN_MAX = 50
LEFT = (State.DONE, State.FAILED, State.UNKNOWN)
REMAINING = (State.PENDING, State.QUEUED, State.SENDING)


def summary(row: Mapping[str, Any], counters: Sequence[Counter]) -> dict[str, Any]:
    """What a list tells of a campaign, and its own report too."""
    return {
        **{name: row[name] for name in ("campaign", "campaign_id", "kind")},
        **_state(row),
        "total": sum(counter[4] for counter in counters),
        **breakdown(counters),
        **{name: iso(row[name]) for name in ("created_at", "loaded_at", "finished_at")},
    }


def _state(row: Mapping[str, Any]) -> dict[str, str | None]:
    if row["state"] == "running" and row["loaded_at"] is None:
        return {"state": "loading", "reason": row["reason"]}
    if row["state"] == "running" and row["approval"] == AWAITED:
        return {"state": AWAITING_APPROVAL, "reason": "it goes to many people"}
    return {"state": row["state"], "reason": row["reason"]}


def approval_document(row: Mapping[str, Any]) -> dict[str, str | None] | None:
    """What became of the campaign's approval; None where it needs none."""
    if row["approval"] is None:
        return None
    return {
        "state": row["approval"],
        "at": iso(row["approved_at"]),
        "by": row["approved_by"],
        "request_hash": row["request_hash"],
    }


def breakdown(counters: Iterable[Counter]) -> dict[str, dict[str, int]]:
    """Deliveries by state and by status, zeros too."""
    states = {state.value: 0 for state in State}
    statuses = {status.label: 0 for status in Status if status is not Status.NONE}
    for _, _, state, status, deliveries in counters:
        states[state] += deliveries
        if status in statuses:
            statuses[status] += deliveries
    return {"states": states, "statuses": statuses}


def by_number(counters: Iterable[Counter]) -> dict[str, dict[str, dict[str, int]]]:
    """The breakdown of each number's own deliveries."""
    own: dict[str, list[Counter]] = defaultdict(list)
    for counter in counters:
        if counter[1]:
            own[counter[1]].append(counter)
    return {number: breakdown(found) for number, found in sorted(own.items())}


def stage_of(row: Mapping[str, Any]) -> dict[str, int] | None:
    """Where the campaign stands in its stages; None where they do not limit it, or no more."""
    if row["stage"] >= row["stages"]:
        return None
    return {"number": row["stage"] + 1, "of": row["stages"], "released": row["released"]}


def next_window_at(row: Mapping[str, Any], now: datetime) -> datetime | None:
    """When the first of its windows opens; None where one is open when it may be sent."""
    hours = Hours.of(row["send_window"], row["quiet_hours"], row["zones"])
    may_be_sent_at = max(now, row["start_at"] or now)
    if hours is None or row["finished_at"] or hours.open_zones(may_be_sent_at):
        return None
    return hours.next_opening(may_be_sent_at)


def course_of(
    row: Mapping[str, Any],
    counters: Iterable[Counter],
    numbers: Iterable[Mapping[str, Any]],
    allowances: Sequence[Allowance],
    now: datetime,
) -> Course:
    """What decides when the campaign ends."""
    active = [number for number in numbers if number["state"] == "active"]
    spent = {number for one in allowances if not one.left for number in one.phone_number_ids}
    return Course(
        state=row["state"],
        reason=row["reason"],
        loaded=row["loaded_at"] is not None,
        start_at=row["start_at"],
        window_at=next_window_at(row, now),
        held=row["approval"] == AWAITED,
        staged=stage_of(row) is not None,
        limited=bool(active) and {one["phone_number_id"] for one in active} <= spent,
        paused_until=row["paused_until"],
        expires_at=row["expires_at"],
        remaining=deliveries_in(counters, REMAINING),
        numbers=[
            NumberPace(
                number["phone_number_id"],
                number["send_rate"] * number["rate_factor"],
                number["paused_until"],
            )
            for number in active
        ],
    )


def deliveries_in(counters: Iterable[Counter], states: Iterable[State]) -> int:
    """How many deliveries are in these states."""
    wanted = set(states)
    return sum(deliveries for _, _, state, _, deliveries in counters if state in wanted)


def refused_document(refused: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Deliveries by why the last look before sending stopped them; all are ``failed``."""
    counted = dict(refused)
    return {name: counted.get(code, 0) for code, name in REFUSALS.items()}


def limit_document(allowance: Allowance) -> dict[str, str | int]:
    """What a portfolio has used of its daily limit."""
    return {
        "portfolio_id": allowance.portfolio_id,
        "daily_limit": allowance.daily_limit,
        "contacted": allowance.contacted,
        "queued": allowance.queued,
        "left": allowance.left,
    }


def iso(moment: datetime | None) -> str | None:
    """The moment as ISO 8601."""
    return moment.isoformat() if moment else None


def rejected_document(rejected: Sequence[tuple[int, str]]) -> list[dict[str, Any]]:
    """Return rejected lines, (line, reason) each, as JSON."""
    return [{"line": line, "reason": reason} for line, reason in rejected]
