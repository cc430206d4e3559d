"""Signal: everything that webhooks bring beside statuses, kept and acted upon."""

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools.utilities.batch import (
    BatchProcessor,
    EventType,
    process_partial_response,
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from sluice import metrics, wiring
from sluice.adapters.events import objects_in
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.signals import Signals
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.postgres.suppressions import Suppressions
from sluice.adapters.queues import Parking
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.signal import Heeded, SignalKeeper


def handle(
    event: Mapping[str, Any],
    *,
    signals: Signals,
    suppressions: Suppressions,
    stops: Stops,
    parking: Parking,
    telemetry: Telemetry,
    clock: Clock,
) -> dict[str, Any]:
    """Keep each message's signals and act upon them; a message that fails comes again alone."""
    keeper = SignalKeeper(signals=signals, suppressions=suppressions, stops=stops)

    def heed(record: SQSRecord) -> None:
        batch = objects_in(record.body, "signals")
        if batch is None:
            reasons = ["not a message of signals"]
            parking.park(step="signal", reasons=reasons, body=record.body, attributes={})
            telemetry.report("parked", counts={"Parked": 1}, reasons=reasons)
            return
        heeded = keeper.heed(batch, now=clock.now(), fatal=DatabaseAwayError)
        _report(heeded, telemetry)
        if heeded.failures:
            raise heeded.failures[0]

    # Made anew each time: a processor remembers the failures of its last batch.
    processor = BatchProcessor(EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(dict(event), heed, processor))


def _report(heeded: Heeded, telemetry: Telemetry) -> None:
    telemetry.report(
        "signals kept",
        counts={
            "SignalsKept": heeded.kept.total(),
            "SignalsFailed": len(heeded.failures),
            metrics.NEEDS_PERSON: heeded.stops,
            **heeded.actions,
        },
        fields=dict(heeded.kept),
        # By their kind only: the database's words may repeat what somebody wrote.
        errors=sorted({type(error).__name__ for error in heeded.failures}),
    )


def lambda_handler(event: Mapping[str, Any], _context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("signal")
    return handle(
        event,
        signals=wiring.signals(),
        suppressions=wiring.suppressions(),
        stops=wiring.stops(),
        parking=wiring.parking(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
    )
