"""Dispatch tops up what is missing, from who may be sent, and loses no chunk."""

import contextlib
from datetime import timedelta

import pytest

from sluice.domain.claim import Key
from sluice.domain.limits import CHUNK_DELIVERIES_MAX
from sluice.steps.dispatch import dispatch
from tests.conftest import LANES, NOW, NUMBER, OTHER_NUMBER, World, connect

CONFIGURED = [
    {
        "phone_number_id": number,
        "account_id": "1",
        "portfolio_id": "1",
        "send_rate": 76.0,
        "lanes": {
            "conversation": {"send_rate": 15.2, "messages_at_once": 1},
            "bulk": {"send_rate": 76.0, "messages_at_once": 1},
        },
        "state": "active",
    }
    for number in (NUMBER, OTHER_NUMBER)
]


class Topic:
    """Remembers what was published, or fails."""

    def __init__(self):
        self.chunks = []
        self.broken = False

    def publish_chunks(self, chunks):
        if self.broken:
            raise ConnectionError("SNS is away")
        self.chunks += chunks


@pytest.fixture
def clock(world, clock):
    """Time in which the number's senders are at work, with chunks of others."""
    clock.meanwhile = lambda: claim_nothing(world, clock)
    clock.meanwhile()
    return clock


def claim_nothing(world, clock):
    """What a sender with a stale chunk does."""
    world.claims.claim([Key(999, 1)], now=clock.now(), lease=clock.now())


def run(world, clock, topic):
    return dispatch(numbers=CONFIGURED, picks=world.picks, topic=topic, clock=clock)


def test_a_backlog_is_filled_in_chunks_and_not_above_two_minutes(world, clock):
    campaign_id = world.campaign(20_000)
    topic = Topic()

    with world.picks.round(now=NOW) as current:
        backlog, *_ = current.backlogs()
        assert backlog.lack == 9_120
    done = run(world, clock, topic)

    assert done.deliveries == 9_120
    assert all(len(chunk.seqs) <= CHUNK_DELIVERIES_MAX for chunk in topic.chunks)
    assert world.states(campaign_id) == {"queued": 9_120, "pending": 10_880}
    assert world.counters_equal_rows()


def test_a_full_backlog_is_left_alone(world, clock):
    world.campaign(10_000)
    run(world, clock, Topic())
    topic = Topic()

    run(world, clock, topic)

    assert topic.chunks == []


def test_numbers_of_a_pool_pull_different_rows(world, clock):
    campaign_id = world.campaign(1_000, numbers=[NUMBER, OTHER_NUMBER])
    first = world.queue(campaign_id, 300)
    second = world.queue(campaign_id, 300, number=OTHER_NUMBER)

    taken = [seq for chunk in first + second for seq in chunk.seqs]

    assert len(taken) == len(set(taken)) == 600


def test_a_row_with_a_fixed_number_is_picked_by_that_number_only(world):
    campaign_id = world.campaign(10, numbers=[NUMBER, OTHER_NUMBER], fixed=OTHER_NUMBER)

    assert world.queue(campaign_id, 10) == []
    (chunk,) = world.queue(campaign_id, 10, number=OTHER_NUMBER)
    assert len(chunk.seqs) == 10


def test_two_dispatchers_do_not_fill_the_same_gap(world, database_url):
    world.campaign(10)
    other = World(connect(database_url))

    with world.picks.round(now=NOW) as first, other.picks.round(now=NOW) as second:
        assert first is not None
        assert second is None
    other.database.close()


def test_chunks_of_a_dispatcher_that_died_are_published_by_the_next(world, clock):
    campaign_id = world.campaign(250)
    topic = Topic()
    topic.broken = True
    with contextlib.suppress(ConnectionError):
        run(world, clock, topic)
    assert world.states(campaign_id) == {"queued": 250}

    topic.broken = False
    clock.sleep(60)
    done = run(world, clock, topic)

    assert done.left_over == 3
    assert sorted(seq for chunk in topic.chunks for seq in chunk.seqs) == list(range(1, 251))
    assert world.picks.left_over(before=clock.now() + timedelta(days=1), limit=9) == []


