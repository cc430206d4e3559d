"""What is kept of a campaign, and its deletion: batches by the key, and a row that stays."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import psycopg
from psycopg import sql

from sluice.adapters.postgres.apart import drop_apart, is_apart
from sluice.adapters.postgres.audit import ORDERED, note
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import APART_FROM, TABLES
from sluice.domain.audit import ENGINE, Entry, Origin, about_campaign
from sluice.domain.erasure import Finished

BY_POSITION: Final = {
    "message": "seq",
    "delivery_error": "seq",
    "rejected": "line",
    "delivery": "seq",
    "recipient": "seq",
}
"""Tables with rows for each recipient or line, and the column of the position."""
BY_CAMPAIGN: Final = ("campaign_progress", "chunk", "export", "resend")
"""Tables with a few rows for each campaign."""
OF_DIRECT: Final = "direct_send"
"""Direct sends go by their age."""
assert set(BY_POSITION) == set(TABLES), "what lies apart is dropped with its partition"
KEPT: Final = {
    "campaign": "says that there was one, and stops it from being sent again",
    "campaign_counter": "what became of it",
    "refusal_counter": "what became of it",
    "contact": "counts against limits of the person and the portfolio; goes within 30 days",
    "strike": "is about the person; goes within 30 days",
}
"""Tables that an erased campaign stays in."""

# The lowest position is asked for again each time, so a run that died needs no bookmark.
DELETE_LOWEST = """
DELETE FROM {table} WHERE campaign_id = %(campaign_id)s
  AND {position} < %(rows)s + (
      SELECT min({position}) FROM {table} WHERE campaign_id = %(campaign_id)s
  )
"""
DELETE_RANGE = """
DELETE FROM {table} WHERE campaign_id = %(campaign_id)s AND {position} BETWEEN %(first)s AND %(last)s
"""  # noqa: E501
DELETE_ALL = "DELETE FROM {table} WHERE campaign_id = %(campaign_id)s"

FIND = """
SELECT campaign_id, state, kind, finished_at IS NOT NULL FROM campaign WHERE campaign = %(campaign)s
"""
NOTE = """
INSERT INTO erasure (id, campaign, created_at) VALUES (%(id)s, %(campaign)s, %(now)s)
ON CONFLICT (id) DO UPDATE SET created_at = erasure.created_at
RETURNING campaign IS NOT DISTINCT FROM %(campaign)s
"""
# Loaded, so that no loader goes on; swept, so that nobody looks for its messages.
_CONDEMN = """
UPDATE campaign
SET state = 'erased', request = '{{}}', media = '{{}}', zones = '{{}}', sticky_numbers = '{{}}',
    reason = NULL, paused_until = NULL,
    loaded_at = COALESCE(loaded_at, %(now)s), swept_at = COALESCE(swept_at, %(now)s)
WHERE {which} AND kind = 'campaign' AND finished_at IS NOT NULL
  AND state IN ('finished', 'cancelled')
RETURNING campaign_id, campaign
"""
CONDEMN = _CONDEMN.format(which="campaign_id = %(campaign_id)s")
CONDEMN_OLD = _CONDEMN.format(which="finished_at <= %(before)s")
CONDEMNED = """
SELECT campaign_id FROM campaign WHERE state = 'erased' AND erased_at IS NULL ORDER BY 1
"""
ERASED_CAMPAIGN = """
UPDATE campaign SET erased_at = %(now)s
WHERE campaign_id = %(campaign_id)s AND state = 'erased' AND erased_at IS NULL
RETURNING campaign
"""
ERASED_NOTED = """
UPDATE erasure SET finished_at = %(now)s
WHERE finished_at IS NULL
  AND campaign = (SELECT campaign FROM campaign WHERE campaign_id = %(campaign_id)s)
"""

Connection = psycopg.Connection[tuple[Any, ...]]


class Holdings:
    """What the tables hold of campaigns."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, campaign: str) -> Finished | None:
        """Return whether the campaign of this client's id is over."""
        rows = self._database.fetch(FIND, {"campaign": campaign})
        return Finished(*rows[0]) if rows else None

    def note(self, erasure_id: str, campaign: str, *, now: datetime) -> bool:
        """Write down what is asked for; False: the id is of another erasure."""
        parameters = {"id": erasure_id, "campaign": campaign, "now": now}
        return bool(self._database.fetch(NOTE, parameters)[0][0])

    def condemn(self, campaign_id: int, *, origin: Origin = ENGINE, now: datetime) -> bool:
        """Make a campaign that is over an erased one; False: it is none, or was one before."""

        def work(connection: Connection) -> bool:
            with connection.transaction():
                connection.execute(ORDERED)
                parameters = {"campaign_id": campaign_id, "now": now}
                done = connection.execute(CONDEMN.encode(), parameters).fetchone()
                if done is not None:
                    note(connection, origin, Entry("erase", about_campaign(done[1]), {}))
            return done is not None

        return self._database.run(work)

    def condemn_old(self, *, before: datetime, now: datetime) -> list[int]:
        """Do the same with all that were over by then, and return them."""
        rows = self._database.fetch(CONDEMN_OLD, {"before": before, "now": now})
        return [row[0] for row in rows]

    def condemned(self) -> list[int]:
        """Return the erased campaigns that may still have rows."""
        return [row[0] for row in self._database.fetch(CONDEMNED)]

    def delete(self, campaign_id: int, *, limit: int) -> int | None:
        """Delete the next rows, up to ``limit`` positions of one table; 0: none are left.

        Of a campaign with partitions of its own they go at once, and tables are counted. None:
        somebody reads them just now.
        """
        if campaign_id >= APART_FROM:
            return self._database.run(lambda connection: _drop(connection, campaign_id))
        parameters = {"campaign_id": campaign_id, "rows": limit}
        for table, position in BY_POSITION.items():
            statement = _statement(DELETE_LOWEST, table, position)
            deleted = self._delete(statement, parameters)
            if deleted:
                return deleted
        return 0

    def erased(self, campaign_id: int, *, now: datetime) -> None:
        """Delete the last few rows, and write down that nothing is left."""
        parameters = {"campaign_id": campaign_id, "now": now}

        def work(connection: Connection) -> None:
            with connection.transaction():
                for table in BY_CAMPAIGN:
                    connection.execute(_statement(DELETE_ALL, table), parameters)
                connection.execute(ERASED_CAMPAIGN, parameters)
                connection.execute(ERASED_NOTED, parameters)

        self._database.run(work)

    def _delete(self, statement: sql.Composed, parameters: dict[str, Any]) -> int:
        return self._database.run(
            lambda connection: connection.execute(statement, parameters).rowcount
        )


def _drop(connection: Connection, campaign_id: int) -> int | None:
    if not is_apart(connection, campaign_id):
        return 0
    return len(TABLES) if drop_apart(connection, campaign_id) else None


def delete_positions(
    connection: Connection, campaign_id: int, ranges: Sequence[tuple[int, int]]
) -> int:
    """Delete what these positions (first, last) hold, in the caller's transaction."""
    deliveries = 0
    for first, last in ranges:
        parameters = {"campaign_id": campaign_id, "first": first, "last": last}
        for table, position in BY_POSITION.items():
            done = connection.execute(_statement(DELETE_RANGE, table, position), parameters)
            deliveries += done.rowcount * (table == "delivery")
    return deliveries


def _statement(text: str, table: str, position: str = "") -> sql.Composed:
    return sql.SQL(text).format(table=sql.Identifier(table), position=sql.Identifier(position))
