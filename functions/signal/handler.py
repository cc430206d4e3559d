"""Signal: everything that webhooks bring beside statuses, kept and acted upon."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_lambda_powertools.utilities.data_classes import SQSEvent

from sluice import metrics, wiring
from sluice.adapters.events import objects_in
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.conversations import Conversations
from sluice.adapters.postgres.limits import Limits
from sluice.adapters.postgres.signals import Signals
from sluice.adapters.postgres.stops import Stops
from sluice.adapters.postgres.suppressions import Suppressions
from sluice.adapters.postgres.templates import Templates
from sluice.adapters.queues import Parking, Subscribers
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.domain.words import Vocabulary
from sluice.steps.signal import Heeded, SignalKeeper


def handle(
    event: Mapping[str, Any],
    *,
    signals: Signals,
    suppressions: Suppressions,
    conversations: Conversations,
    subscribers: Subscribers,
    stops: Stops,
    vocabulary: Vocabulary,
    limits: Limits,
    templates: Templates,
    parking: Parking,
    telemetry: Telemetry,
    clock: Clock,
) -> dict[str, Any]:
    """Keep the signals of all messages and act upon them; a message that fails comes again."""
    messages: dict[str, Sequence[Mapping[str, Any]]] = {}
    for record in SQSEvent(dict(event)).records:
        found = objects_in(record.body, "signals")
        if found is None:
            reasons = ["not a message of signals"]
            parking.park(step="signal", reasons=reasons, body=record.body, attributes={})
            telemetry.report(
                "parked",
                counts={metrics.PARKED.name: 1},
                message_id=record.message_id,
                reasons=reasons,
            )
        else:
            messages[record.message_id] = found
    keeper = SignalKeeper(
        signals=signals,
        suppressions=suppressions,
        conversations=conversations,
        subscribers=subscribers,
        stops=stops,
        vocabulary=vocabulary,
        limits=limits,
        templates=templates,
    )
    heeded = keeper.heed(messages, now=clock.now(), fatal=DatabaseAwayError)
    _report(heeded, telemetry)
    return {"batchItemFailures": [{"itemIdentifier": name} for name in heeded.failures]}


def _report(heeded: Heeded, telemetry: Telemetry) -> None:
    telemetry.report(
        "signals kept",
        counts={
            "SignalsKept": heeded.kept.total(),
            "SignalsFailed": len(heeded.failures),
            "RepliesPublished": heeded.replies,
            metrics.NEEDS_PERSON.name: heeded.stops,
            **heeded.actions,
        },
        fields=dict(heeded.kept),
        # By their kind only: the database's words may repeat what somebody wrote.
        errors=sorted({type(error).__name__ for error in heeded.failures.values()}),
    )


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("signal")
    wiring.telemetry().begin(context)
    return handle(
        event,
        signals=wiring.signals(),
        suppressions=wiring.suppressions(),
        conversations=wiring.conversations(),
        subscribers=wiring.subscribers(),
        stops=wiring.stops(),
        vocabulary=wiring.vocabulary(),
        limits=wiring.limits(),
        templates=wiring.templates(),
        parking=wiring.parking(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
    )
