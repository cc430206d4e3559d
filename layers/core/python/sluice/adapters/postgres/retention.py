"""What is deleted by its age: direct sends, signals, and what was written down about orders."""

from datetime import datetime, timedelta
from typing import Any, Final

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.holdings import delete_positions
from sluice.domain.limits import CHUNK_RECIPIENTS_MAX, UNDELIVERABLE_DAYS

DIRECT_CAMPAIGNS = "SELECT campaign_id FROM campaign WHERE kind = 'direct' ORDER BY 1"
# They stand in the order in which they came, so the walk ends at the first that is younger.
OLD_SENDS = """
SELECT id, seq_from, recipients, created_at <= %(before)s FROM direct_send
WHERE campaign_id = %(campaign_id)s ORDER BY seq_from LIMIT %(limit)s
"""
FORGET_SENDS = "DELETE FROM direct_send WHERE id = ANY (%(ids)s)"

_AGED = """
DELETE FROM {table} WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM {table} WHERE {old} {order} LIMIT %(limit)s
))
"""


def _aged(table: str, old: str, order: str = "") -> str:
    return _AGED.format(table=table, old=old, order=order)


BY_AGE: Final = {
    "signal": _aged("signal", "received_at <= %(before)s", "ORDER BY received_at"),
    "conversation": _aged("conversation", "last_inbound_at <= %(before)s"),
    "strike": _aged("strike", "failed_at <= %(strikes_before)s"),
    "export": _aged("export", "began_at <= %(before)s"),
    "suppression_rejected": _aged(
        "suppression_rejected",
        "id IN (SELECT id FROM suppression_list WHERE finished_at <= %(before)s)",
    ),
    # After its lines: what has none left.
    "suppression_list": _aged(
        "suppression_list",
        "finished_at <= %(before)s AND NOT EXISTS ("
        "SELECT FROM suppression_rejected AS line WHERE line.id = suppression_list.id)",
    ),
    "erasure": _aged("erasure", "finished_at <= %(before)s"),
}
"""Statements by table. Orphan statuses, contacts and progress are reconcile's, after days."""


class Retention:
    """Each call is one transaction of at most so many rows."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def direct_campaigns(self) -> list[int]:
        """Return the campaigns that hold direct sends; they never finish."""
        return [row[0] for row in self._database.fetch(DIRECT_CAMPAIGNS)]

    def forget_sends(self, campaign_id: int, *, before: datetime, limit: int) -> tuple[int, bool]:
        """Delete the oldest direct sends with their deliveries: how many of these, and if more."""
        sends = max(1, limit // CHUNK_RECIPIENTS_MAX)
        parameters = {"campaign_id": campaign_id, "before": before, "limit": sends}

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> tuple[int, bool]:
            with connection.transaction():
                rows = connection.execute(OLD_SENDS, parameters).fetchall()
                old = [row for row in rows if row[3]]
                if not old:
                    return 0, False
                first, last = old[0][1], old[-1][1] + old[-1][2] - 1
                deliveries = delete_positions(connection, campaign_id, [(first, last)])
                connection.execute(FORGET_SENDS, {"ids": [row[0] for row in old]})
            return deliveries, len(old) == sends

        return self._database.run(work)

    def forget(self, table: str, *, before: datetime, now: datetime, limit: int) -> int:
        """Delete up to ``limit`` rows of a table of BY_AGE that are that old."""
        parameters = {
            "before": before,
            "strikes_before": now - timedelta(days=UNDELIVERABLE_DAYS),
            "limit": limit,
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> int:
            return connection.execute(BY_AGE[table].encode(), parameters).rowcount

        return self._database.run(work)

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that have rows of an age."""
        return tuple(BY_AGE)
