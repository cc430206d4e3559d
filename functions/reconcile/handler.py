"""Reconcile: every minute, what nobody else comes back to."""

from collections.abc import Callable, Mapping
from typing import Any

from sluice import metrics, wiring
from sluice.adapters.events import deadline_of
from sluice.adapters.postgres.limits import Limits
from sluice.adapters.postgres.reconciliations import Reconciliations
from sluice.adapters.postgres.silences import Silences
from sluice.adapters.postgres.stages import Stages
from sluice.adapters.postgres.statuses import Statuses
from sluice.adapters.telemetry import Telemetry
from sluice.adapters.wake import Waker
from sluice.domain.clock import Clock
from sluice.domain.delivery import State
from sluice.domain.frequency import FrequencyCap
from sluice.domain.gauges import rows_in, told_apart
from sluice.steps.reconcile import Reconciled, reconcile


def handle(
    _event: Mapping[str, Any],
    *,
    reconciliations: Reconciliations,
    statuses: Statuses,
    stages: Stages,
    silences: Silences,
    limits: Limits,
    frequency_cap: FrequencyCap | None,
    waker: Waker,
    telemetry: Telemetry,
    clock: Clock,
    dice: Callable[[], float],
    deadline: float,
) -> None:
    """Do one pass, and wake the dispatcher if there is more to send."""
    done = reconcile(
        reconciliations=reconciliations,
        statuses=statuses,
        stages=stages,
        silences=silences,
        limits=limits,
        frequency_cap=frequency_cap,
        clock=clock,
        dice=dice,
        deadline=deadline,
    )
    telemetry.report(
        "reconciled",
        counts={
            **{name.capitalize(): count for name, count in done.changes.items()},
            **_gauges(done),
            "CampaignsFinished": len(done.finished),
            "StagesPassed": len(done.stages_passed),
            metrics.NEEDS_PERSON.name: len(done.stages_held),
            "OrphansAdopted": done.orphans,
            "DroppedInSilence": done.silent,
            "ContactsForgotten": done.forgotten,
        },
        finished=done.finished,
        stages_passed=done.stages_passed,
        stages_held=done.stages_held,
    )
    for gauge in told_apart(done.gauges):
        telemetry.report("campaign", **gauge.line())
    if done.wake:
        waker.wake()


def _gauges(done: Reconciled) -> dict[str, int]:
    return {
        metrics.ROWS_PENDING.name: rows_in(done.gauges, State.PENDING),
        metrics.ROWS_QUEUED.name: rows_in(done.gauges, State.QUEUED),
        metrics.ROWS_SENDING.name: rows_in(done.gauges, State.SENDING),
        metrics.ROWS_UNKNOWN.name: rows_in(done.gauges, State.UNKNOWN),
        metrics.ROWS_STUCK.name: done.changes["doubted"],
        metrics.NUMBERS_PAUSED.name: done.standing.numbers_paused,
        metrics.CAMPAIGNS_PAUSED.name: done.standing.campaigns_paused,
        metrics.AWAITING_APPROVAL.name: done.standing.awaiting_approval,
    }


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> None:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("reconcile")
    wiring.telemetry().begin(context)
    clock = wiring.clock()
    handle(
        event,
        reconciliations=wiring.reconciliations(),
        statuses=wiring.statuses(),
        stages=wiring.stages(),
        silences=wiring.silences(),
        limits=wiring.limits(),
        frequency_cap=wiring.frequency_cap(),
        waker=wiring.waker(),
        telemetry=wiring.telemetry(),
        clock=clock,
        dice=wiring.dice(),
        deadline=deadline_of(context, clock),
    )
