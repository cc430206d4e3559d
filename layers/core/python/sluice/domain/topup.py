"""How much work each number lacks, and how campaigns and numbers share what is pending."""

import heapq
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sluice.domain.budget import Allowance, Budgets
from sluice.domain.gate import OPEN_GATE, Gate
from sluice.domain.lanes import CONVERSATION, Lane
from sluice.domain.limits import (
    CHUNK_DELIVERIES_MAX,
    CHUNK_DELIVERIES_MIN,
    CHUNK_RECIPIENTS_MAX,
    DISPATCH_BACKLOG_SECONDS,
)


@dataclass(frozen=True, slots=True)
class NumberBacklog:
    """A lane of a number that may send now, and what already waits in its queue."""

    phone_number_id: str
    lane: Lane
    send_rate: float
    """Sends per second of all the lane's slots, the most that they may."""
    queued: int
    idle: bool = False
    """Its senders have asked for no work for a while."""
    messages_at_once: int = 1
    """Queue messages that all its slots take in one go."""

    @property
    def lack(self) -> int:
        """Deliveries missing to a full backlog; at least a chunk where the rate is tiny."""
        target = max(CHUNK_DELIVERIES_MAX, round(self.send_rate * DISPATCH_BACKLOG_SECONDS))
        return max(0, target - self.queued)

    def chunk_size(self, rows: int) -> int:
        """Return how many of ``rows`` go into a chunk, so that every slot gets its part of few."""
        part = -(-rows // self.messages_at_once)
        return max(CHUNK_DELIVERIES_MIN, min(chunk_deliveries_max(self.lane), part))


@dataclass(frozen=True, slots=True)
class Demand:
    """What a number may send of a campaign."""

    phone_number_id: str
    lane: Lane
    campaign_id: int
    deferrable: bool
    own: int
    """Pending deliveries that only this number may send."""
    free: int
    """Pending deliveries that any number of the campaign may send."""
    gate: Gate = OPEN_GATE
    """How far the campaign is open now."""

    def through(self, gate: Gate) -> "Demand":
        """Return what is left of the demand where the campaign is open only so far."""
        return replace(self, own=gate.part_of(self.own), free=gate.part_of(self.free), gate=gate)


@dataclass(frozen=True, slots=True)
class PickedChunk:
    """A chunk that was picked and must be published: "look at these deliveries"."""

    chunk_id: int
    campaign_id: int
    phone_number_id: str
    lane: Lane
    seqs: tuple[int, ...]


def chunk_deliveries_max(lane: Lane) -> int:
    """Return how many deliveries a message in the lane's queue may hold."""
    return CHUNK_RECIPIENTS_MAX if lane == CONVERSATION else CHUNK_DELIVERIES_MAX


Pick = tuple[str, int]
"""(phone_number_id, campaign_id)"""


def plan(
    backlogs: Sequence[NumberBacklog],
    demands: Sequence[Demand],
    *,
    allowances: Sequence[Allowance] = (),
    first: int = 0,
) -> Mapping[Pick, int]:
    """Return how many deliveries each number shall take of each campaign, no zeros.

    Both are of one lane. Chunk by chunk, the number with the fewest seconds of work is next, and
    takes from its campaigns in turn: so a pool ends together, and a large campaign does not starve
    a small one. Deferrable campaigns get what the others leave. The numbers of a portfolio never
    take more than it has left. ``first`` says who begins where all are equal: another one each
    time, so that of a budget that comes back row by row everybody gets a part.
    """
    planned: Counter[Pick] = Counter()
    waiting = {demand.phone_number_id for demand in demands}
    budgets = Budgets(allowances, waiting=waiting & {one.phone_number_id for one in backlogs})
    for deferrable in (False, True):
        wanted = [demand for demand in demands if demand.deferrable is deferrable]
        _share(backlogs, wanted, planned, budgets, first)
    return planned


def _share(
    backlogs: Sequence[NumberBacklog],
    demands: Sequence[Demand],
    planned: Counter[Pick],
    budgets: Budgets,
    first: int,
) -> None:
    own = {(demand.phone_number_id, demand.campaign_id): demand.own for demand in demands}
    free = {demand.campaign_id: demand.free for demand in demands}
    turns = {
        backlog.phone_number_id: deque(
            demand.campaign_id
            for demand in demands
            if demand.phone_number_id == backlog.phone_number_id
        )
        for backlog in backlogs
    }
    for campaigns in turns.values():
        campaigns.rotate(-(first // max(1, len(backlogs))))
    place = {
        backlog.phone_number_id: (index + first) % len(backlogs)
        for index, backlog in enumerate(backlogs)
    }
    by_number = {backlog.phone_number_id: backlog for backlog in backlogs}
    taken: Counter[str] = Counter()
    for (number, _), rows in planned.items():
        taken[number] += rows
    heap = [
        ((backlog.queued + taken[number]) / backlog.send_rate, place[number], number)
        for number, backlog in by_number.items()
    ]
    heapq.heapify(heap)
    while heap:
        _, _, number = heapq.heappop(heap)
        backlog, turn = by_number[number], turns[number]
        lack = budgets.grant(number, min(CHUNK_DELIVERIES_MAX, backlog.lack - taken[number]))
        if lack <= 0 or not turn:
            continue
        campaign_id = turn[0]
        pick = (number, campaign_id)
        rows = min(lack, own[pick] + free[campaign_id])
        from_own = min(rows, own[pick])
        own[pick] -= from_own
        free[campaign_id] -= rows - from_own
        turn.rotate(-1)
        if own[pick] + free[campaign_id] == 0:
            turn.remove(campaign_id)
        if rows:
            planned[pick] += rows
            taken[number] += rows
            budgets.take(number, rows)
        seconds = (backlog.queued + taken[number]) / backlog.send_rate
        heapq.heappush(heap, (seconds, place[number], number))
