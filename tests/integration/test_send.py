"""The sender on the real statements, in virtual time, with a Cloud API that answers as told."""

import itertools
import json
from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from sluice.domain.claim import Key
from sluice.domain.clock import FOREVER
from sluice.domain.direct import direct_send
from sluice.domain.gate import Gate
from sluice.domain.lanes import SlotPace
from sluice.domain.outcomes import (
    Accepted,
    Failed,
    PauseAccount,
    PauseCampaign,
    PauseNumber,
    Retry,
    Throttled,
    Unknown,
)
from sluice.domain.pairs import Pairs
from sluice.domain.requests import SendRequest, request_hash
from sluice.steps.send import Sender
from tests.conftest import NOW, NUMBER, OTHER_NUMBER

RATE = 40.0
GAP = 1 / RATE


@dataclass
class CloudApi:
    """Answers each request after ``latency`` seconds of the set clock, as ``answers`` say."""

    clock: object
    latency: float = 0.25
    threads: int = 80
    answers: dict = field(default_factory=dict)
    """By address; the others are accepted."""
    started: list = field(default_factory=list)
    """(monotonic seconds, address)"""
    running: list = field(default_factory=list)

    @property
    def in_flight(self):
        return len(self.running)

    @property
    def full(self):
        return self.in_flight >= self.threads

    def prepare(self):
        self.running.clear()

    def start(self, name, body, *, due_at):
        self.clock.advance(max(0.0, due_at - self.clock.monotonic()))
        self.started.append((self.clock.monotonic(), body["to"]))
        self.running.append((self.clock.monotonic() + self.latency, name, body["to"]))
        return self.clock.monotonic()

    def take(self, *, timeout_seconds):
        if self.running and timeout_seconds > 0:
            first = min(at for at, _, _ in self.running)
            wait = first - self.clock.monotonic()
            self.clock.advance(max(0.0, min(wait, timeout_seconds)))
        now = self.clock.monotonic()
        done = [entry for entry in self.running if entry[0] <= now]
        self.running = [entry for entry in self.running if entry[0] > now]
        return [
            (name, self.answers.get(to, Accepted(f"wamid.{to}.{name.attempt}")))
            for _, name, to in done
        ]


@pytest.fixture
def api(clock):
    return CloudApi(clock)


def sender(world, clock, api, *, timeout=60.0, claims=None, pairs=None):
    return Sender(
        phone_number_id=NUMBER,
        pace=SlotPace("bulk", 2, RATE, RATE),
        entered_at=clock.monotonic(),
        deadline=clock.monotonic() + timeout,
        claims=claims or world.claims,
        stops=world.stops,
        cloud_api=api,
        pairs=pairs or Pairs(),
        clock=clock,
        dice=lambda: 0.5,
    )


def chunks_of(world, campaign_id, rows=1_000):
    return [
        [Key(campaign_id, seq) for seq in chunk.seqs] for chunk in world.queue(campaign_id, rows)
    ]


def address(seq):
    return f"+4915155{seq:06d}"


def test_every_send_the_first_included_is_preceded_by_a_gap(world, clock, api):
    campaign_id = world.campaign(120)

    sent = sender(world, clock, api).send(chunks_of(world, campaign_id))

    times = [0.0, *(at for at, _ in api.started)]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert len(gaps) == sent.started == 120
    assert min(gaps) >= GAP - 1e-6
    assert world.states(campaign_id) == {"done": 120}
    assert world.counters_equal_rows()


def test_after_a_stall_nothing_is_caught_up(world, clock, api):
    campaign_id = world.campaign(100)
    stalls = iter([0.0, 3.0])

    class Slow:
        def __getattr__(self, name):
            return getattr(world.claims, name)

        def claim(self, keys, *, now, lease):
            clock.advance(next(stalls, 0.0))
            return world.claims.claim(keys, now=now, lease=lease)

    sender(world, clock, api, claims=Slow()).send(chunks_of(world, campaign_id))

    times = [at for at, _ in api.started]
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert max(gaps) >= 3.0
    assert min(gaps) >= GAP - 1e-6


def test_rows_are_claimed_a_second_of_work_at_a_time_and_recorded_every_second(world, clock, api):
    campaign_id = world.campaign(200)
    claims, records = [], []

    class Watched:
        def __getattr__(self, name):
            return getattr(world.claims, name)

        def claim(self, keys, *, now, lease):
            keys = list(keys)
            claims.append(len(keys))
            return world.claims.claim(keys, now=now, lease=lease)

        def record(self, results, *, now, patience_seconds):
            records.append((clock.monotonic(), len(results)))
            world.claims.record(results, now=now, patience_seconds=patience_seconds)

    sender(world, clock, api, claims=Watched()).send(chunks_of(world, campaign_id))

    assert claims == [40] * 5
    assert sum(size for _, size in records) == 200
    assert all(size <= 41 for _, size in records)