def test_nothing_is_picked_for_a_paused_number(world, clock):
    world.campaign(10)
    world.orders.pause_number(NUMBER, until=NOW + timedelta(hours=1), reason="spam")
    topic = Topic()

    run(world, clock, topic)

    assert topic.chunks == []


def drained(world, clock, topic):
    """A run with the first number draining."""
    numbers = [one | {"state": "draining"} for one in CONFIGURED[:1]] + CONFIGURED[1:]
    return dispatch(numbers=numbers, picks=world.picks, topic=topic, clock=clock)


def test_a_draining_number_is_given_nothing_and_sends_what_it_has(world, clock):
    campaign_id = world.campaign(10)
    world.picks.published(world.queue(campaign_id, 4))
    topic = Topic()

    drained(world, clock, topic)

    assert topic.chunks == []
    assert world.states(campaign_id) == {"queued": 4, "pending": 6}
    assert len(world.claim(campaign_id, range(1, 5))) == 4


def test_the_others_of_a_pool_take_over_from_a_draining_number(world, clock):
    campaign_id = world.campaign(10, numbers=[NUMBER, OTHER_NUMBER])
    topic = Topic()

    drained(world, clock, topic)

    assert {chunk.phone_number_id for chunk in topic.chunks} == {OTHER_NUMBER}
    assert world.states(campaign_id) == {"queued": 10}


def test_a_number_that_left_the_configuration_drains(world, clock):
    world.campaign(10)
    topic = Topic()

    dispatch(numbers=CONFIGURED[1:], picks=world.picks, topic=topic, clock=clock)

    assert topic.chunks == []
    states = world.database.fetch("SELECT phone_number_id, state FROM number ORDER BY 2")
    assert states == [(OTHER_NUMBER, "active"), (NUMBER, "draining")]


def test_a_campaign_waits_for_its_start_and_ends_at_its_expiry(world):
    world.campaign(5, start_at="2026-03-01T10:00:00Z", expires_at="2026-03-01T11:00:00Z")

    def demands(hours):
        with world.picks.round(now=NOW + timedelta(hours=hours)) as current:
            return current.demands()

    assert demands(0) == []
    assert [(demand.own, demand.free) for demand in demands(1)] == [(0, 5)]
    assert demands(2) == []


def test_a_deferrable_campaign_gets_what_the_others_leave(world, clock):
    later = world.campaign(9_000, name="offers", priority="deferrable")
    now = world.campaign(5_000, name="reminder")

    run(world, clock, Topic())

    assert world.states(now) == {"queued": 5_000}
    assert world.states(later) == {"queued": 4_120, "pending": 4_880}


def test_rows_that_are_not_due_leave_their_part_to_others(world, clock):
    waiting = world.campaign(9_000, name="waiting", now=NOW + timedelta(hours=1))
    ready = world.campaign(9_000, name="ready")

    run(world, clock, Topic())

    assert world.states(waiting) == {"pending": 9_000}
    assert world.states(ready)["queued"] >= 8_900


def test_a_run_goes_on_while_rows_wait_and_leaves_the_rest_to_the_next_minute(world, clock):
    world.campaign(10, now=NOW + timedelta(seconds=12))
    topic = Topic()

    done = run(world, clock, topic)

    assert done.deliveries == 10
    assert done.rounds == 10
    assert clock.monotonic() < 50


def test_rows_of_a_number_whose_senders_ask_for_nothing_get_new_chunks(world, clock):
    campaign_id = world.campaign(10)
    topic = Topic()
    clock.meanwhile = lambda: None

    done = run(world, clock, topic)

    assert done.requeued == 10
    assert len(topic.chunks) == 2
    assert world.states(campaign_id) == {"queued": 10}
    assert world.counters_equal_rows()


def test_new_chunks_are_not_published_over_and_over(world, clock):
    world.campaign(10)
    topic = Topic()
    clock.meanwhile = lambda: None
    run(world, clock, topic)
    assert len(topic.chunks) == 2

    for _ in range(5):
        run(world, clock, topic)

    assert len(topic.chunks) == 2
    clock.advance(600)
    run(world, clock, topic)
    assert len(topic.chunks) == 3


