"""The plan of each hot statement: it reads by an index, and as much as it needs."""

import json
from datetime import timedelta

import pytest

from sluice.adapters.postgres import (
    claims,
    conversations,
    picks,
    reconciliations,
    record,
    reports,
    resends,
    statuses,
)
from sluice.adapters.postgres.gates import BEGINNING
from sluice.adapters.postgres.partitions import in_partition
from sluice.adapters.postgres.stages import STAGED
from sluice.domain.summary import sample_of
from tests.conftest import NOW, NUMBER

ROWS = 60_000
LATER = NOW + timedelta(hours=1)
TABLES = ("delivery_shared", "recipient_shared")
DUE = "delivery_shared_campaign_id_state_phone_number_id_zone_due__idx"
"""What Postgres calls the index of due rows in that partition."""


@pytest.fixture
def large(world, database):
    """A campaign of 60,000, half of it done, analysed."""
    campaign_id = world.campaign(ROWS)
    database.fetch(
        "UPDATE delivery SET state = 'done', due_at = NULL, attempt = 1, phone_number_id = %s"
        " WHERE seq %% 2 = 0",
        (NUMBER,),
    )
    database.fetch("VACUUM ANALYZE delivery")
    database.fetch("ANALYZE recipient")
    return campaign_id


def nodes(plan):
    yield plan
    for child in plan.get("Plans", []):
        yield from nodes(child)


def explain(database, statement, parameters, *, campaign_id=0):
    """The nodes of the executed plan in the partitions of a campaign, rolled back."""

    def work(connection):
        with connection.transaction(force_rollback=True):
            rows = connection.execute(
                f"EXPLAIN (ANALYZE, FORMAT JSON) {in_partition(statement, campaign_id)}".encode(),
                parameters,
            ).fetchall()
        return rows[0][0]

    plan = database.run(work)
    plan = json.loads(plan) if isinstance(plan, str) else plan
    return list(nodes(plan[0]["Plan"]))


def read(found):
    """Rows that scans of the big tables looked at, kept or filtered out."""
    return sum(
        node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
        for node in found
        if node.get("Relation Name") in TABLES and "Scan" in node["Node Type"]
    )


def assert_by_index(found, rows_max):
    scans = {node["Node Type"] for node in found if node.get("Relation Name") in TABLES}
    assert "Seq Scan" not in scans
    assert read(found) <= rows_max


def test_a_claim_reads_its_rows_by_the_primary_key(large, database, world):
    world.queue(large, 100)
    seqs = list(range(1, 80, 2))

    found = explain(
        database,
        claims.CLAIM,
        {
            "campaign_ids": [large] * len(seqs),
            "seqs": seqs,
            **claims.LANES,
            "phone_number_id": NUMBER,
            "lane": "bulk",
            "now": NOW,
            "lease": NOW + timedelta(seconds=60),
            "suppressed": -3,
            "window_closed": -4,
            "margin": 600.0,
            "too_often": -5,
            "cap_messages": 2,
            "cap_since": NOW - timedelta(days=7),
            "climb": 0.05,
            "climb_seconds": 10.0,
        },
    )

    assert_by_index(found, rows_max=4 * len(seqs))


def test_a_record_reads_its_rows_by_the_primary_key(large, database):
    seqs = list(range(2, 82, 2))
    size = len(seqs)

    found = explain(
        database,
        record.RECORD,
        {
            "campaign_ids": [large] * size,
            "seqs": seqs,
            "attempts": [1] * size,
            "leases": [NOW] * size,
            "states": ["done"] * size,
            "statuses": ["accepted"] * size,
            "due_ats": [None] * size,
            "burned": [True] * size,
            "wamids": [f"wamid.{seq}" for seq in seqs],
            "codes": [None] * size,
            "details": [""] * size,
            "now": NOW,
        },
    )

    assert_by_index(found, rows_max=4 * size)


def test_statuses_read_their_rows_by_the_primary_key_and_are_hot(large, database):
    seqs = list(range(2, 402, 2))
    size = len(seqs)
    parameters = {
        "campaign_ids": [large] * size,
        "seqs": seqs,
        "attempts": [1] * size,
        "statuses": ["delivered"] * size,
        "sent_ats": [None] * size,
        "delivered_ats": [NOW] * size,
        "read_ats": [None] * size,
        "failed_ats": [None] * size,
        "codes": [None] * size,
        "pricings": [3] * size,
        "retry_ats": [None] * size,
    }

    found = explain(database, statuses.APPLY, parameters)
    assert_by_index(found, rows_max=4 * size)

    def updates(connection):
        connection.execute("SELECT pg_stat_force_next_flush()")
        return connection.execute(
            "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables"
            " WHERE relname = 'delivery_shared'"
        ).fetchone()

    before = database.run(updates)
    database.fetch(statuses.APPLY, parameters)
    after = database.run(updates)
    assert after[0] - before[0] == size
    assert after[1] - before[1] == size