def test_chunks_that_come_again_send_nothing_again(world, clock, api):
    campaign_id = world.campaign(30)
    chunks = chunks_of(world, campaign_id)

    sender(world, clock, api).send(chunks + chunks)
    sender(world, clock, api).send(chunks)

    assert len(api.started) == 30


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Failed(131026, "no"), "failed"),
        (Unknown("read timeout"), "unknown"),
        (Retry(131000, "later", 5.0, 1.0, 60.0), "pending"),
    ],
)
def test_what_one_recipient_meets_concerns_nobody_else(world, clock, api, outcome, state):
    campaign_id = world.campaign(10)
    api.answers[address(4)] = outcome

    sent = sender(world, clock, api).send(chunks_of(world, campaign_id))

    assert world.states(campaign_id) == {"done": 9, state: 1}
    assert sent.outcomes[type(outcome).__name__] == 1
    assert not sent.unfinished


def test_a_throttled_number_waits_and_its_row_keeps_its_attempt(world, clock, api):
    campaign_id = world.campaign(80)
    api.answers[address(1)] = Throttled(130429, "Rate limit hit", 3.0)

    sent = sender(world, clock, api).send(chunks_of(world, campaign_id))

    times = [at for at, _ in api.started]
    assert max(b - a for a, b in itertools.pairwise(times)) >= 2.9
    assert world.states(campaign_id) == {"done": 79, "pending": 1}
    assert world.row(campaign_id, 1)["attempt"] == 0
    assert sent.codes == {130429: 1}
    assert world.database.fetch("SELECT pause_reason FROM number WHERE pause_reason <> ''") == [
        ("130429 Rate limit hit",)
    ]


def test_an_order_that_comes_while_the_number_waits_is_in_force_when_it_goes_on(world, clock, api):
    campaign_id = world.campaign(80)
    api.answers[address(1)] = Throttled(130429, "Rate limit hit", 8.0)
    chunks = chunks_of(world, campaign_id)

    def pause():
        if 4.0 < clock.monotonic() < 5.5:
            world.orders.command_campaign("reminder", state="paused", reason="wait")

    clock.meanwhile = pause
    sender(world, clock, api).send(chunks)

    assert max(at for at, _ in api.started) < 4.0
    assert set(world.states(campaign_id)) == {"done", "pending"}
    assert {row[0] for row in world.database.fetch(
        "SELECT attempt FROM delivery WHERE state = 'pending'"
    )} == {0}  # fmt: skip


@pytest.mark.parametrize("wait", [3600.0, None])
def test_a_number_that_is_paused_for_long_gives_its_rows_back(world, clock, api, wait):
    campaign_id = world.campaign(300)
    api.answers[address(1)] = PauseNumber(131048, "spam", wait)

    sent = sender(world, clock, api).send(chunks_of(world, campaign_id))

    states = world.states(campaign_id)
    assert states["done"] + states["pending"] == 300
    assert sent.started < 40
    assert world.row(campaign_id, 1)["attempt"] == 0
    assert not sent.unfinished
    (until,) = world.database.fetch(
        "SELECT paused_until FROM number WHERE phone_number_id = %s", (NUMBER,)
    )[0]
    assert until == (FOREVER if wait is None else until)
    assert world.counters_equal_rows()


def test_an_account_pause_stops_its_other_numbers(world, clock, api):
    campaign_id = world.campaign(10)
    api.answers[address(1)] = PauseAccount(190, "token")

    sender(world, clock, api).send(chunks_of(world, campaign_id))

    assert world.database.fetch(
        "SELECT phone_number_id FROM number WHERE paused_until > %s ORDER BY 1", (NOW,)
    ) == [(NUMBER,), (OTHER_NUMBER,)]


def test_a_template_error_stops_its_campaign_and_no_other(world, clock, api):
    bad = world.campaign(30, name="bad")
    good = world.campaign(30, name="good")
    for seq in range(1, 31):
        world.database.fetch(
            "UPDATE recipient SET address = %s WHERE campaign_id = %s AND seq = %s",
            (f"+4917{seq:08d}", bad, seq),
        )
    api.answers["+491700000001"] = PauseCampaign(132001, "no such template")

    sender(world, clock, api).send(chunks_of(world, bad) + chunks_of(world, good))

    assert world.states(good) == {"done": 30}
    assert world.states(bad)["pending"] >= 1
    report = world.reports.campaign("bad")
    assert (report["state"], report["reason"]) == ("paused", "132001 no such template")


def test_near_the_deadline_nothing_is_started_and_rows_go_back(world, clock, api):
    campaign_id = world.campaign(300)

    sent = sender(world, clock, api, timeout=20.0).send(chunks_of(world, campaign_id))

    assert max(at for at, _ in api.started) <= 20.0 - 13.0 - 5.0 + 1.0
    states = world.states(campaign_id)
    assert states["pending"] == 300 - sent.started
    assert not sent.unfinished
    assert world.counters_equal_rows()


