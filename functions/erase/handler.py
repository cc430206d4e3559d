"""Erase: people and campaigns by request, and every hour what is too old."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.events import Inbox, Received, deadline_of
from sluice.adapters.postgres.erasures import Erasures
from sluice.adapters.postgres.holdings import Holdings
from sluice.adapters.postgres.retention import Retention
from sluice.adapters.telemetry import Telemetry
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.requests import EraseRequest, parse
from sluice.steps.erase import clear, erase

NOTHING_AGAIN: dict[str, Any] = {"batchItemFailures": []}


def handle(
    event: Mapping[str, Any],
    *,
    erasures: Erasures,
    holdings: Holdings,
    retention: Retention,
    retention_days: int | None,
    inbox: Inbox,
    telemetry: Telemetry,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Carry out each request of the queue; or, started by the clock, delete what is too old."""

    def carry_out(received: Received) -> Carried:
        request = parse(received.body, received.attributes)
        if isinstance(request, list):
            return refusal_of(request)
        if not isinstance(request, EraseRequest):
            return Refused([f"kind={request.kind} does not belong into this queue"])
        return erase(
            request,
            receives=received.receives,
            origin=received.origin,
            erasures=erasures,
            holdings=holdings,
            clock=clock,
            deadline=deadline,
        )

    if "Records" in event:
        return inbox.empty(event, carry_out)
    cleared = clear(
        retention_days=retention_days,
        erasures=erasures,
        holdings=holdings,
        retention=retention,
        clock=clock,
        deadline=deadline,
    )
    telemetry.report(
        "cleared",
        counts={
            "CampaignsErased": len(cleared.campaigns),
            "PeopleErased": cleared.people,
            "RowsErased": cleared.rows.total(),
        },
        campaigns=cleared.campaigns,
        rows=dict(cleared.rows),
    )
    return NOTHING_AGAIN


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("erase")
    wiring.telemetry().begin(context)
    clock = wiring.clock()
    return handle(
        event,
        erasures=wiring.erasures(),
        holdings=wiring.holdings(),
        retention=wiring.retention(),
        retention_days=wiring.retention_days(),
        inbox=wiring.inbox("erase", wiring.erase_queue()),
        telemetry=wiring.telemetry(),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
