"""Partitions of a campaign of its own: made with it, dropped with it, each in one transaction."""

from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.errors import LockNotAvailable

from sluice.adapters.postgres.partitions import TABLES
from sluice.domain.limits import CAMPAIGNS_APART_MAX

LOCK_TIMEOUT: Final = "500ms"
"""Whoever comes after us waits as long as we wait for a lock: so not for long."""

LIKE = "CREATE TABLE {partition} (LIKE {table} INCLUDING ALL)"
# As of delivery_shared.
ROOM = """
ALTER TABLE {partition} SET (
    fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0
)
"""
COUNT = "SELECT count_deliveries_of(%s)"
ATTACH = """
ALTER TABLE {table} ATTACH PARTITION {partition} FOR VALUES FROM ({campaign_id}) TO ({after})
"""
APART = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'delivery'::regclass"
THERE = "SELECT to_regclass(%s) IS NOT NULL"
DROP = "DROP TABLE IF EXISTS {partitions}"

Connection = psycopg.Connection[tuple[Any, ...]]


def may_be_apart(connection: Connection) -> bool:
    """Whether another campaign may have partitions of its own: statements about all plan longer."""
    found = connection.execute(APART).fetchone()
    return found is not None and found[0] <= CAMPAIGNS_APART_MAX


def is_apart(connection: Connection, campaign_id: int) -> bool:
    """Whether the partitions of such a campaign are there."""
    found = connection.execute(THERE, (f"{TABLES[0]}_{campaign_id}",)).fetchone()
    return found is not None and bool(found[0])


def create_apart(connection: Connection, campaign_id: int) -> None:
    """Make the partitions of a campaign, in the transaction that makes the campaign.

    They are made beside the tables and attached empty, which stops neither readers nor writers.
    """
    for table in TABLES:
        names = {
            "table": sql.Identifier(table),
            "partition": sql.Identifier(f"{table}_{campaign_id}"),
            "campaign_id": sql.Literal(campaign_id),
            "after": sql.Literal(campaign_id + 1),
        }
        connection.execute(sql.SQL(LIKE).format(**names))
        if table == "delivery":
            connection.execute(sql.SQL(ROOM).format(**names))
            connection.execute(COUNT, (f"{table}_{campaign_id}",))
        connection.execute(sql.SQL(ATTACH).format(**names))


def drop_apart(connection: Connection, campaign_id: int) -> bool:
    """Drop the partitions of a campaign, all or none; False: somebody reads them, try again.

    Dropping one locks the whole table against everybody for a moment. Senders name partitions, so
    they hardly notice; what reads the whole (an export, a report) is waited for half a second.
    """
    partitions = sql.SQL(", ").join([sql.Identifier(f"{table}_{campaign_id}") for table in TABLES])
    try:
        with connection.transaction():
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (LOCK_TIMEOUT,))
            connection.execute(sql.SQL(DROP).format(partitions=partitions))
    except LockNotAvailable:
        return False
    return True
