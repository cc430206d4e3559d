"""Dispatch: top every number's queue up to about two minutes of work, and no more."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Protocol

from sluice.domain.budget import Allowance
from sluice.domain.clock import Clock
from sluice.domain.gate import Gate
from sluice.domain.lanes import BULK, CONVERSATION, Lane
from sluice.domain.limits import (
    DISPATCH_RUN_SECONDS,
    DISPATCH_TICK_SECONDS,
)
from sluice.domain.topup import Demand, NumberBacklog, PickedChunk, plan

LEFT_OVER_TICKETS_MAX = 1_000
LEFT_OVER_SECONDS = 15.0
"""Much longer than publishing takes: nobody else is about to publish such a chunk."""
_ROUNDS_MAX = 3
"""A campaign that has less due than pending leaves its part to the others, so often."""


class Round(Protocol):
    """One top-up, in one transaction."""

    def backlogs(self) -> list[NumberBacklog]:
        """Return both lanes of every number that may send now."""

    def requeue_idle(self, phone_number_id: str, lane: Lane) -> int:
        """Return rows of a lane that lost its chunks to pending."""

    def demands(self) -> list[Demand]:
        """Return every campaign that may be sent now, for each number of its pool."""

    def allowances(self) -> list[Allowance]:
        """Return what the portfolios that have a daily limit have used of it."""

    def pick(
        self,
        phone_number_id: str,
        lane: Lane,
        campaign_id: int,
        *,
        rows: int,
        size: int,
        gate: Gate,
    ) -> list[PickedChunk]:
        """Queue up to so many due deliveries for the lane, in chunks of ``size``."""


class Picks(Protocol):
    """The dispatcher's side of the deliveries."""

    def configure(self, numbers: Sequence[Mapping[str, Any]]) -> None:
        """Write the numbers as the configuration has them."""

    def round(self, *, now: datetime) -> AbstractContextManager[Round | None]:
        """Open a round; None while another dispatcher has one open."""

    def left_over(self, *, before: datetime, limit: int) -> list[PickedChunk]:
        """Return chunks that nobody is known to have published."""

    def published(self, chunks: Sequence[PickedChunk]) -> None:
        """Forget chunks that the topic has taken."""


class Topic(Protocol):
    """Where chunks go."""

    def publish_chunks(self, chunks: Sequence[PickedChunk]) -> None:
        """Publish chunks to their numbers' queues."""


@dataclass(slots=True)
class Dispatched:
    """What a run did."""

    rounds: int = 0
    chunks: int = 0
    deliveries: int = 0
    left_over: int = 0
    """Chunks that an earlier dispatcher had picked and not published."""
    requeued: int = 0
    """Deliveries whose chunks were taken for lost: nobody asked for work, and there was some."""
    at_limit: set[str] = field(default_factory=set)
    """Portfolios whose daily limit is used up, while there is more to send."""

    campaign_ids: set[int] = field(default_factory=set)

    def add(self, chunks: Sequence[PickedChunk]) -> None:
        """Count published chunks."""
        self.campaign_ids |= {chunk.campaign_id for chunk in chunks}
        self.chunks += len(chunks)
        self.deliveries += sum(len(chunk.seqs) for chunk in chunks)


def dispatch(
    *, numbers: Sequence[Mapping[str, Any]], picks: Picks, topic: Topic, clock: Clock
) -> Dispatched:
    """Run rounds a few seconds apart while anything is pending or queued.

    Killed between a pick and its publication, the chunks stay stored and the next run publishes
    them; published twice, the second one finds nothing to claim.
    """
    picks.configure(numbers)
    stop_at = clock.monotonic() + DISPATCH_RUN_SECONDS
    done = Dispatched()
    while True:
        began_at = clock.monotonic()
        wanted = _tick(picks, topic, clock.now(), done)
        next_at = began_at + DISPATCH_TICK_SECONDS
        if not wanted or next_at >= stop_at:
            return done
        clock.sleep(next_at - clock.monotonic())


def _tick(picks: Picks, topic: Topic, now: datetime, done: Dispatched) -> bool:
    """Do one round; False when nothing is pending or queued anywhere."""
    left_over = picks.left_over(
        before=now - timedelta(seconds=LEFT_OVER_SECONDS), limit=LEFT_OVER_TICKETS_MAX
    )
    _publish(left_over, picks, topic)
    done.left_over += len(left_over)
    with picks.round(now=now) as current:
        if current is None:
            return True
        backlogs = current.backlogs()
        stranded = [one for one in backlogs if one.idle and one.queued]
        if stranded:
            done.requeued += sum(
                current.requeue_idle(one.phone_number_id, one.lane) for one in stranded
            )
            backlogs = current.backlogs()
        demands = current.demands()
        lacking = any(backlog.lack for backlog in backlogs)
        allowances = current.allowances() if demands and lacking else []
        done.at_limit |= _at_limit(allowances, demands)
        first = int(now.timestamp() / DISPATCH_TICK_SECONDS)
        # A person who waits for an answer is not held back. Whom a template answers still counts.
        chunks = _top_up(current, CONVERSATION, backlogs, demands, allowances=(), first=first)
        taken = Counter(chunk.phone_number_id for chunk in chunks for _ in chunk.seqs)
        allowances = [one.after(taken) for one in allowances]
        chunks += _top_up(current, BULK, backlogs, demands, allowances=allowances, first=first)
    _publish(chunks, picks, topic)
    done.rounds += 1
    done.add(chunks)
    return bool(demands) or any(backlog.queued for backlog in backlogs)


def _at_limit(allowances: Sequence[Allowance], demands: Sequence[Demand]) -> set[str]:
    wanting = {demand.phone_number_id for demand in demands if demand.lane == BULK}
    used_up = (one for one in allowances if not one.left)
    return {one.portfolio_id for one in used_up if wanting.intersection(one.phone_number_ids)}


def _top_up(
    current: Round,
    lane: Lane,
    backlogs: Sequence[NumberBacklog],
    demands: Sequence[Demand],
    *,
    allowances: Sequence[Allowance],
    first: int,
) -> list[PickedChunk]:
    chunks: list[PickedChunk] = []
    backlogs = [backlog for backlog in backlogs if backlog.lane == lane]
    demands = [demand for demand in demands if demand.lane == lane]
    sizes = {one.phone_number_id: one.chunk_size for one in backlogs}
    gates = {one.campaign_id: one.gate for one in demands}
    for _ in range(_ROUNDS_MAX):
        filled: set[tuple[str, int]] = set()
        taken: Counter[str] = Counter()
        planned = plan(backlogs, demands, allowances=allowances, first=first)
        for pick, rows in planned.items():
            number, campaign_id = pick
            size, gate = sizes[number](rows), gates[campaign_id]
            picked = current.pick(number, lane, campaign_id, rows=rows, size=size, gate=gate)
            found = sum(len(chunk.seqs) for chunk in picked)
            chunks += picked
            taken[number] += found
            if found == rows:
                filled.add(pick)
        if not filled:
            break
        backlogs = [
            replace(backlog, queued=backlog.queued + taken[backlog.phone_number_id])
            for backlog in backlogs
        ]
        allowances = [one.after(taken) for one in allowances]
        demands = [one for one in demands if (one.phone_number_id, one.campaign_id) in filled]
    return chunks


def _publish(chunks: Sequence[PickedChunk], picks: Picks, topic: Topic) -> None:
    if chunks:
        topic.publish_chunks(chunks)
        picks.published(chunks)
