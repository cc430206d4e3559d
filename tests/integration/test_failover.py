"""A database whose writer dies or is demoted in the middle of work, or that must be woken first."""

import tempfile
import threading
import time
from pathlib import Path

import pytest
from psycopg.errors import ReadOnlySqlTransaction

from local.cloud_api import ledger
from local.postgres import start_postgres
from sluice.adapters.postgres import connection
from sluice.adapters.postgres.connection import DatabaseAwayError
from sluice.adapters.postgres.migrate import migrate
from sluice.domain.audience import AudienceRow, Position
from sluice.domain.claim import Key
from tests.conftest import NUMBER, World, connect
from tests.integration.database_pair import Name, Pair
from tests.integration.roads import RunningClock, accepted, send, tell

AWAY_SECONDS = 2.0


@pytest.fixture
def pair(processes):
    with tempfile.TemporaryDirectory(prefix="sluice-pair-") as directory:
        Path(directory).chmod(0o755)
        writer = start_postgres(processes, run_directory=Path(directory))
        pair = Pair.start(processes, writer, Path(directory))
        database = connect(pair.name.url)
        migrate(database)
        database.close()
        yield pair
        pair.name.close()
        for server in (pair.writer, pair.standby):
            if server.process.popen.poll() is None:
                processes.kill(server.process)


@pytest.fixture
def world(pair):
    database = connect(pair.name.url)
    yield World(database)
    database.close()


def fail_over(pair, *, once):
    """As soon as ``once()`` is true the writer dies, and some time later there is another."""

    def run():
        while not once():
            time.sleep(0.01)
        pair.kill_writer()
        time.sleep(AWAY_SECONDS)
        pair.promote_standby()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_a_writer_that_dies_while_its_number_sends_costs_nobody_a_second_message(
    pair, world, graph
):
    graph.tell("config", numbers={NUMBER: {"messages_per_second": 1_000}})
    url, clock = f"{graph.url}/v25.0", RunningClock()
    before = len(ledger.requests(graph.ledger))
    campaign_id = world.campaign(500)
    chunks = [Key(campaign_id, seq) for c in world.queue(campaign_id, 500) for seq in c.seqs]
    failover = fail_over(pair, once=lambda: len(ledger.requests(graph.ledger)) > before + 100)

    sent = send(world, url, keys=chunks, clock=clock)
    failover.join()
    if sent.failure:
        send(world, url, keys=chunks, clock=clock)

    states = world.states(campaign_id)
    requests = ledger.requests(graph.ledger)[before:]
    assert states.get("done", 0) + states.get("sending", 0) + states.get("unknown", 0) == 500
    assert states["done"] == 500, "what was answered while the writer was away is recorded after"
    assert len({one.opaque_id for one in requests}) == len(requests) == 500
    assert world.counters_equal_rows()


def test_statuses_that_meet_a_dying_writer_are_written_once(pair, world):
    campaign_id = world.campaign(200)
    world.queue(campaign_id, 200)
    accepted(world, world.claim(campaign_id, range(1, 201)))
    failure = {"code": 131026, "title": "Message undeliverable"}
    failover = fail_over(pair, once=lambda: True)
    time.sleep(0.2)

    tell(world, campaign_id, *[failure] * 200)
    failover.join()

    assert world.database.fetch("SELECT status::text, count(*) FROM delivery GROUP BY 1") == [
        ("failed", 200)
    ]
    assert world.counters_equal_rows()


def test_a_load_goes_on_with_the_new_writer_and_has_everybody_once(pair, world):
    campaign_id = world.campaign(10)
    world.database.fetch("UPDATE campaign SET loaded_at = NULL")
    failover = None
    for start in range(10, 20_010, 2_000):
        rows = [
            AudienceRow(seq, f"+4915156{seq:06d}", {"name": "Ada"}, None, None)
            for seq in range(start + 1, start + 2_001)
        ]
        if start == 4_010:
            failover = fail_over(pair, once=lambda: True)
        before, after = Position(start, start), Position(start + 2_000, start + 2_000)
        world.loads.store(campaign_id, rows, start=before, end=after, etag="etag")
    assert failover is not None
    failover.join()

    assert world.database.fetch("SELECT count(*), max(seq) FROM delivery") == [(20_010, 20_010)]
    assert world.counters_equal_rows()


def test_a_writer_that_was_demoted_is_left_for_the_new_one(pair, world):
    campaign_id = world.campaign(3)
    old = world.database.fetch("SELECT inet_server_port()")
    pair.demote_writer()
    # Its name still leads to it for a while: who connects anew is not served either.
    moved = threading.Timer(1.0, pair.promote_standby)
    moved.start()

    with pytest.raises(ReadOnlySqlTransaction):
        world.queue(campaign_id)
    assert len(world.queue(campaign_id)) == 1

    moved.join()
    assert world.database.fetch("SELECT inet_server_port()") == [(pair.standby.port,)] != old


@pytest.fixture
def asleep(postgres):
    """The name of a database that is paused: it takes connections and says nothing."""
    name = Name(None)
    yield name
    name.close()


def test_a_database_that_is_woken_serves_who_waited(asleep, postgres):
    database = connect(asleep.url)
    awake = threading.Timer(6.0, setattr, (asleep, "target", postgres.port))
    awake.start()
    began = time.monotonic()

    assert database.fetch("SELECT 1") == [(1,)]

    assert 5.0 < time.monotonic() - began < 15.0, "longer than the patience of a deadlock"
    awake.join()
    database.close()


def test_one_that_sleeps_on_is_waited_for_once_and_then_given_up_soon(asleep, monkeypatch):
    monkeypatch.setattr(connection, "AWAY_SECONDS", 5.0)
    monkeypatch.setattr(connection, "PATIENCE_SECONDS", 1.0)
    database, waited = connect(asleep.url), []
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(DatabaseAwayError):
            database.fetch("SELECT 1")
        waited.append(time.monotonic() - began)

    assert 4.0 < waited[0] < 8.0
    assert max(waited[1:]) < 4.0, "libpq waits for two seconds at the least"


def test_nobody_waits_beyond_the_end_of_the_invocation(asleep):
    database = connect(asleep.url)
    database.give_up_at_latest(time.monotonic() + 1.0)
    began = time.monotonic()

    with pytest.raises(DatabaseAwayError):
        database.fetch("SELECT 1")

    assert time.monotonic() - began < 4.0


def test_while_the_database_sleeps_nothing_leaves_and_the_chunk_comes_again(
    asleep, database_url, graph, monkeypatch
):
    monkeypatch.setattr(connection, "AWAY_SECONDS", 2.0)
    awake = World(connect(database_url))
    campaign_id = awake.campaign(20)
    keys = [Key(campaign_id, seq) for c in awake.queue(campaign_id) for seq in c.seqs]
    before = len(ledger.requests(graph.ledger))
    sleeping = connect(asleep.url)
    awake.claims._database = sleeping

    sent = send(awake, f"{graph.url}/v25.0", keys=keys)

    assert isinstance(sent.failure, DatabaseAwayError)
    assert sent.unfinished == {0}
    assert len(ledger.requests(graph.ledger)) == before
    assert awake.states(campaign_id) == {"queued": 20}
    awake.database.close()
