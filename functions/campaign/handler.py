"""Campaign: requests from the queue to the database, with their audiences."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice import wiring
from sluice.adapters.audience import Audiences
from sluice.adapters.events import Inbox, attributes_of, deadline_of
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.stops import Stops
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.requests import CampaignRequest, parse
from sluice.steps.campaign import start_campaign


def handle(
    event: Mapping[str, Any],
    *,
    campaigns: Campaigns,
    loads: Loads,
    audiences: Audiences,
    stops: Stops,
    inbox: Inbox,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Start each campaign, or go on with its load. Refused ones are parked with their reasons."""

    def carry_out(record: SQSRecord) -> Carried:
        request = parse(record.body, attributes_of(record))
        if isinstance(request, list):
            return refusal_of(request)
        if not isinstance(request, CampaignRequest):
            return Refused([f"kind={request.kind} does not belong into this queue"])
        return start_campaign(
            request,
            campaigns=campaigns,
            loads=loads,
            audiences=audiences,
            stops=stops,
            clock=clock,
            deadline=deadline,
        )

    return inbox.empty(event, carry_out)


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
        inbox=wiring.inbox("campaign", wiring.campaign_queue()),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
