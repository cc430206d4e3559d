"""Report: how campaigns, numbers, lists of people and parked messages stand."""

import json
from collections.abc import Callable, Mapping
from typing import Any, get_args

from sluice import wiring
from sluice.adapters.parked import ParkedMessages
from sluice.adapters.postgres.reports import Reports
from sluice.adapters.postgres.resends import Resends
from sluice.domain.clock import Clock
from sluice.domain.cost import Prices
from sluice.domain.resends import Scope
from sluice.steps.report.audience import report_audience
from sluice.steps.report.audit import audit_report
from sluice.steps.report.campaign import overview, report
from sluice.steps.report.erasure import report_erasure
from sluice.steps.report.parked import parked
from sluice.steps.report.resend import preview
from sluice.steps.report.schedule import report_schedule
from sluice.steps.report.suppressions import report_suppressions
from sluice.steps.report.trial import trial_report

QUESTIONS = (
    'ask {}, {"campaign": "<id>"}, the same with "details": true or "resend": "<scope>", '
    '{"suppressions": "<id>"}, {"audience": "<id>"}, {"schedule": "<id>"}, '
    '{"test": "<id>"}, {"erase": "<id>"}, {"parked": true}, or {"audit": …} with "newest", '
    '{"campaign": "<id>"}, {"number": "<phone_number_id>"} or {"schedule": "<id>"}'
)

_SCOPES: tuple[Scope, ...] = get_args(Scope)
_KEPT: Mapping[str, tuple[Callable[..., Mapping[str, Any] | None], str]] = {
    "suppressions": (report_suppressions, "there are no suppressions {}"),
    "audience": (report_audience, "there is no audience {}"),
    "schedule": (report_schedule, "there is no schedule {}"),
    "test": (trial_report, "there is no test {}"),
    "erase": (report_erasure, "there is no erasure {}"),
}
"""What is kept under an id alone, and what is said where nothing is."""


def handle(
    event: Mapping[str, Any],
    *,
    reports: Reports,
    resends: Resends,
    messages: ParkedMessages,
    prices: Callable[[], Prices],
    clock: Clock,
) -> dict[str, Any]:
    """Answer one of QUESTIONS, ``{"parked": "<id>"}`` too, or say ``{"problem": …}``."""
    if not _is_text(event):
        return {"problem": "the question has a character that no name has"}
    found: Mapping[str, Any] | None = None
    nothing = QUESTIONS
    match dict(event):
        case {"campaign": str(campaign), **rest} if campaign and _asks_for(rest) is not None:
            asked, now, nothing = _asks_for(rest), clock.now(), f"there is no campaign {campaign}"
            if isinstance(asked, str):
                found = preview(campaign, asked, resends=resends, prices=prices(), now=now)
            else:
                told = prices() if asked else None
                found = report(campaign, reports=reports, prices=told, now=now)
        case {**one} if kept := _kept(one, reports):
            found, nothing = kept
        case {"parked": True | str() as wanted, **rest} if not rest:
            found = parked(messages, wanted=None if wanted is True else wanted)
        case {"audit": asked, **rest} if not rest:
            found = audit_report(asked, reports=reports)
        case question if not question:
            found = overview(reports=reports, now=clock.now())
    return dict(found) if found else {"problem": nothing}


def _is_text(question: Mapping[str, Any]) -> bool:
    """Whether the database takes what is asked for: without NUL, and without half an emoji."""
    text = json.dumps(dict(question), ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\\u0000" not in text


def _kept(
    question: Mapping[str, Any], reports: Reports
) -> tuple[Mapping[str, Any] | None, str] | None:
    """Return what is kept under the id that is asked for; None: something else is asked."""
    match list(question.items()):
        case [(str(kind), str(name))] if name and kind in _KEPT:
            tell, nothing = _KEPT[kind]
            return tell(name, reports=reports), nothing.format(name)
    return None


def _asks_for(rest: Mapping[str, Any]) -> bool | Scope | None:
    """Whether details are asked for, or which scope; None: something else is."""
    match rest:
        case {"resend": scope, **more} if not more:
            return next((one for one in _SCOPES if one == scope), None)
        case {"details": bool(asked), **more} if not more:
            return asked
    return None if rest else False


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("report")
    return handle(
        event,
        reports=wiring.reports(),
        resends=wiring.resends(),
        messages=wiring.parked_messages(),
        prices=wiring.prices,
        clock=wiring.clock(),
    )
