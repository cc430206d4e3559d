"""Export: what is known of each recipient of a campaign, to files."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from sluice import wiring
from sluice.adapters.events import Inbox, Received, deadline_of
from sluice.adapters.parquet import Parquet
from sluice.adapters.postgres.exports import Exports
from sluice.adapters.storage import Storage
from sluice.domain.carried import Carried, Refused, refusal_of
from sluice.domain.clock import Clock
from sluice.domain.requests import ExportRequest, parse
from sluice.steps.export import export


def handle(
    event: Mapping[str, Any],
    *,
    bucket: str,
    exports: Exports,
    storage: Storage,
    parquet: Parquet,
    workplace: Callable[[], AbstractContextManager[Path]],
    inbox: Inbox,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Begin each export, or go on with it. Refused ones are parked with their reasons."""

    def carry_out(received: Received) -> Carried:
        request = parse(received.body, received.attributes)
        if isinstance(request, list):
            return refusal_of(request)
        if not isinstance(request, ExportRequest):
            return Refused([f"kind={request.kind} does not belong into this queue"])
        return export(
            request,
            receives=received.receives,
            origin=received.origin,
            bucket=bucket,
            exports=exports,
            storage=storage,
            parquet=parquet,
            workplace=workplace,
            clock=clock,
            deadline=deadline,
        )

    return inbox.empty(event, carry_out)


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("export")
    wiring.telemetry().begin(context)
    clock = wiring.clock()
    return handle(
        event,
        bucket=wiring.exports_bucket(),
        exports=wiring.exports(),
        storage=wiring.storage(),
        parquet=wiring.parquet(),
        workplace=wiring.workplace(),
        inbox=wiring.inbox("export", wiring.export_queue()),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
