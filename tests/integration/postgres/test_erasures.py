"""An erasure beside a sender: whoever holds the row first goes first."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from time import sleep

import psycopg
import pytest

from sluice.adapters.postgres.claims import Claims
from sluice.adapters.postgres.erasures import Erasures
from sluice.domain.claim import Key
from tests.conftest import NOW, NUMBER, connect

PERSON = "+4915155000001"
LEASE = NOW + timedelta(seconds=60)


@pytest.fixture
def other(database_url):
    """A second connection."""
    database = connect(database_url)
    yield database
    database.close()


def walk(erasures):
    erasures.begin("one", PERSON, forget_suppression=False, now=NOW)
    return erasures.walk_recipients("one", now=NOW, limit=100)


def blocked(database):
    """Wait until somebody waits for a lock."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
    for _ in range(200):
        if database.fetch(waiting)[0][0]:
            return
        sleep(0.02)
    raise AssertionError("nobody waits")


def test_an_erasure_that_waits_for_a_claim_leaves_the_row_to_its_sender(
    world, database, other, database_url
):
    campaign_id = world.campaign(3)
    world.queue(campaign_id)
    with psycopg.connect(database_url) as sender, ThreadPoolExecutor() as pool:
        sender.execute(
            "UPDATE delivery SET state = 'sending', attempt = 1, due_at = %s WHERE seq = 1",
            (LEASE,),
        )
        walking = pool.submit(walk, Erasures(other))
        blocked(database)
        sender.commit()
        walked = walking.result(timeout=10)

    assert walked.waits
    assert world.row(campaign_id)["state"] == "sending"
    assert database.fetch("SELECT count(*) FROM recipient") == [(3,)]


def test_a_claim_that_waits_for_an_erasure_claims_nothing_of_the_person(
    world, database, other, database_url
):
    campaign_id = world.campaign(3)
    world.queue(campaign_id)
    claims = Claims(other, phone_number_id=NUMBER, lane="bulk")
    keys = [Key(campaign_id, seq) for seq in (1, 2, 3)]
    with psycopg.connect(database_url) as eraser, ThreadPoolExecutor() as pool:
        eraser.execute("SELECT FROM delivery WHERE seq = 1 FOR UPDATE")
        eraser.execute("UPDATE delivery SET state = 'cancelled', due_at = NULL WHERE seq = 1")
        eraser.execute("DELETE FROM recipient WHERE seq = 1")
        claiming = pool.submit(claims.claim, keys, now=NOW, lease=LEASE)
        blocked(database)
        eraser.commit()
        claim = claiming.result(timeout=10)

    assert [row.key.seq for row in claim.rows] == [2, 3]
    assert world.row(campaign_id)["state"] == "cancelled"
    assert world.counters_equal_rows()


def test_two_runs_of_one_erasure_do_each_page_once(world, database, other):
    world.campaign(3)
    first, second = Erasures(database), Erasures(other)
    assert walk(first).more
    assert not second.walk_recipients("one", now=NOW, limit=100).more

    assert first.finish("one", now=NOW) == second.finish("one", now=NOW) == "none"

    assert database.fetch("SELECT deliveries, match_keys FROM erasure") == [(1, None)]
