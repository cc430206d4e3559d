"""What is kept of a campaign is listed, so that its deletion forgets no table."""

import pytest

from sluice.adapters.postgres import erasures, holdings
from sluice.adapters.postgres.holdings import BY_CAMPAIGN, BY_POSITION, KEPT, OF_DIRECT
from tests.conftest import NOW
from tests.integration.postgres.test_plans import explain, large

__all__ = ["large"]

COLUMNS = """
SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
  AND attname IN ('campaign_id', 'match_key', 'address', 'wamid')
"""
OF_PEOPLE = {
    "audience_person", "recipient", "message", "orphan_status", "contact", "strike",
    "conversation", "user_phone", "suppression",
}  # fmt: skip
"""Tables that an erasure of a person forgets, beside the bodies of signals."""


def test_every_table_with_rows_of_campaigns_is_deleted_from_or_kept_for_a_reason(database):
    tables = {table for table, column in database.fetch(COLUMNS) if column == "campaign_id"}

    assert tables == {*BY_POSITION, *BY_CAMPAIGN, OF_DIRECT, *KEPT}


def test_every_table_with_a_key_of_people_is_one_that_an_erasure_forgets(database):
    tables = {table for table, column in database.fetch(COLUMNS) if column != "campaign_id"}

    assert tables == OF_PEOPLE


def test_a_batch_is_deleted_by_the_key_from_the_lowest_position(large, database, world):
    world.database.fetch("DELETE FROM delivery WHERE seq <= 100")

    assert world.holdings.delete(large, limit=500) == 500
    assert world.database.fetch("SELECT min(seq), count(*) FROM delivery") == [(601, 59_400)]


@pytest.mark.parametrize("table", ["delivery", "recipient"])
def test_a_batch_reads_what_it_deletes(large, database, table):
    statement = holdings.DELETE_LOWEST.format(table=table, position="seq")

    found = explain(database, statement, {"campaign_id": large, "rows": 500})

    assert not [node for node in found if node["Node Type"] == "Seq Scan"]
    assert sum(
        node["Actual Rows"] for node in found if node.get("Relation Name") == f"{table}_shared"
        and "Scan" in node["Node Type"]
    ) <= 510  # fmt: skip


def test_a_page_of_an_erasure_is_read_by_the_key(large, database):
    parameters = {"campaign_id": large, "seq": 30_000, "keys": ["+4915155030001"], "limit": 1_000}

    found = explain(database, erasures.PAGE, parameters)

    (scan,) = (node for node in found if node.get("Relation Name") == "recipient_shared")
    assert scan["Node Type"] == "Index Scan"
    assert scan["Actual Rows"] == 1_000


def test_the_last_page_of_signals_is_read_by_their_order(database, world):
    world.signals.keep({f"{place}": {} for place in range(20_000)}, asking=(), now=NOW)
    database.fetch("ANALYZE signal")

    found = explain(
        database,
        erasures.SIGNALS,
        {"id": "x", "received_at": NOW, "digest": "0", "pattern": "x", "limit": 100},
    )

    scans = [node for node in found if node.get("Relation Name") == "signal"]
    assert "Seq Scan" not in {node["Node Type"] for node in scans}
