"""Campaigns of large audiences lie apart: counted alike, found alike, and gone at once."""

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from time import perf_counter

import psycopg
import pytest

from sluice.adapters.postgres import apart, claims, picks, record, statuses
from sluice.adapters.postgres.campaigns import Campaigns
from sluice.adapters.postgres.claims import Claims
from sluice.adapters.postgres.gates import BEGINNING
from sluice.adapters.postgres.partitions import APART_FROM, TABLES
from sluice.domain.claim import Key
from sluice.domain.outcomes import Accepted, Failed
from sluice.domain.requests import CampaignRequest
from tests.conftest import NOW, NUMBER, TEMPLATE, connect
from tests.integration.postgres.test_erasures import other
from tests.integration.postgres.test_plans import explain
from tests.integration.postgres.test_statuses import apply, status
from tests.integration.postgres.test_statuses import record as write

__all__ = ["other"]

LEASE = NOW + timedelta(seconds=60)


@pytest.fixture
def pair(world):
    """A campaign that lies apart, and an ordinary one, both queued."""
    ids = world.campaign(3, name="large", large=True), world.campaign(3, name="small")
    for campaign_id in ids:
        world.queue(campaign_id)
    return ids


def partitions(database):
    """All tables of campaigns that lie apart."""
    query = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '_1[0-9]{9}$'"
    return {name for (name,) in database.fetch(query)}


def shape(database, table):
    """Its indexes, triggers and storage, as far as they do not name the table."""
    query = """
    SELECT ARRAY(SELECT regexp_replace(indexdef, '.* USING', '') FROM pg_indexes
                 WHERE tablename = relname ORDER BY 1),
           ARRAY(SELECT tgname::text || tgtype FROM pg_trigger WHERE tgrelid = oid ORDER BY 1),
           ARRAY(SELECT unnest(reloptions) ORDER BY 1), relispartition
    FROM pg_class WHERE relname = %s
    """
    return database.fetch(query, (table,))[0]


def test_a_campaign_that_lies_apart_has_rows_in_its_partitions_only(world, database, pair):
    large, small = pair

    assert large >= APART_FROM > small
    assert partitions(database) == {f"{table}_{large}" for table in TABLES}
    rows = {
        name: database.fetch(f"SELECT count(*) FROM {name}")[0][0]
        for name in (f"delivery_{large}", f"recipient_{large}", "delivery_shared", "delivery")
    }
    assert list(rows.values()) == [3, 3, 3, 6]


@pytest.mark.parametrize("table", TABLES)
def test_a_partition_is_made_as_the_shared_one(world, database, pair, table):
    assert shape(database, f"{table}_{pair[0]}") == shape(database, f"{table}_shared")


@pytest.mark.parametrize("named", ["delivery", "delivery_{}"])
def test_each_change_is_counted_once_whichever_table_it_names(world, database, pair, named):
    table = named.format(pair[0])

    database.fetch(
        f"UPDATE {table} SET state = 'done' WHERE campaign_id = %s AND seq = 1", pair[:1]
    )
    database.fetch(f"DELETE FROM {table} WHERE campaign_id = %s AND seq = 2", pair[:1])
    database.fetch(
        f"INSERT INTO {table} (campaign_id, seq, state) VALUES (%s, 9, 'failed')", pair[:1]
    )

    assert world.counters_equal_rows()
    assert world.states(pair[0]) == {"done": 1, "queued": 1, "failed": 1}


def test_a_claim_of_campaigns_that_lie_in_different_places_is_one(world, pair):
    keys = [Key(campaign_id, seq) for campaign_id in pair for seq in (1, 2, 3)]

    claim = world.claims.claim(keys, now=NOW, lease=LEASE)

    assert {row.key for row in claim.rows} == set(keys)
    assert world.counters_equal_rows()


def test_results_and_statuses_of_both_are_written_together(world, pair):
    keys = [Key(campaign_id, seq) for campaign_id in pair for seq in (1, 2, 3)]
    rows = world.claims.claim(keys, now=NOW, lease=LEASE).rows
    for row in rows:
        write(world, row, Accepted(f"wamid.{row.key.campaign_id}.{row.key.seq}"))

    written = apply(
        world,
        *(status(one, "delivered", seq=1) for one in pair),
        *(status(one, "failed", seq=2, errors=[{"code": 131026}]) for one in pair),
        {**status(pair[0], "read", seq=3, wamid=f"wamid.{pair[0]}.3"), "opaque": None},
    )

    assert (written.updates, written.reached) == (5, 5)
    assert [world.row(one, 1)["status"] for one in pair] == ["delivered"] * 2
    assert [world.row(one, 2)["error_code"] for one in pair] == [131026] * 2
    assert world.row(pair[0], 3)["status"] == "read"
    errors = "SELECT count(*) FROM delivery_error"
    assert world.database.fetch(errors) == [(2,)]
    assert world.database.fetch("SELECT count(*) FROM strike") == [(2,)]
    assert world.counters_equal_rows()


