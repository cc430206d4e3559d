"""Campaign: requests from the queue to the database, with their audiences and their lists."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.audience import Audiences
from sluice.adapters.events import Inbox, Received, deadline_of
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.loads import Loads
from sluice.adapters.postgres.saved_audiences import SavedAudiences
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.postgres.suppression_lists import SuppressionLists
from sluice.adapters.postgres.suppressions import Suppressions
from sluice.adapters.uploads import Uploads
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.requests import (
    CampaignRequest,
    DropAudience,
    ListRequest,
    SaveAudience,
    SuppressionsExport,
    parse,
)
from sluice.steps.campaign.audiences import drop_audience, save_audience
from sluice.steps.campaign.check import TemplateCheck
from sluice.steps.campaign.media import HeaderMedia
from sluice.steps.campaign.start import Preparation, start_campaign
from sluice.steps.campaign.suppressions import export_people, list_people


def handle(
    event: Mapping[str, Any],
    *,
    campaigns: Campaigns,
    loads: Loads,
    audiences: Audiences,
    saved: SavedAudiences,
    stops: Stops,
    lists: SuppressionLists,
    suppressions: Suppressions,
    uploads: Uploads,
    preparation: Preparation,
    inbox: Inbox,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Start each campaign or list, or go on with its load. Refused ones are parked with reasons."""

    def carry_out(received: Received) -> Carried:
        request = parse(received.body, received.attributes)
        if isinstance(request, list):
            return refusal_of(request)
        if isinstance(request, CampaignRequest):
            return start_campaign(
                request,
                receives=received.receives,
                origin=received.origin,
                campaigns=campaigns,
                loads=loads,
                audiences=audiences,
                saved=saved,
                stops=stops,
                preparation=preparation,
                clock=clock,
                deadline=deadline,
            )
        if isinstance(request, SaveAudience | DropAudience):
            return _audience(
                request,
                received,
                saved=saved,
                audiences=audiences,
                clock=clock,
                deadline=deadline,
            )
        if isinstance(request, ListRequest):
            return list_people(
                request,
                origin=received.origin,
                lists=lists,
                audiences=audiences,
                clock=clock,
                deadline=deadline,
            )
        if isinstance(request, SuppressionsExport):
            return export_people(
                request,
                origin=received.origin,
                lists=lists,
                suppressions=suppressions,
                uploads=uploads,
                clock=clock,
            )
        return Refused([f"kind={request.kind} does not belong into this queue"])

    return inbox.empty(event, carry_out)


def _audience(
    request: SaveAudience | DropAudience,
    received: Received,
    *,
    saved: SavedAudiences,
    audiences: Audiences,
    clock: Clock,
    deadline: float,
) -> Carried:
    if isinstance(request, DropAudience):
        return drop_audience(
            request,
            receives=received.receives,
            origin=received.origin,
            saved=saved,
            clock=clock,
            deadline=deadline,
        )
    return save_audience(
        request,
        origin=received.origin,
        saved=saved,
        audiences=audiences,
        clock=clock,
        deadline=deadline,
    )


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("campaign")
    wiring.telemetry().begin(context)
    clock = wiring.clock()
    graph_api = wiring.graph_api()
    preparation = Preparation(
        TemplateCheck(
            wiring.template_check(), wiring.accounts, wiring.templates(), graph_api, clock
        ),
        HeaderMedia(wiring.media_files(), wiring.media(), graph_api, clock),
    )
    return handle(
        event,
        campaigns=wiring.campaigns(),
        loads=wiring.loads(),
        audiences=wiring.audiences(),
        saved=wiring.saved_audiences(),
        stops=wiring.stops(),
        lists=wiring.suppression_lists(),
        suppressions=wiring.suppressions(),
        uploads=wiring.uploads(),
        preparation=preparation,
        inbox=wiring.inbox("campaign", wiring.campaign_queue(), wiring.waker()),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
