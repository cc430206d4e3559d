"""How far a saved audience has come."""

from typing import Any, Protocol

from sluice.domain.standing import REJECTED_SHOWN_MAX, iso, rejected_document


class SavedAudiences(Protocol):
    """What is known of saved audiences."""

    def audience(self, audience: str) -> dict[str, Any] | None:
        """Return its columns."""

    def audience_rejected(self, audience: str, *, limit: int) -> list[tuple[int, str]]:
        """Return the first lines that name nobody as (line, reason)."""


def report_audience(audience: str, *, reports: SavedAudiences) -> dict[str, Any] | None:
    """Return how far a saved audience has come; None: there is none of this id."""
    row = reports.audience(audience)
    if row is None:
        return None
    state = "saving" if row["finished_at"] is None else "saved"
    rejected = reports.audience_rejected(audience, limit=REJECTED_SHOWN_MAX)
    return {
        "audience": audience,
        "state": state if row["dropped_at"] is None else "dropped",
        **{name: row[name] for name in ("s3", "lines", "people", "repeated", "rejected")},
        "rejected_lines": rejected_document(rejected),
        **{name: iso(row[name]) for name in ("created_at", "finished_at", "dropped_at")},
    }