def test_a_campaign_that_lies_apart_goes_its_whole_way(world):
    campaign_id, rows = world.sending(3, large=True)
    write(world, rows[0], Accepted("wamid.1"))
    write(world, rows[1], Failed(131008, "missing"))
    later = NOW + timedelta(hours=1)

    for one in world.reconciliations.open_campaigns(now=later):
        world.reconciliations.doubt_stuck(one, now=later, limit=10)
        world.reconciliations.settle_unknown(one, now=later + timedelta(hours=1), limit=10)
        assert world.reconciliations.finish(one, now=later)

    assert world.states(campaign_id) == {"done": 1, "failed": 1, "unknown": 1}
    assert world.counters_equal_rows()


def end(database):
    database.fetch("UPDATE campaign SET state = 'finished', finished_at = now()")


def test_it_is_erased_by_dropping_its_partitions_and_its_counters_stay(world, database, pair):
    large, small = pair
    end(database)
    world.holdings.condemn(large, now=NOW)

    assert world.holdings.delete(large, limit=1) == len(TABLES)
    assert world.holdings.delete(large, limit=1) == 0

    assert partitions(database) == set()
    counted = "SELECT sum(deliveries)::int FROM campaign_counter WHERE campaign_id = %s"
    assert database.fetch(counted, (large,)) == [(3,)]
    assert world.states(small) == {"queued": 3}


def test_what_comes_late_for_dropped_partitions_is_harmless(world, database, pair):
    large, small = pair
    world.holdings._database.run(lambda connection: apart.drop_apart(connection, large))

    late = [Key(large, 1), Key(small, 1)]
    claimed = world.claims.claim(late, now=NOW, lease=LEASE).rows
    world.claims.release(late, now=NOW)
    written = apply(
        world,
        status(large, "failed", errors=[{"code": 131026}]),
        status(small, "read"),
    )

    assert [row.key for row in claimed] == [Key(small, 1)]
    assert (written.updates, written.reached) == (2, 1)
    assert world.row(small)["status"] == "read"


def test_partitions_that_somebody_reads_are_dropped_later_all_or_none(
    world, database, database_url, pair
):
    end(database)
    world.holdings.condemn(pair[0], now=NOW)
    with psycopg.connect(database_url) as reader:
        reader.execute("SELECT count(*) FROM rejected")

        assert world.holdings.delete(pair[0], limit=1) is None
        assert len(partitions(database)) == len(TABLES)

    assert world.holdings.delete(pair[0], limit=1) == len(TABLES)


def test_to_make_partitions_waits_for_no_sender(world, database_url, pair):
    with psycopg.connect(database_url) as sender, ThreadPoolExecutor() as pool:
        sender.execute("UPDATE delivery_shared SET zone = 0 WHERE campaign_id = %s", pair[1:])
        sender.execute("SELECT count(*) FROM delivery")

        made = pool.submit(world.campaign, 3, name="next", large=True).result(timeout=5)

    assert made >= APART_FROM


def test_partitions_are_dropped_while_a_sender_works_in_others(world, other, pair):
    sender, dropped = Claims(other, phone_number_id=NUMBER, lane="bulk"), Event()
    waits = []

    def work():
        while not dropped.is_set():
            began = perf_counter()
            sender.claim([Key(pair[1], 1)], now=NOW, lease=LEASE)
            waits.append(perf_counter() - began)

    with ThreadPoolExecutor() as pool:
        working = pool.submit(work)
        tries = [world.holdings.delete(pair[0], limit=1) for _ in range(5)]
        dropped.set()
        working.result(timeout=10)

    assert len(TABLES) in tries
    assert max(waits) < 2


