"""Both lanes of a number in virtual time, on the real claims: no second ever holds too much.

Slots start, stall, die and start again at random; their clocks differ; the answers of the database
take their time. A slot is a generator: it yields the moment at which it goes on.
"""

import heapq
import random
from collections.abc import Generator
from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from local.cloud_api.ledger import fullest_window
from sluice.adapters.postgres.claims import Claims
from sluice.domain.claim import Claim
from sluice.domain.lanes import BULK, CONVERSATION, LANES, SlotPace
from sluice.domain.limits import SKEW_SECONDS_MAX
from tests.conftest import NOW, NUMBER

CAP = 80
SLOTS = 2
OWN = {BULK: 32.0, CONVERSATION: 8.0}
LENT = {BULK: 40.0, CONVERSATION: 8.0}
"""A pace factor of one: nothing is left over that would hide a mistake."""
SECONDS = 90.0

Slot = Generator[float, float, None]


class Number:
    """A number in virtual seconds, and when each lane sent."""

    def __init__(self, world, seed, *, waits=True, smooth=False):
        self.dice = random.Random(seed)
        self.smooth = smooth
        """Without stalls and slow answers, so that every gap is as short as it may be."""
        self.waits = waits
        """Whether a conversation waits out what was lent: False is a mistake that must be seen."""
        self.claims = {
            lane: Claims(world.database, phone_number_id=NUMBER, lane=lane) for lane in LANES
        }
        self.sends = {lane: [] for lane in LANES}
        self.waited = []
        """Seconds from the entry of each conversation's invocation to its first send."""

    def run(self, *, talk=True):
        slots = [self.bulk() for _ in range(SLOTS)]
        slots += [self.conversation() for _ in range(SLOTS if talk else 0)]
        order = count()
        heap = [(next(slot), next(order), slot) for slot in slots]
        heapq.heapify(heap)
        while heap[0][0] < SECONDS:
            at, _, slot = heapq.heappop(heap)
            heapq.heappush(heap, (slot.send(at), next(order), slot))
        return self

    def bulk(self) -> Slot:
        """Always at work, in invocations of any length."""
        skew = self.skew()
        at = yield self.dice.random()
        while True:
            pace, last = self.pace(BULK), at
            stop_at = at + self.dice.uniform(0.1, 20.0)
            while at < stop_at:
                at = yield from self.ask(pace, at, skew)
                for _ in range(pace.rows(at)):
                    at = yield pace.due(last, at + self.stall())
                    self.sends[BULK].append(at)
                    last = at
            at = yield at + self.dice.choice([0.0, 0.01, 0.01, 1.0])

    def conversation(self) -> Slot:
        """Now and then, a few messages."""
        skew = self.skew()
        at = yield self.dice.uniform(3.0, 10.0)
        while True:
            pace, last, entered_at = self.pace(CONVERSATION), at, at
            for turn in range(self.dice.randint(1, 12)):
                if turn == 0 or pace.must_ask(at) or self.dice.random() < 0.1:
                    at = yield from self.ask(pace, at, skew)
                at = yield pace.due(last, at + self.stall())
                self.sends[CONVERSATION].append(at)
                last = at
                if turn == 0:
                    self.waited.append(at - entered_at)
            at = yield at + self.dice.choice([0.0, 5.0, 25.0, 25.0])

    def ask(self, pace, asked_at, skew) -> Generator[float, float, float]:
        """Claim nothing, for the sake of the answer; return when it was there."""
        at = yield asked_at + self.latency()
        now = NOW + timedelta(seconds=asked_at + skew)
        claim = self.claims[pace.lane].claim((), now=now, lease=now)
        at = yield at + self.latency()
        pace.heed(self.heard(claim, pace.lane), asked_at=asked_at, answered_at=at)
        return at

    def heard(self, claim: Claim, lane) -> Claim:
        return claim if self.waits or lane == BULK else replace(claim, lent=False)

    def pace(self, lane) -> SlotPace:
        return SlotPace(lane, SLOTS, OWN[lane], LENT[lane])

    def skew(self):
        return self.dice.uniform(-0.5, 0.5) * SKEW_SECONDS_MAX

    def latency(self):
        return 0.002 if self.smooth else self.dice.choice([0.001, 0.002, 0.005] * 10 + [0.2, 1.5])

    def stall(self):
        return 0.0 if self.smooth else self.dice.choice([0.0] * 600 + [0.005, 0.1, 0.6])

    def fullest(self):
        return fullest_window(sorted([*self.sends[BULK], *self.sends[CONVERSATION]]), CAP)


@pytest.mark.parametrize("smooth", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_no_second_is_over_the_cap_while_both_lanes_start_and_stop(world, seed, smooth):
    number = Number(world, seed, smooth=smooth).run()

    most, over = number.fullest()
    assert over == 0, f"{most} in a second"
    assert len(number.sends[CONVERSATION]) > 20
    assert len(number.sends[BULK]) > 1_000


def test_a_conversation_that_did_not_wait_would_be_seen(world):
    number = Number(world, 1, waits=False, smooth=True).run()

    assert number.fullest()[1] > 0


def test_while_nobody_talks_bulk_uses_the_whole_rate(world):
    number = Number(world, 1, smooth=True)
    number.dice.choice = lambda _: 0.0  # the next invocation begins at once

    sends = number.run(talk=False).sends[BULK]

    assert len(sends) / SECONDS > 0.97 * SLOTS * LENT[BULK]


@pytest.mark.parametrize("seed", range(5))
def test_who_talks_waits_less_than_two_seconds(world, seed):
    assert max(Number(world, seed, smooth=True).run().waited) < 2.0
