"""Loading an audience: segments by COPY, each with the progress that it makes."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.domain.audience import AudienceRow, Position, RejectedRow, Row
from sluice.domain.suppressions import match_key

# The progress is compared before it is moved: of two loaders of one campaign, one stops.
ADVANCE = """
UPDATE campaign
SET loaded_bytes = %(offset)s, loaded_rows = %(line)s, audience_etag = %(etag)s
WHERE campaign_id = %(campaign_id)s AND loaded_at IS NULL AND state <> 'cancelled'
  AND loaded_bytes = %(from_offset)s AND loaded_rows = %(from_line)s
RETURNING campaign_id
"""
COPY_RECIPIENTS = "COPY recipient (campaign_id, seq, address, match_key, parameters) FROM STDIN"
COPY_DELIVERIES = """
COPY delivery (campaign_id, seq, state, number_fixed, phone_number_id, due_at) FROM STDIN
"""
COPY_REJECTED = "COPY rejected (campaign_id, line, reason) FROM STDIN"

# By the key, not the address: a person whose number is written in two ways is one person.
DROPPED = """
CREATE TEMPORARY TABLE dropped ON COMMIT DROP AS
SELECT seq, COALESCE('suppressed: ' || stop.reason, 'the same person as in line ' || first) AS why
FROM (
    SELECT seq, match_key, min(seq) OVER (PARTITION BY match_key) AS first
    FROM recipient WHERE campaign_id = %(campaign_id)s
) AS placed
LEFT JOIN (
    SELECT DISTINCT ON (match_key) match_key, reason
    FROM suppression
    WHERE NOT lifted AND (scope = 'all' OR (
        SELECT request ->> 'category' = 'marketing' FROM campaign
        WHERE campaign_id = %(campaign_id)s
    ))
    ORDER BY match_key, scope
) AS stop USING (match_key)
WHERE seq <> first OR stop.reason IS NOT NULL
"""
REJECT_DROPPED = """
INSERT INTO rejected (campaign_id, line, reason)
SELECT %(campaign_id)s, seq, why FROM dropped
"""
DROP_DELIVERIES = """
DELETE FROM delivery USING dropped
WHERE delivery.campaign_id = %(campaign_id)s AND delivery.seq = dropped.seq
"""
DROP_RECIPIENTS = """
DELETE FROM recipient USING dropped
WHERE recipient.campaign_id = %(campaign_id)s AND recipient.seq = dropped.seq
"""
LOCK_LOADING = """
SELECT campaign_id FROM campaign
WHERE campaign_id = %(campaign_id)s AND loaded_at IS NULL FOR UPDATE
"""
LOADED = "UPDATE campaign SET loaded_at = %(now)s WHERE campaign_id = %(campaign_id)s"


class Loads:
    """The audience of one campaign at a time, resumable after each segment."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def store(
        self,
        campaign_id: int,
        rows: Sequence[Row],
        *,
        start: Position,
        end: Position,
        etag: str,
        now: datetime,
    ) -> bool:
        """Store a segment that moves the load from ``start`` to ``end``.

        False: another loader has moved it already; nothing was stored.
        """
        progress = {
            "campaign_id": campaign_id,
            "etag": etag,
            "offset": end.offset,
            "line": end.line,
            "from_offset": start.offset,
            "from_line": start.line,
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
            with connection.transaction():
                if connection.execute(ADVANCE, progress).fetchone() is None:
                    return False
                _copy(connection, campaign_id, rows, now)
            return True

        return self._database.run(work)

    def seal(self, campaign_id: int, *, now: datetime) -> None:
        """End the load: who comes twice is sent once, as in the first line; who is suppressed, not.

        Suppressions of marketing count for campaigns of that category only.
        """
        parameters = {"campaign_id": campaign_id, "now": now}

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                # Of a large audience this sorts millions of keys.
                connection.execute("SET LOCAL statement_timeout = 0")
                if connection.execute(LOCK_LOADING, parameters).fetchone() is None:
                    return
                for statement in (
                    DROPPED,
                    REJECT_DROPPED,
                    DROP_DELIVERIES,
                    DROP_RECIPIENTS,
                    LOADED,
                ):
                    connection.execute(statement.encode(), parameters)

        self._database.run(work)


def _copy(
    connection: psycopg.Connection[tuple[Any, ...]],
    campaign_id: int,
    rows: Sequence[Row],
    now: datetime,
) -> None:
    accepted = [row for row in rows if isinstance(row, AudienceRow)]
    rejected = [row for row in rows if isinstance(row, RejectedRow)]
    with connection.cursor() as cursor:
        with cursor.copy(COPY_RECIPIENTS) as copy:
            for row in accepted:
                key = match_key(row.address)
                copy.write_row((campaign_id, row.seq, row.address, key, _json(row)))
        with cursor.copy(COPY_DELIVERIES) as copy:
            for row in accepted:
                number = row.phone_number_id
                copy.write_row((campaign_id, row.seq, "pending", bool(number), number, now))
        with cursor.copy(COPY_REJECTED) as copy:
            for rejection in rejected:
                copy.write_row((campaign_id, rejection.seq, rejection.reason))


def _json(row: AudienceRow) -> str:
    return json.dumps(row.parameters, ensure_ascii=False)