def test_a_sender_does_not_wait_while_partitions_are_made(world, other, database_url, pair):
    claims_of = Claims(other, phone_number_id=NUMBER, lane="bulk")
    keys = [Key(campaign_id, 1) for campaign_id in pair]
    claims_of.claim([], now=NOW, lease=LEASE)
    with psycopg.connect(database_url) as maker, ThreadPoolExecutor() as pool:
        apart.create_apart(maker, APART_FROM + 500)

        claim = pool.submit(claims_of.claim, keys, now=NOW, lease=LEASE).result(timeout=5)

    assert len(claim.rows) == 2


def test_a_maker_that_dies_leaves_neither_campaign_nor_partition(world, database, monkeypatch):
    def die(connection, campaign_id):
        real(connection, campaign_id)
        raise RuntimeError("killed")

    real = apart.create_apart
    monkeypatch.setattr("sluice.adapters.postgres.campaigns.create_apart", die)
    with pytest.raises(RuntimeError):
        world.campaign(3, large=True)

    assert partitions(database) == set()
    assert Campaigns(database).find("reminder") is None


def test_published_twice_at_once_it_has_one_set_of_partitions(world, database, database_url):
    def publish(_):
        own = connect(database_url)
        try:
            return Campaigns(own).create(request, request_hash="a", now=NOW, large=True)
        finally:
            own.close()

    request = CampaignRequest.model_validate_json(json.dumps({
        "campaign": "twice", "template": TEMPLATE, "numbers": [NUMBER],
        "audience": {"s3": "s3://audiences/people.csv"},
    }))  # fmt: skip
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(publish, range(4)))

    assert len({one.campaign_id for one in found}) == 1
    assert partitions(database) == {f"{table}_{found[0].campaign_id}" for table in TABLES}


def test_where_many_lie_apart_the_next_one_is_ordinary(world, monkeypatch):
    monkeypatch.setattr(apart, "CAMPAIGNS_APART_MAX", 2)

    ids = [world.campaign(1, name=f"{place}", large=True) for place in range(3)]

    assert [one >= APART_FROM for one in ids] == [True, True, False]


def relations(found):
    return {node["Relation Name"] for node in found if "Relation Name" in node} - {
        "campaign", "number", "lane", "portfolio", "suppression", "conversation", "contact",
        "chunk", "refusal_counter",
    }  # fmt: skip


@pytest.mark.parametrize("step", ["claim", "record", "apply", "pick"])
def test_a_hot_statement_reads_the_partitions_of_its_campaign_and_no_others(
    world, database, pair, step
):
    large, _ = pair
    arrays = {"campaign_ids": [large], "seqs": [1]}
    statement, parameters, tables = {
        "claim": (claims.CLAIM, {**arrays, **claims.LANES, **CLAIM}, {"delivery", "recipient"}),
        "record": (record.RECORD, {**arrays, **RECORD}, {"delivery", "recipient", "message"}),
        "apply": (statuses.APPLY, {**arrays, **APPLY}, {"delivery"}),
        "pick": (picks.PICK, {"campaign_id": large, **PICK}, {"delivery"}),
    }[step]

    found = explain(database, statement, parameters, campaign_id=large)

    named = relations(found) - {f"delivery_error_{large}", f"recipient_{large}"}
    assert named | {f"recipient_{large}"} == {f"{t}_{large}" for t in {*tables, "recipient"}}


CLAIM = {
    "phone_number_id": NUMBER, "lane": "bulk", "now": NOW, "lease": LEASE, "suppressed": -3,
    "window_closed": -4, "margin": 600.0, "too_often": -5, "cap_messages": 2,
    "cap_since": NOW - timedelta(days=7), "climb": 0.05, "climb_seconds": 10.0,
}  # fmt: skip
RECORD = {
    "attempts": [1], "leases": [LEASE], "states": ["done"], "statuses": ["accepted"],
    "due_ats": [None], "burned": [True], "wamids": ["wamid.A"], "codes": [None],
    "details": [None], "now": NOW,
}  # fmt: skip
APPLY = {
    "attempts": [1], "statuses": ["sent"], "sent_ats": [NOW], "delivered_ats": [None],
    "read_ats": [None], "failed_ats": [None], "codes": [None], "pricings": [None],
    "retry_ats": [None],
}  # fmt: skip
PICK = {
    "phone_number_id": NUMBER, "lane": "bulk", "rows": 10, "size": 10, "zones": [0],
    "after": BEGINNING, "until": NOW, "now": NOW, "lost_at": NOW,
}  # fmt: skip
