"""Dispatch: every minute, and whenever it is woken, rounds while there is work."""

from collections.abc import Mapping, Sequence
from typing import Any

from sluice import metrics, wiring
from sluice.adapters.postgres.picks import Picks
from sluice.adapters.queues import Topic
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.dispatch import dispatch


def handle(
    _event: Mapping[str, Any],
    *,
    numbers: Sequence[Mapping[str, Any]],
    picks: Picks,
    topic: Topic,
    telemetry: Telemetry,
    clock: Clock,
) -> None:
    """Top the queues up."""
    done = dispatch(numbers=numbers, picks=picks, topic=topic, clock=clock)
    telemetry.report(
        "dispatched",
        counts={
            metrics.DISPATCHED.name: done.deliveries,
            "Chunks": done.chunks,
            "ChunksLeftOver": done.left_over,
            "Requeued": done.requeued,
            metrics.PORTFOLIOS_AT_LIMIT.name: len(done.at_limit),
        },
        rounds=done.rounds,
        at_limit=sorted(done.at_limit),
        campaign_ids=sorted(done.campaign_ids),
    )


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> None:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("dispatch")
    wiring.telemetry().begin(context)
    handle(
        event,
        numbers=wiring.numbers(),
        picks=wiring.picks(),
        topic=wiring.topic(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
    )
