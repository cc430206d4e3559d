"""Status: batches of statuses from their queue to their deliveries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aws_lambda_powertools.utilities.data_classes import SQSEvent

from sluice import metrics, wiring
from sluice.adapters.events import objects_in
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.queues import Parking
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.status import StatusWriter, Written, write_split


def handle(
    event: Mapping[str, Any],
    *,
    statuses: Statuses,
    stops: Stops,
    parking: Parking,
    telemetry: Telemetry,
    clock: Clock,
    dice: Callable[[], float],
) -> dict[str, Any]:
    """Apply the batch in one statement. What can never be read is parked, not retried."""
    messages: dict[str, Sequence[Mapping[str, Any]]] = {}
    for record in SQSEvent(dict(event)).records:
        found = objects_in(record.body, "statuses")
        if found is None:
            reasons = ["not a message of statuses"]
            parking.park(step="status", reasons=reasons, body=record.body, attributes={})
            telemetry.report(
                "parked",
                counts={metrics.PARKED.name: 1},
                message_id=record.message_id,
                reasons=reasons,
            )
        else:
            messages[record.message_id] = found
    if not messages:
        return {"batchItemFailures": []}
    writer = StatusWriter(statuses=statuses, stops=stops, clock=clock, dice=dice)
    written, failures = write_split(messages, writer=writer, fatal=DatabaseAwayError)
    for message_id, error in failures.items():
        telemetry.fail("not written", error, message_id=message_id)
    _report(written, len(failures), telemetry, clock)
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failures]}


def _report(written: Sequence[Written], failures: int, telemetry: Telemetry, clock: Clock) -> None:
    oldest = min((one.oldest_at for one in written if one.oldest_at), default=None)
    lag = {metrics.WEBHOOK_LAG.name: (clock.now() - oldest).total_seconds()} if oldest else {}
    telemetry.report(
        "statuses applied",
        counts={
            metrics.STATUSES_APPLIED.name: sum(one.statuses for one in written),
            "DeliveriesReached": sum(one.reached for one in written),
            "DeliveriesNotReached": sum(one.updates - one.reached for one in written),
            "DeliveriesAgain": sum(one.again for one in written),
            metrics.NEEDS_PERSON.name: sum(one.stops + len(one.unrecognised) for one in written),
            "OrphanStatuses": sum(one.orphans for one in written),
            metrics.STATUSES_INVALID.name: sum(len(one.invalid) for one in written),
            "StatusMessagesFailed": failures,
        },
        seconds=lag,
        samples={
            metrics.SENT_TO_DELIVERED.name: [
                seconds for one in written for seconds in one.delivered_after_seconds
            ]
        },
        campaign_ids=sorted(set().union(*(one.campaign_ids for one in written))),
    )


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("status")
    wiring.telemetry().begin(context)
    return handle(
        event,
        statuses=wiring.statuses(),
        stops=wiring.stops(),
        parking=wiring.parking(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
        dice=wiring.dice(),
    )
