"""From a run that failed to the least that still fails."""

from collections.abc import Callable
from dataclasses import replace

from tests.simulation.faults import FAULTS
from tests.simulation.system import Plan


def shrunk(
    plan: Plan, fails: Callable[[Plan], bool], *, told: Callable[[str], None] = lambda _: None
) -> Plan:
    """Leave out people, time and kinds of faults, one after the other, while it still fails."""
    for recipients in (5, 20, 60):
        if recipients < plan.recipients and fails(replace(plan, recipients=recipients)):
            plan = replace(plan, recipients=recipients)
            break
    for seconds in (15.0, 60.0, 150.0):
        if seconds < plan.faults_seconds and fails(replace(plan, faults_seconds=seconds)):
            plan = replace(plan, faults_seconds=seconds)
            break
    for kind in FAULTS:
        less = replace(plan, without=(*plan.without, kind))
        if fails(less):
            plan = less
            told(f"without {kind} it fails too")
    return plan
