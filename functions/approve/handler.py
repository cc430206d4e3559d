"""Approve: decisions of a second person, from a queue that only approvers may send to."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.events import Inbox, Received
from sluice.adapters.postgres.approvals import Approvals
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.models.command import Decision
from sluice.domain.requests import parse
from sluice.steps.approve import approve


def handle(
    event: Mapping[str, Any], *, approvals: Approvals, inbox: Inbox, clock: Clock
) -> dict[str, Any]:
    """Take each decision. Refused ones are parked with their reasons."""

    def carry_out(received: Received) -> Carried:
        request = parse(received.body, received.attributes)
        if isinstance(request, list):
            return refusal_of(request)
        if not isinstance(request, Decision):
            return Refused(["only approve and decline belong into this queue"])
        return approve(
            request,
            receives=received.receives,
            origin=received.origin,
            approvals=approvals,
            now=clock.now(),
        )

    return inbox.empty(event, carry_out)


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("approve")
    wiring.telemetry().begin(context)
    return handle(
        event,
        approvals=wiring.approvals(),
        inbox=wiring.inbox("approve", wiring.approvals_queue(), wiring.waker()),
        clock=wiring.clock(),
    )
