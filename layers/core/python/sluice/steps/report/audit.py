"""What was done, and by whom."""

from typing import Any, Protocol

from sluice.domain.audit import about_campaign, about_number, about_schedule
from sluice.domain.standing import iso

AUDIT_SHOWN_MAX = 200


class Reports(Protocol):
    """What is known of who did what."""

    def audit(self, subject: str | None, *, limit: int) -> list[dict[str, Any]]:
        """Return what was done to a subject, or to anything, the newest first."""


def audit_report(asked: object, *, reports: Reports) -> dict[str, Any] | None:
    """Return what was done, the newest first, as JSON; None: that is no question.

    ``asked`` is ``newest``, ``{"campaign": …}``, ``{"number": …}`` or ``{"schedule": …}``.
    """
    match asked:
        case "newest":
            subject = None
        case {"campaign": str(campaign), **rest} if not rest:
            subject = about_campaign(campaign)
        case {"number": str(number), **rest} if not rest:
            subject = about_number(number)
        case {"schedule": str(schedule), **rest} if not rest:
            subject = about_schedule(schedule)
        case _:
            return None
    rows = reports.audit(subject, limit=AUDIT_SHOWN_MAX)
    return {"audit": [{**row, "at": iso(row["at"])} for row in rows]}