def test_a_number_whose_senders_are_at_work_keeps_its_chunks(world, clock):
    world.campaign(10)
    topic = Topic()

    done = run(world, clock, topic)

    assert done.requeued == 0
    assert len(topic.chunks) == 1


def test_an_empty_database_ends_the_run_at_once(world, clock):
    assert run(world, clock, Topic()).rounds == 1
    assert clock.slept == []


def test_a_number_as_configured_replaces_the_old_and_keeps_its_pause(world):
    world.orders.pause_number(NUMBER, until=NOW + timedelta(hours=1), reason="spam")

    lanes = {"bulk": {"send_rate": 950.0, "messages_at_once": 190}}
    world.configure(lanes={**LANES, **lanes})

    with world.picks.round(now=NOW + timedelta(hours=2)) as current:
        rates = {backlog.lane: backlog.send_rate for backlog in current.backlogs()}
    assert rates == pytest.approx({"bulk": 950.0, "conversation": 15.2})
    with world.picks.round(now=NOW) as current:
        assert {backlog.phone_number_id for backlog in current.backlogs()} == {OTHER_NUMBER}


def test_a_picked_row_can_be_claimed_by_its_chunk(world):
    campaign_id = world.campaign(130)
    (first, second) = world.queue(campaign_id, 130)

    claimed = world.claim(campaign_id, first.seqs)

    assert [row.key for row in claimed] == [Key(campaign_id, seq) for seq in first.seqs]
    assert len(second.seqs) == 30


def test_a_small_campaign_is_shared_by_its_pool(world, clock):
    campaign_id = world.campaign(1_000, numbers=[NUMBER, OTHER_NUMBER])

    run(world, clock, Topic())

    rows = world.database.fetch(
        "SELECT phone_number_id, count(*) FROM delivery WHERE campaign_id = %s"
        " GROUP BY 1 ORDER BY 1",
        (campaign_id,),
    )
    assert rows == [(NUMBER, 500), (OTHER_NUMBER, 500)]


def test_a_number_that_left_the_configuration_takes_no_more_work(world):
    world.picks.configure(CONFIGURED[:1])

    with world.picks.round(now=NOW) as current:
        assert {backlog.phone_number_id for backlog in current.backlogs()} == {NUMBER}


def test_a_campaign_whose_pause_is_over_goes_on_by_itself(world):
    campaign_id = world.campaign(5)
    world.stops.pause_campaign(campaign_id, until=NOW + timedelta(minutes=10), reason="134101")

    def demands(minutes):
        with world.picks.round(now=NOW + timedelta(minutes=minutes)) as current:
            return current.demands()

    assert demands(9) == []
    assert len(demands(10)) == 1
    assert world.reports.campaign("reminder")["state"] == "running"


def test_a_campaign_that_a_person_paused_does_not_go_on_by_itself(world):
    campaign_id = world.campaign(5)
    world.stops.pause_campaign(campaign_id, until=NOW + timedelta(minutes=10), reason="134101")
    world.orders.command_campaign("reminder", state="paused", reason="wait")

    with world.picks.round(now=NOW + timedelta(days=9)) as current:
        assert current.demands() == []


def test_a_throttled_number_is_given_less_work(world):
    world.stops.throttle_number(NUMBER, now=NOW)

    def rate(seconds):
        with world.picks.round(now=NOW + timedelta(seconds=seconds)) as current:
            return current.backlogs()[0].send_rate

    assert rate(0) == pytest.approx(38.0)
    assert rate(10) == pytest.approx(41.8)
    assert rate(1_000) == pytest.approx(76.0)


def test_a_small_campaign_is_cut_so_that_every_slot_gets_its_part(world, clock):
    world.campaign(800)
    configured = [{**number, "lanes": LANES} for number in CONFIGURED]
    topic = Topic()

    dispatch(numbers=configured, picks=world.picks, topic=topic, clock=clock)

    assert [len(chunk.seqs) for chunk in topic.chunks] == [50] * 16


def test_without_any_number_configured_all_of_them_drain(world):
    world.picks.configure([])

    with world.picks.round(now=NOW) as current:
        assert current.backlogs() == []
