"""Report: how campaigns, numbers, lists of people and parked messages stand."""

from collections.abc import Callable, Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.parked import ParkedMessages
from sluice.adapters.postgres.reports import Reports
from sluice.domain.clock import Clock
from sluice.domain.cost import Prices
from sluice.steps.report.audience import report_audience
from sluice.steps.report.audit import audit_report
from sluice.steps.report.campaign import overview, report
from sluice.steps.report.parked import parked
from sluice.steps.report.suppressions import report_suppressions
from sluice.steps.report.trial import trial_report

QUESTIONS = (
    'ask {}, {"campaign": "<id>"}, the same with "details": true, {"suppressions": "<id>"}, '
    '{"audience": "<id>"}, {"test": "<id>"}, {"parked": true}, or {"audit": …} with "newest", '
    '{"campaign": "<id>"} or {"number": "<phone_number_id>"}'
)


def handle(
    event: Mapping[str, Any],
    *,
    reports: Reports,
    messages: ParkedMessages,
    prices: Callable[[], Prices],
    clock: Clock,
) -> dict[str, Any]:
    """Answer one of QUESTIONS, ``{"parked": "<id>"}`` too, or say ``{"problem": …}``."""
    found: dict[str, Any] | None = None
    match dict(event):
        case {"campaign": str(campaign), **rest} if campaign and _asks_for(rest) is not None:
            told = prices() if _asks_for(rest) else None
            found = report(campaign, reports=reports, prices=told, now=clock.now())
            found = found or {"problem": f"there is no campaign {campaign}"}
        case {"suppressions": str(listed), **rest} if listed and not rest:
            found = report_suppressions(listed, reports=reports)
            found = found or {"problem": f"there are no suppressions {listed}"}
        case {"audience": str(audience), **rest} if audience and not rest:
            found = report_audience(audience, reports=reports)
            found = found or {"problem": f"there is no audience {audience}"}
        case {"test": str(test), **rest} if test and not rest:
            found = trial_report(test, reports=reports)
            found = found or {"problem": f"there is no test {test}"}
        case {"parked": True | str() as wanted, **rest} if not rest:
            found = parked(messages, wanted=None if wanted is True else wanted)
        case {"audit": asked, **rest} if not rest:
            found = audit_report(asked, reports=reports)
        case question if not question:
            found = overview(reports=reports, now=clock.now())
    return found or {"problem": QUESTIONS}


def _asks_for(rest: Mapping[str, Any]) -> bool | None:
    """Whether details are asked for; None: something else is."""
    asked = rest.get("details", False)
    return asked if isinstance(asked, bool) and not rest.keys() - {"details"} else None


def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("report")
    return handle(
        event,
        reports=wiring.reports(),
        messages=wiring.parked_messages(),
        prices=wiring.prices,
        clock=wiring.clock(),
    )
