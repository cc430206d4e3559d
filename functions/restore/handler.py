"""Restore: run by a person after the database was restored from a backup."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from sluice import wiring
from sluice.adapters.events import deadline_of
from sluice.adapters.journal import JournalReader
from sluice.adapters.postgres.restorations import Restorations
from sluice.adapters.telemetry import Telemetry
from sluice.domain.clock import Clock
from sluice.steps.restore import Restored, restore

QUESTION = (
    'tell {"restored_to": "<time of the backup>", "upto": "<when sending stopped>"}, both as '
    "2026-03-01T08:00:00Z; the first is before the second, and neither in the future"
)


def handle(
    event: Mapping[str, Any],
    *,
    journal: JournalReader,
    restorations: Restorations,
    telemetry: Telemetry,
    clock: Clock,
    deadline: float,
) -> dict[str, Any]:
    """Return how far it is, or ``{"problem": …}``; invoke it again until it is finished."""
    times = [_time(event.get(name)) for name in ("restored_to", "upto")]
    restored_to, upto = times
    if restored_to is None or upto is None or not restored_to < upto <= clock.now():
        return {"problem": QUESTION}
    restored = restore(
        restored_to,
        upto=upto,
        journal=journal,
        restorations=restorations,
        clock=clock,
        deadline=deadline,
    )
    answer = _told(restored)
    telemetry.report("restored", **{**answer, "held": len(restored.held)})
    return answer


def _told(restored: Restored) -> dict[str, Any]:
    restoration = restored.restoration
    return {
        "finished": restoration.finished,
        "passed_to": restoration.passed_to.isoformat(),
        "accepted": restoration.accepted,
        "doubted": restoration.doubted,
        "missing": dict(restoration.missing),
        "held": list(restored.held),
    }


def _time(text: object) -> datetime | None:
    """A time with its offset from UTC, or None."""
    try:
        at = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return at if at is not None and isinstance(at.utcoffset(), timedelta) else None


@wiring.discreet
def lambda_handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Run ``handle`` with the deployed adapters."""
    wiring.require("restore")
    clock = wiring.clock()
    return handle(
        event,
        journal=wiring.journal(),
        restorations=wiring.restorations(),
        telemetry=wiring.telemetry(),
        clock=clock,
        deadline=deadline_of(context, clock),
    )
