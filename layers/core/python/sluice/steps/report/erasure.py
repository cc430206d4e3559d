"""How far an erasure has come."""

from typing import Any, Final, Protocol

from sluice.domain.erasure import ERASED
from sluice.domain.standing import iso

COUNTS: Final = ("deliveries", "cancelled", "signals", "suppression")


class Erasures(Protocol):
    """What is known of erasures."""

    def erasure(self, erasure_id: str) -> dict[str, Any] | None:
        """Return the erasure's columns."""


def report_erasure(erasure_id: str, *, reports: Erasures) -> dict[str, Any] | None:
    """Return how far an erasure has come, never whom it is about; None: there is none."""
    row = reports.erasure(erasure_id)
    if row is None:
        return None
    campaign = row["campaign"]
    about = {"of": "a person", **{name: row[name] for name in COUNTS}}
    return {
        "erase": erasure_id,
        **(about if campaign is None else {"of": "a campaign", "campaign": campaign}),
        "state": "erasing" if row["finished_at"] is None else ERASED,
        **{name: iso(row[name]) for name in ("created_at", "finished_at")},
    }
