"""How far a published list of suppressions has come."""

from typing import Any, Protocol

from sluice.domain.standing import REJECTED_SHOWN_MAX, iso, rejected_document


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
        "rejected_lines": rejected_document(rejected),
        **{name: iso(row[name]) for name in ("created_at", "finished_at")},
    }
