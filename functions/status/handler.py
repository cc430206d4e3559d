"""Status: batches of statuses from the FIFO queue to their deliveries."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools.utilities.data_classes import SQSEvent

from sluice import wiring
from sluice.adapters.events import objects_in
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.queues import Parking
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.status import Applied, apply_split


def handle(
    event: Mapping[str, Any],
    *,
    statuses: Statuses,
    parking: Parking,
    telemetry: Telemetry,
    clock: Clock,
) -> dict[str, Any]:
    """Apply the batch in one statement. What can never be read is parked, not retried."""
    messages: dict[str, Sequence[Mapping[str, Any]]] = {}
    for record in SQSEvent(dict(event)).records:
        found = objects_in(record.body, "statuses")
        if found is None:
            reasons = ["not a message of statuses"]
            parking.park(step="status", reasons=reasons, body=record.body, attributes={})
            telemetry.report("parked", counts={"Parked": 1}, reasons=reasons)
        else:
            messages[record.message_id] = found
    if not messages:
        return {"batchItemFailures": []}
    applied, failures = apply_split(
        messages, statuses=statuses, now=clock.now(), fatal=DatabaseAwayError
    )
    for message_id, error in failures.items():
        telemetry.fail("not written", error, message_id=message_id)
    _report(applied, len(failures), telemetry, clock)
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failures]}


def _report(applied: Sequence[Applied], failures: int, telemetry: Telemetry, clock: Clock) -> None:
    oldest = min((one.oldest_at for one in applied if one.oldest_at), default=None)
    age = {"StatusAge": (clock.now() - oldest).total_seconds()} if oldest else {}
    telemetry.report(
        "statuses applied",
        counts={
            "StatusesApplied": sum(one.statuses for one in applied),
            "DeliveriesReached": sum(one.reached for one in applied),
            "DeliveriesNotReached": sum(one.updates - one.reached for one in applied),
            "OrphanStatuses": sum(one.orphans for one in applied),
            "InvalidStatuses": sum(len(one.invalid) for one in applied),
            "StatusMessagesFailed": failures,
        },
        seconds=age,
    )


def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("status")
    return handle(
        event,
        statuses=wiring.statuses(),
        parking=wiring.parking(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
    )
