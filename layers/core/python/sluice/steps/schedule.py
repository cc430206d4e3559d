"""Schedule: recurring campaigns, put, changed and started."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from sluice.domain.audit import Entry, Origin, about_schedule
from sluice.domain.carried import Again, Carried, Done, Refused
from sluice.domain.models.schedule import (
    ScheduleChange,
    SchedulePut,
    ScheduleStart,
    campaign_of,
    schedule_of,
)
from sluice.domain.requests import request_hash
from sluice.domain.schedules import Decided, StoredSchedule, decide
from sluice.metrics import STARTS_SKIPPED

PATIENCE_RECEIVES = 5
RETRY_SECONDS = 15
"""What is about a schedule may overtake it: it waits for it about a minute."""


class Held(Protocol):
    """A schedule that nobody else changes meanwhile."""

    stored: StoredSchedule | None
    """None: there is none yet."""

    def obsolete(self, origin: Origin, entry: Entry) -> bool:
        """Whether an order was noted before, or overtaken by a newer one, which is noted now."""

    def note(self, origin: Origin, entry: Entry) -> None:
        """Note who did what to it."""

    def store(
        self,
        request: Mapping[str, Any],
        *,
        revision: int,
        request_hash: str,
        state: str,
        now: datetime,
    ) -> None:
        """Write the schedule as this revision has it."""

    def change(self, state: str, *, now: datetime) -> None:
        """Pause, resume or drop it."""

    def decided(self, at: datetime) -> Decided | None:
        """Return what became of a start; None: nothing yet."""

    def unfinished(self, at: datetime, *, now: datetime) -> str | None:
        """Return a campaign of another start that is not finished."""

    def record(self, at: datetime, decided: Decided, *, now: datetime) -> None:
        """Write what becomes of a start."""


class Schedules(Protocol):
    """Schedules, and what became of each start."""

    def held(self, schedule_id: str) -> AbstractContextManager[Held]:
        """Hold a schedule; what is written stays only if nothing fails meanwhile."""

    def published(self, schedule_id: str, at: datetime) -> None:
        """Remember that the campaign of a start was published."""


class Scheduler(Protocol):
    """EventBridge Scheduler."""

    def put(self, schedule: SchedulePut, *, enabled: bool, now: datetime) -> str | None:
        """Create the schedule, or make it so; returns why AWS refuses it."""

    def delete(self, schedule_id: str) -> None:
        """Delete the schedule, if there is one."""


class Topic(Protocol):
    """Where campaigns are published."""

    def publish_campaign(self, request: Mapping[str, Any], *, by: str) -> None:
        """Publish a message of kind=campaign; ``by`` says who does."""


def put(
    order: SchedulePut,
    *,
    origin: Origin,
    schedules: Schedules,
    scheduler: Scheduler,
    now: datetime,
) -> Carried:
    """Have AWS start it, then write it down; whoever dies between does both again.

    Of two revisions the higher one stays, in whatever order they come, and of a revision and a
    drop the one that was published last.
    """
    content = request_hash(order)
    shown = {name: getattr(order, name) for name in ("revision", "expression", "time_zone")}
    entry = Entry(order.action, about_schedule(order.id), shown)
    with schedules.held(order.id) as held:
        stored = held.stored
        if stored is not None and stored.revision >= order.revision:
            if stored.revision == order.revision and stored.request_hash != content:
                return Refused([f"revision {order.revision} exists with another content"])
            return Done({"schedule": order.id, "revision": stored.revision, "again": True})
        if stored is not None and held.obsolete(origin, entry):
            return Done({"schedule": order.id, "overtaken": True})
        if order.is_over(now):
            return Refused([f"{order.expression} is over"])
        state = "paused" if stored is not None and stored.state == "paused" else "active"
        refusal = scheduler.put(order, enabled=state == "active", now=now)
        if refusal is not None:
            return Refused([refusal])
        request = order.model_dump(mode="json")
        held.store(request, revision=order.revision, request_hash=content, state=state, now=now)
        held.note(origin, entry)
    return Done({"schedule": order.id, "revision": order.revision, "state": state})


_STATES = {"pause": "paused", "resume": "active", "drop": "dropped"}


def change(
    order: ScheduleChange,
    *,
    receives: int,
    origin: Origin,
    schedules: Schedules,
    scheduler: Scheduler,
    now: datetime,
) -> Carried:
    """Pause, resume or drop a schedule, at AWS first."""
    state = _STATES[order.action]
    entry = Entry(order.action, about_schedule(order.id), {})
    with schedules.held(order.id) as held:
        if held.stored is None:
            return _awaited(order.id, receives)
        if held.obsolete(origin, entry):
            return Done({"schedule": order.id, "state": held.stored.state, "again": True})
        if held.stored.state == "dropped" and order.action != "drop":
            return Refused([f"the schedule {order.id} is dropped"])
        if order.action == "drop":
            scheduler.delete(order.id)
        else:
            schedule = schedule_of(held.stored)
            refusal = scheduler.put(schedule, enabled=state == "active", now=now)
            if refusal is not None:
                return Refused([refusal])
        held.change(state, now=now)
        held.note(origin, entry)
    return Done({"schedule": order.id, "state": state})


def start(
    order: ScheduleStart,
    *,
    receives: int,
    origin: Origin,
    schedules: Schedules,
    topic: Topic,
    now: datetime,
) -> Carried:
    """Decide once what becomes of a start, and publish its campaign, which its id makes one."""
    counts = {}
    with schedules.held(order.id) as held:
        if held.stored is None:
            return _awaited(order.id, receives)
        decided = held.decided(order.at)
        if decided is None:
            unfinished = held.unfinished(order.at, now=now)
            reason = decide(held.stored, at=order.at, now=now, unfinished=unfinished)
            schedule = schedule_of(held.stored)
            decided = Decided(reason, None if reason else campaign_of(schedule, order))
            held.record(order.at, decided, now=now)
            told = {"at": order.at.isoformat(), "skipped": reason}
            held.note(origin, Entry(order.action, about_schedule(order.id), told))
            counts = {STARTS_SKIPPED.name if reason else "StartsPublished": 1}
    if decided.request is not None:
        topic.publish_campaign(decided.request, by=about_schedule(order.id))
        schedules.published(order.id, order.at)
    facts = {"schedule": order.id, "at": order.at.isoformat(), "skipped": decided.reason}
    return Done(facts, counts=counts)


def _awaited(schedule_id: str, receives: int) -> Again | Refused:
    reason = f"there is no {about_schedule(schedule_id)}"
    return Again(RETRY_SECONDS, reason) if receives < PATIENCE_RECEIVES else Refused([reason])
