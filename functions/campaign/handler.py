"""Campaign: requests and commands from the queue to the database."""

from collections.abc import Mapping
from typing import Any, assert_never

from aws_lambda_powertools.utilities.data_classes import SQSEvent
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice import wiring
from sluice.adapters.audience import Audiences
from sluice.adapters.events import attributes_of, deadline_of
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.queues import Parking, Queue
from sluice.adapters.telemetry import Telemetry
from sluice.adapters.wake import Waker
from sluice.domain.clock import Clock
from sluice.domain.requests import CampaignRequest, CommandRequest, parse
from sluice.steps.campaign import (
    Again,
    Carried,
    Done,
    Refused,
    command,
    problems_of,
    start_campaign,
)


def handle(
    event: Mapping[str, Any],
    *,
    campaigns: Campaigns,
    loads: Loads,
    audiences: Audiences,
    stops: Stops,
    queue: Queue,
    parking: Parking,
    waker: Waker,
    telemetry: Telemetry,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Carry out each message. Refused ones are parked with their reasons."""

    def carry_out(record: SQSRecord) -> Carried:
        request = parse(record.body, attributes_of(record))
        if isinstance(request, CampaignRequest):
            return start_campaign(
                request,
                campaigns=campaigns,
                loads=loads,
                audiences=audiences,
                stops=stops,
                clock=clock,
                deadline=deadline,
            )
        if isinstance(request, CommandRequest):
            receives = int(record.attributes.approximate_receive_count or 1)
            return command(request, receives=receives, stops=stops)
        if isinstance(request, list):
            return problems_of(request)
        return Refused(["kind=send does not belong into this queue"])

    failures: list[dict[str, str]] = []
    for record in SQSEvent(dict(event)).records:
        match carry_out(record):
            case Done(facts=facts, wake=wake):
                telemetry.report("carried out", counts={"CampaignMessages": 1}, facts=dict(facts))
                if wake:
                    waker.wake()
            case Again(in_seconds=seconds, reason=reason):
                telemetry.report("comes again", reason=reason, in_seconds=seconds)
                queue.show_again(record.receipt_handle, in_seconds=seconds)
                failures.append({"itemIdentifier": record.message_id})
            case Refused(reasons=reasons):
                attributes = attributes_of(record)
                parking.park(
                    step="campaign", reasons=reasons, body=record.body, attributes=attributes
                )
                telemetry.report("parked", counts={"Parked": 1}, reasons=list(reasons))
            case unreachable:
                assert_never(unreachable)
    return {"batchItemFailures": failures}


def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("campaign")
    clock = wiring.clock()
    return handle(
        event,
        campaigns=wiring.campaigns(),
        loads=wiring.loads(),
        audiences=wiring.audiences(),
        stops=wiring.stops(),
        queue=wiring.campaign_queue(),
        parking=wiring.parking(),
        waker=wiring.waker(),
        telemetry=wiring.telemetry(),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
