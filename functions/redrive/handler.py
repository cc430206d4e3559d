"""Redrive: every minute, a few dead letters back to their queues."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sluice import metrics, wiring
from sluice.adapters.queues import Route
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.redrive import redrive


def handle(
    _event: Mapping[str, Any],
    *,
    routes: Sequence[Route],
    telemetry: Telemetry,
    clock: Clock,
    dice: Callable[[], float],
) -> None:
    """Move what this minute allows."""
    done = redrive(routes=routes, clock=clock, dice=dice)
    for route, error in done.failures.items():
        telemetry.fail("a route was not redriven", error, route=route)
    telemetry.report(
        "redriven",
        counts={
            metrics.REDRIVEN.name: sum(done.redriven.values()),
            metrics.PARKED.name: sum(done.parked.values()),
            metrics.REDRIVE_FAILURES.name: len(done.failures),
        },
        routes={**done.redriven, **{f"{name} parked": n for name, n in done.parked.items()}},
    )


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> None:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("redrive")
    wiring.telemetry().begin(context)
    handle(
        event,
        routes=wiring.routes(),
        telemetry=wiring.telemetry(),
        clock=wiring.clock(),
        dice=wiring.dice(),
    )
