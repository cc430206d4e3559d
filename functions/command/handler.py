"""Command: orders from their own queue, so that none waits for a load."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.events import Inbox, Received, deadline_of
from sluice.adapters.parked import ParkedMessages, Returns
from sluice.adapters.postgres.audit import Audit
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.media import Media
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.queues import Topic
from sluice.domain.approval import BY_THE_TOPIC
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.models.command import Decision, EmptyParked, Trial
from sluice.domain.requests import Command, parse
from sluice.steps.command.parked import empty_parked
from sluice.steps.command.steer import steer
from sluice.steps.command.trial import try_out


def handle(
    event: Mapping[str, Any],
    *,
    stops: Stops,
    audit: Audit,
    campaigns: Campaigns,
    media: Media,
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
        if not isinstance(request, Command):
            return Refused([f"kind={request.kind} does not belong into this queue"])
        if isinstance(request, Decision):
            return Refused([BY_THE_TOPIC])
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
        return steer(request, receives=received.receives, origin=received.origin, stops=stops)

    return inbox.empty(event, carry_out)


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("command")
    clock = wiring.clock()
    return handle(
        event,
        stops=wiring.stops(),
        audit=wiring.audit(),
        campaigns=wiring.campaigns(),
        media=wiring.media(),
        topic=wiring.topic(),
        parked=wiring.parked_messages(),
        returns=wiring.returns(),
        inbox=wiring.inbox("command", wiring.command_queue(), wiring.waker()),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
