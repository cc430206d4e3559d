"""Reconcile: every minute, what nobody else comes back to."""

from collections.abc import Mapping
from typing import Any

from sluice import wiring
from sluice.adapters.events import deadline_of
from sluice.adapters.postgres.reconciliations import Reconciliations
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.telemetry import Telemetry
from sluice.adapters.wake import Waker
from sluice.domain.clock import Clock
from sluice.steps.reconcile import reconcile


def handle(
    _event: Mapping[str, Any],
    *,
    reconciliations: Reconciliations,
    statuses: Statuses,
    waker: Waker,
    telemetry: Telemetry,
    clock: Clock,
    deadline: float,
) -> None:
    """Do one pass, and wake the dispatcher if rows became pending."""
    done = reconcile(
        reconciliations=reconciliations, statuses=statuses, clock=clock, deadline=deadline
    )
    telemetry.report(
        "reconciled",
        counts={
            **{name.capitalize(): count for name, count in done.changes.items()},
            "CampaignsFinished": len(done.finished),
            "OrphansAdopted": done.orphans,
        },
        finished=done.finished,
    )
    if done.wake:
        waker.wake()


def lambda_handler(event: Mapping[str, Any], context: Any) -> None:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("reconcile")
    clock = wiring.clock()
    handle(
        event,
        reconciliations=wiring.reconciliations(),
        statuses=wiring.statuses(),
        waker=wiring.waker(),
        telemetry=wiring.telemetry(),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
