"""Command: orders from their own queue, so that none waits for a load."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.events import Inbox, Received, deadline_of
from sluice.adapters.parked import ParkedMessages, Returns
from sluice.adapters.postgres.audit import Audit
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.media import Media
from sluice.adapters.postgres.orders import Orders
from sluice.adapters.postgres.resends import Resends
from sluice.adapters.queues import Topic
from sluice.domain.approval import BY_THE_TOPIC
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.models.command import Decision, EmptyParked, Resend, Trial
from sluice.domain.requests import Command, parse
from sluice.steps.command.parked import empty_parked
from sluice.steps.command.resend import resend
from sluice.steps.command.steer import steer
from sluice.steps.command.trial import try_out


def handle(
    event: Mapping[str, Any],
    *,
    orders: Orders,
    audit: Audit,
    campaigns: Campaigns,
    media: Media,
    resends: Resends,
    approval_above: int | None,
    topic: Topic,
    parked: ParkedMessages,
    returns: Returns,
    inbox: Inbox,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Carry each order out. Refused ones are parked with their reasons."""

    def carry_out(received: Received) -> Carried:
        request = parse(received.body, received.attributes)
        if isinstance(request, list):
            return refusal_of(request)
        if isinstance(request, Decision) or not isinstance(request, Command):
            decision = isinstance(request, Decision)
            why = f"kind={request.kind} does not belong into this queue"
            return Refused([BY_THE_TOPIC if decision else why])
        if isinstance(request, Trial):
            return try_out(
                request,
                receives=received.receives,
                origin=received.origin,
                audit=audit,
                campaigns=campaigns,
                media=media,
                topic=topic,
                now=clock.now(),
            )
        if isinstance(request, Resend):
            return resend(
                request,
                receives=received.receives,
                origin=received.origin,
                resends=resends,
                approval_above=approval_above,
                clock=clock,
                deadline=deadline,
            )
        if isinstance(request, EmptyParked):
            return empty_parked(
                request,
                receives=received.receives,
                ordered_at=received.sent_at or clock.now(),
                origin=received.origin,
                audit=audit,
                parked=parked,
                returns=returns,
                clock=clock,
                deadline=deadline,
            )
        return steer(request, receives=received.receives, origin=received.origin, orders=orders)

    return inbox.empty(event, carry_out)


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("command")
    wiring.telemetry().begin(context)
    clock = wiring.clock()
    return handle(
        event,
        orders=wiring.orders(),
        audit=wiring.audit(),
        campaigns=wiring.campaigns(),
        media=wiring.media(),
        resends=wiring.resends(),
        approval_above=wiring.approval_above(),
        topic=wiring.topic(),
        parked=wiring.parked_messages(),
        returns=wiring.returns(),
        inbox=wiring.inbox("command", wiring.command_queue(), wiring.waker()),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
