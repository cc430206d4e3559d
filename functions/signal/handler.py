"""Signal: everything that webhooks bring beside statuses, kept."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice import wiring
from sluice.adapters.events import objects_in
from sluice.adapters.postgres.signals import Signals
from sluice.adapters.queues import Parking
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.signal import keep_signals


def handle(
    event: Mapping[str, Any],
    *,
    signals: Signals,
    parking: Parking,
    telemetry: Telemetry,
    clock: Clock,
) -> dict[str, Any]:
    """Keep each message's signals; a message that fails comes again alone."""

    def keep(record: SQSRecord) -> None:
        batch = objects_in(record.body, "signals")
        if batch is None:
            reasons = ["not a message of signals"]
            parking.park(step="signal", reasons=reasons, body=record.body, attributes={})
            telemetry.report("parked", counts={"Parked": 1}, reasons=reasons)
            return
        kept = keep_signals(batch, signals=signals, now=clock.now())
        telemetry.report("signals kept", counts={"SignalsKept": kept.total()}, fields=dict(kept))

    # Made anew each time: a processor remembers the failures of its last batch.
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(dict(event), keep, processor))


def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("signal")
    return handle(
        event,
        signals=wiring.signals(),
        parking=wiring.parking(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
    )