def test_whose_user_id_it_is_is_learnt_by_the_primary_key(large, database):
    seqs = list(range(2, 402, 2))

    found = explain(
        database,
        conversations.LEARN_SENT,
        {
            "campaign_ids": [large] * len(seqs),
            "seqs": seqs,
            "user_ids": [f"DE.{seq}" for seq in seqs],
        },
    )

    assert_by_index(found, rows_max=2 * len(seqs))


def test_times_of_a_sample_are_read_by_the_primary_key(large, database):
    seqs = sample_of(ROWS, size=500)

    found = explain(database, reports.TIMES, {"campaign_id": large, "seqs": seqs})

    assert_by_index(found, rows_max=len(seqs))


@pytest.mark.parametrize(("zones", "number"), [(1, None), (40, None), (500, None), (40, NUMBER)])
def test_a_pick_reads_what_it_takes_from_the_index_of_due_rows(large, database, zones, number):
    database.fetch("UPDATE delivery SET zone = seq %% %s", (zones,))
    database.fetch(
        "UPDATE delivery SET phone_number_id = %s WHERE state = 'pending' AND seq %% 4 = 1",
        (number,),
    )
    database.fetch("VACUUM ANALYZE delivery")

    found = explain(
        database,
        picks.PICK,
        {
            "campaign_id": large,
            "phone_number_id": NUMBER,
            "lane": "bulk",
            "rows": 500,
            "size": 100,
            "zones": list(range(zones)),
            "after": BEGINNING,
            "until": NOW,
            "now": NOW,
            "lost_at": NOW,
        },
    )

    assert_by_index(found, rows_max=3 * 500)
    assert DUE in {node.get("Index Name") for node in found}


def test_asking_who_of_a_stage_came_back_reads_only_who_came_back(large, database):
    stages = [{"recipients": 500}]
    database.fetch("UPDATE campaign SET request = request || %s", (json.dumps({"stages": stages}),))
    database.fetch("UPDATE delivery SET due_at = %s, attempt = 1 WHERE seq = 1", (LATER,))

    found = explain(database, STAGED, {})

    assert_by_index(found, rows_max=10)


@pytest.mark.parametrize(
    "statement",
    [
        reconciliations.REQUEUE_LOST,
        reconciliations.DOUBT_STUCK,
        reconciliations.SETTLE_UNKNOWN,
    ],
)
def test_reconciling_reads_only_what_has_lapsed(large, database, statement):
    found = explain(
        database,
        statement,
        {
            "campaign_id": large,
            "numbers": [NUMBER],
            "now": NOW,
            "limit": 5000,
            "window_ends_at": NOW,
            "resend": True,
            "max_attempts": 5,
            "unanswered": -6,
        },
    )

    assert_by_index(found, rows_max=10)


def test_asking_whether_a_campaign_is_over_stops_at_the_first_open_row(large, database):
    found = explain(database, reconciliations.FINISH, {"campaign_id": large, "now": NOW})

    assert_by_index(found, rows_max=2)


def test_requeueing_an_idle_number_reads_only_its_queued_rows(large, database, world):
    world.queue(large, 100)

    found = explain(
        database,
        picks.REQUEUE_IDLE,
        {
            "campaign_id": large,
            "phone_number_id": NUMBER,
            "now": NOW,
            "lost_at": NOW + timedelta(hours=1),
        },
    )

    assert_by_index(found, rows_max=3 * 100)


@pytest.mark.parametrize("state", ["done", "failed"], ids=["nobody is taken", "many are"])
def test_an_order_to_send_again_reads_a_page_by_the_primary_key(large, database, state):
    database.fetch("UPDATE delivery SET state = %s WHERE state = 'done'", (state,))
    page = {"campaign_id": large, "after": 20_000, "upto": 21_000, "now": NOW}
    parameters = {**page, **resends.parameters_of("failed"), "refusal_codes": [-3]}

    assert_by_index(explain(database, resends.TAKE, parameters), rows_max=4_000)


def test_gauges_read_counters_and_no_delivery(large, database):
    gauges = explain(database, reconciliations.GAUGES, None)
    standing = explain(database, reconciliations.STANDING, {"forever": LATER})

    relations = {node["Relation Name"] for node in (*gauges, *standing) if "Relation Name" in node}
    assert relations <= {"campaign", "campaign_counter", "number"}
    assert read(gauges) == 0
    rows = database.fetch(reconciliations.GAUGES)
    assert {row[0] for row in rows} == {large}
    assert sum(row[6] for row in rows) == ROWS
