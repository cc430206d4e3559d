"""What an order to send again would come to."""

from datetime import datetime
from typing import Any, Protocol

from sluice.domain.cost import Prices
from sluice.domain.limits import REPORT_DETAILS_SECONDS
from sluice.domain.resends import Candidates, Scope, Subject, hindrance, preview_document


class Resends(Protocol):
    """Deliveries that may be sent again."""

    def preview(
        self, campaign: str, scope: Scope
    ) -> tuple[Subject, str, list[Candidates] | None] | None:
        """Return the campaign, its category and what a scope of it has; None: there is none.

        No candidates: reading took too long.
        """


def preview(
    campaign: str, scope: Scope, *, resends: Resends, prices: Prices, now: datetime
) -> dict[str, Any] | None:
    """Return how many an order would send again and what they cost; None: no such campaign."""
    found = resends.preview(campaign, scope)
    if found is None:
        return None
    subject, category, candidates = found
    document = {"campaign": campaign, "resend": scope}
    if candidates is None:
        return {
            **document,
            "problem": f"reading every row took longer than {REPORT_DETAILS_SECONDS} s",
        }
    return {
        **document,
        "hindrance": hindrance(subject, expires_at=None, now=now),
        **preview_document(candidates, category=category, prices=prices),
    }
