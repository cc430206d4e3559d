"""Schedule: what is published about recurring campaigns, and what EventBridge Scheduler sends."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.events import Inbox, Received
from sluice.adapters.postgres.schedules import Schedules
from sluice.adapters.queues import Topic
from sluice.adapters.scheduler import Scheduler
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.models.schedule import ScheduleChange, SchedulePut, ScheduleStart
from sluice.domain.requests import parse
from sluice.steps.schedule import change, put, start


def handle(
    event: Mapping[str, Any],
    *,
    schedules: Schedules,
    scheduler: Scheduler,
    topic: Topic,
    inbox: Inbox,
    clock: Clock,
) -> dict[str, Any]:
    """Carry each message out. Refused ones are parked with their reasons."""

    def carry_out(received: Received) -> Carried:
        request = parse(received.body, received.attributes)
        now = clock.now()
        match request:
            case list():
                return refusal_of(request)
            case SchedulePut():
                return put(
                    request,
                    origin=received.origin,
                    schedules=schedules,
                    scheduler=scheduler,
                    now=now,
                )
            case ScheduleChange():
                return change(
                    request,
                    receives=received.receives,
                    origin=received.origin,
                    schedules=schedules,
                    scheduler=scheduler,
                    now=now,
                )
            case ScheduleStart():
                return start(
                    request,
                    receives=received.receives,
                    origin=received.origin,
                    schedules=schedules,
                    topic=topic,
                    now=now,
                )
        return Refused([f"kind={request.kind} does not belong into this queue"])

    return inbox.empty(event, carry_out)


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("schedule")
    wiring.telemetry().begin(context)
    return handle(
        event,
        schedules=wiring.schedules(),
        scheduler=wiring.scheduler(),
        topic=wiring.topic(),
        inbox=wiring.inbox("schedule", wiring.schedule_queue()),
        clock=wiring.clock(),
    )
