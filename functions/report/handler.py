"""Report: the progress of a campaign, asked by its id."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.postgres.reports import Reports
from sluice.domain.clock import Clock
from sluice.steps.report import report


def handle(event: Mapping[str, Any], *, reports: Reports, clock: Clock) -> dict[str, Any]:
    """Answer ``{"campaign": "<id>"}`` with its report, or with ``{"problem": …}``."""
    campaign = event.get("campaign")
    if not isinstance(campaign, str) or not campaign:
        return {"problem": "campaign: the id of a campaign is needed"}
    found = report(campaign, reports=reports, now=clock.now())
    return found if found is not None else {"problem": f"there is no campaign {campaign}"}


def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("report")
    return handle(event, reports=wiring.reports(), clock=wiring.clock())
