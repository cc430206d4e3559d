"""Report: the progress of a campaign, or of published suppressions, asked by their id."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.postgres.reports import Reports
from sluice.domain.clock import Clock
from sluice.steps.report import report, report_suppressions, trial_report


def handle(event: Mapping[str, Any], *, reports: Reports, clock: Clock) -> dict[str, Any]:
    """Answer for ``{"campaign": "<id>"}``, ``{"suppressions": "<id>"}`` or ``{"test": "<id>"}``.

    With ``{"problem": …}`` where there is no answer.
    """
    listed, test, campaign = (event.get(name) for name in ("suppressions", "test", "campaign"))
    if isinstance(test, str) and test:
        return trial_report(test, reports=reports) or {"problem": f"there is no test {test}"}
    if isinstance(listed, str) and listed:
        found = report_suppressions(listed, reports=reports)
        return found if found is not None else {"problem": f"there are no suppressions {listed}"}
    if not isinstance(campaign, str) or not campaign:
        return {"problem": "campaign: the id of a campaign is needed"}
    found = report(campaign, reports=reports, now=clock.now())
    return found if found is not None else {"problem": f"there is no campaign {campaign}"}


def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("report")
    return handle(event, reports=wiring.reports(), clock=wiring.clock())