def test_a_slow_api_makes_the_lane_wait_and_never_piles_up(world, clock):
    campaign_id = world.campaign(100)
    api = CloudApi(clock, latency=2.0, threads=10)

    sender(world, clock, api, timeout=60.0).send(chunks_of(world, campaign_id))

    assert (
        max(
            sum(1 for at, _ in api.started if start <= at < start + 2.0) for start, _ in api.started
        )
        <= 10
    )
    assert world.states(campaign_id) == {"done": 100}


def test_an_api_that_takes_a_second_costs_no_rate(world, clock):
    campaign_id = world.campaign(200)
    api = CloudApi(clock, latency=1.0, threads=80)

    sender(world, clock, api).send(chunks_of(world, campaign_id))

    times = [at for at, _ in api.started]
    assert len(times) / (max(times) - min(times)) == pytest.approx(RATE, rel=0.03)


def test_rows_that_could_not_leave_in_time_are_handed_back_not_sent(world, clock):
    campaign_id = world.campaign(40)
    api = CloudApi(clock, latency=9.0, threads=5)

    sender(world, clock, api, timeout=60.0).send(chunks_of(world, campaign_id))

    states = world.states(campaign_id)
    assert states == {"done": len(api.started), "pending": 40 - len(api.started)}
    assert world.row(campaign_id, 40)["attempt"] == 0


def test_without_the_database_nothing_leaves_and_the_chunks_come_again(world, clock, api):
    campaign_id = world.campaign(300)
    chunks = chunks_of(world, campaign_id)
    calls = iter(range(99))

    class Away:
        def __getattr__(self, name):
            return getattr(world.claims, name)

        def claim(self, keys, *, now, lease):
            if next(calls) >= 1:
                raise ConnectionError("the database is away")
            return world.claims.claim(keys, now=now, lease=lease)

    sent = sender(world, clock, api, claims=Away()).send(chunks)

    assert isinstance(sent.failure, ConnectionError)
    assert len(api.started) == 40
    assert sent.unfinished == {0, 1, 2}
    assert world.states(campaign_id) == {"done": 40, "queued": 260}


def test_results_that_cannot_be_recorded_leave_rows_for_statuses_to_settle(world, clock, api):
    campaign_id = world.campaign(10)

    class Mute:
        def __getattr__(self, name):
            return getattr(world.claims, name)

        def record(self, results, *, now, patience_seconds):
            raise ConnectionError("the database is away")

    sent = sender(world, clock, api, claims=Mute()).send(chunks_of(world, campaign_id))

    assert isinstance(sent.failure, ConnectionError)
    assert world.states(campaign_id) == {"sending": 10}


def test_a_row_that_cannot_be_rendered_fails_without_a_request(world, clock, api):
    campaign_id = world.campaign(3)
    world.database.fetch("UPDATE recipient SET parameters = '{}' WHERE seq = 2")

    sender(world, clock, api).send(chunks_of(world, campaign_id))

    assert [to for _, to in api.started] == [address(1), address(3)]
    row = world.row(campaign_id, 2)
    assert (row["state"], row["error_code"]) == ("failed", -2)


def test_a_sender_waits_a_short_pause_out(world, clock, api):
    campaign_id = world.campaign(5)
    chunks = chunks_of(world, campaign_id)
    world.orders.pause_number(NUMBER, until=NOW + timedelta(seconds=4), reason="130429")

    sender(world, clock, api).send(chunks)

    assert min(at for at, _ in api.started) >= 4.0
    assert world.states(campaign_id) == {"done": 5}


def test_after_a_throttle_the_number_goes_on_at_half_its_rate_and_climbs(world, clock, api):
    campaign_id = world.campaign(400)
    api.answers[address(1)] = Throttled(130429, "Rate limit hit", 3.0)

    sender(world, clock, api, timeout=120.0).send(chunks_of(world, campaign_id))

    times = [at for at, _ in api.started]
    slow = [at for at in times if 5.0 <= at < 9.0]
    later = [at for at in times if 11.0 <= at < 14.0]
    assert len(slow) / 4 == pytest.approx(RATE / 2, rel=0.1)
    assert len(later) / 3 == pytest.approx(RATE * 0.55, rel=0.1)


def test_a_storm_of_throttles_halves_the_rate_once(world, clock, api):
    campaign_id = world.campaign(60)
    for seq in range(1, 9):
        api.answers[address(seq)] = Throttled(130429, "Rate limit hit", 3.0)

    sender(world, clock, api).send(chunks_of(world, campaign_id))

    assert world.database.fetch(
        "SELECT rate_factor FROM number WHERE phone_number_id = %s", (NUMBER,)
    ) == [(0.5,)]


