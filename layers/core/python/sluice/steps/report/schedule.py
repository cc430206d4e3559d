"""How a recurring campaign stands."""

from typing import Any, Protocol

from sluice.domain.standing import iso

OCCURRENCES_SHOWN_MAX = 50
SHOWN = ("expression", "time_zone", "starts_at", "ends_at", "missed_start", "overlap")


class Reports(Protocol):
    """What is known of schedules."""

    def schedule(self, schedule_id: str) -> dict[str, Any] | None:
        """Return its columns."""

    def occurrences(self, schedule_id: str, *, limit: int) -> list[dict[str, Any]]:
        """Return the columns of its newest starts, with the states of their campaigns."""


def report_schedule(schedule_id: str, *, reports: Reports) -> dict[str, Any] | None:
    """Return a schedule and what became of its newest starts; None: there is none of this id."""
    row = reports.schedule(schedule_id)
    if row is None:
        return None
    return {
        "schedule": schedule_id,
        **{name: row[name] for name in ("state", "revision")},
        **{name: row["request"][name] for name in SHOWN},
        **{name: iso(row[name]) for name in ("created_at", "changed_at")},
        "starts": [
            {**one, "at": iso(one["at"]), "seen_at": iso(one["seen_at"])}
            for one in reports.occurrences(schedule_id, limit=OCCURRENCES_SHOWN_MAX)
        ],
    }