def test_many_failures_alike_stop_the_campaign_before_it_burns_its_audience(world, clock, api):
    campaign_id = world.campaign(500)
    for seq in range(1, 501):
        api.answers[address(seq)] = Failed(132012, "parameter format", systemic=True)

    sent = sender(world, clock, api).send(chunks_of(world, campaign_id))

    report = world.reports.campaign("reminder")
    assert report["state"] == "paused"
    assert report["reason"] == "10 failures in a row, the last one 132012 parameter format"
    # Ten, and what was in flight by then.
    assert sent.started <= 10 + RATE * api.latency + 2
    assert world.states(campaign_id)["failed"] == sent.started


MORNING = {"send_window": {"opens": "09:00", "closes": "09:01"}, "time_zone": "UTC"}
"""It closes a minute after NOW."""


def test_what_is_claimed_after_its_window_closed_is_handed_back_unburned(world, clock, api):
    campaign_id = world.campaign(100, **MORNING)
    chunks = chunks_of(world, campaign_id)
    clock.advance(61)

    sent = sender(world, clock, api).send(chunks)

    assert sent.started == 0
    assert world.states(campaign_id) == {"pending": 100}
    assert world.row(campaign_id)["attempt"] == 0
    assert world.counters_equal_rows()


def test_a_window_that_closes_while_rows_wait_stops_the_next_one(world, clock, api):
    campaign_id = world.campaign(200, **MORNING)
    chunks = chunks_of(world, campaign_id)
    clock.advance(58)

    sent = sender(world, clock, api).send(chunks)

    assert max(at for at, _ in api.started) < 60
    assert sent.started == pytest.approx(2 * RATE, abs=2)
    assert world.states(campaign_id) == {"done": sent.started, "pending": 200 - sent.started}
    assert world.counters_equal_rows()


def test_only_people_whose_own_window_is_open_are_sent_to(world, clock, api):
    campaign_id = world.campaign(10, zones=[None, "Asia/Tokyo"], **MORNING)
    chunks = [
        [Key(campaign_id, seq) for seq in chunk.seqs]
        for chunk in world.queue(campaign_id, gate=Gate(zones=(0, 1)))
    ]

    sender(world, clock, api).send(chunks)

    assert [to for _, to in api.started] == [address(seq) for seq in range(1, 11, 2)]
    assert world.states(campaign_id) == {"done": 5, "pending": 5}


def direct_sends(world, count):
    """So many direct sends to one person, queued; their chunks."""
    chunks = []
    for place in range(count):
        request = SendRequest.model_validate_json(json.dumps({
            "id": f"reply-{place}", "phone_number_id": NUMBER, "lane": "conversation",
            "recipients": [{"address": address(1)}],
            "message": {"type": "text", "text": {"body": "Yes."}},
        }))  # fmt: skip
        content = direct_send(request, phone_number_id=NUMBER, lane="conversation")
        hashed = request_hash(request)
        chunks.append(world.campaigns.store_direct(request, content, request_hash=hashed, now=NOW))
    return chunks


def test_a_burst_to_one_person_leaves_at_once_and_the_rest_is_spaced_unburned(world, clock, api):
    chunks = direct_sends(world, 8)

    sent = sender(world, clock, api).send(chunks)

    assert (sent.started, sent.spaced) == (5, 3)
    rows = world.database.fetch(
        "SELECT attempt, due_at FROM delivery WHERE state = 'pending' ORDER BY due_at"
    )
    assert [attempt for attempt, _ in rows] == [0, 0, 0]
    gaps = [later - earlier for (_, earlier), (_, later) in itertools.pairwise(rows)]
    assert all(abs(gap.total_seconds() - 6.0) < 0.1 for gap in gaps)


def test_the_next_invocation_remembers_whom_this_one_wrote_to(world, clock, api):
    pairs, chunks = Pairs(), direct_sends(world, 6)
    sender(world, clock, api, pairs=pairs).send(chunks[:5])

    sent = sender(world, clock, api, pairs=pairs).send(chunks[5:])

    assert (sent.started, sent.spaced) == (0, 1)


def test_a_message_that_was_spaced_leaves_when_its_time_has_come(world, clock, api):
    pairs, chunks = Pairs(), direct_sends(world, 6)
    sender(world, clock, api, pairs=pairs).send(chunks)
    ((campaign_id, due_at),) = world.database.fetch(
        "SELECT campaign_id, due_at FROM delivery WHERE state = 'pending'"
    )

    clock.moment = due_at
    (chunk,) = world.queue(campaign_id, now=due_at)
    keys = [Key(campaign_id, seq) for seq in chunk.seqs]
    sent = sender(world, clock, api, pairs=pairs).send([keys])

    assert (sent.started, sent.spaced) == (1, 0)
