"""Loading an audience: segments by COPY, each with the progress that it makes."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.domain.audience import AudienceRow, Position, RejectedRow, Row

# The progress is compared before it is moved: of two loaders of one campaign, one stops.
ADVANCE = """
UPDATE campaign
SET loaded_bytes = %(offset)s, loaded_rows = %(line)s, audience_etag = %(etag)s
WHERE campaign_id = %(campaign_id)s AND loaded_at IS NULL AND state <> 'cancelled'
  AND loaded_bytes = %(from_offset)s AND loaded_rows = %(from_line)s
RETURNING campaign_id
"""
COPY_RECIPIENTS = "COPY recipient (campaign_id, seq, address, parameters) FROM STDIN"
COPY_DELIVERIES = """
COPY delivery (campaign_id, seq, state, number_fixed, phone_number_id, due_at) FROM STDIN
"""
COPY_REJECTED = "COPY rejected (campaign_id, line, reason) FROM STDIN"

DUPLICATES = """
CREATE TEMPORARY TABLE duplicate ON COMMIT DROP AS
SELECT seq, first FROM (
    SELECT seq, min(seq) OVER (PARTITION BY address) AS first
    FROM recipient WHERE campaign_id = %(campaign_id)s
) AS placed WHERE seq <> first
"""
REJECT_DUPLICATES = """
INSERT INTO rejected (campaign_id, line, reason)
SELECT %(campaign_id)s, seq, 'the same address as in line ' || first FROM duplicate
"""
DROP_DELIVERIES = """
DELETE FROM delivery USING duplicate
WHERE delivery.campaign_id = %(campaign_id)s AND delivery.seq = duplicate.seq
"""
DROP_RECIPIENTS = """
DELETE FROM recipient USING duplicate
WHERE recipient.campaign_id = %(campaign_id)s AND recipient.seq = duplicate.seq
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
        """End the load: an address that comes twice is sent once, to its first line."""
        parameters = {"campaign_id": campaign_id, "now": now}

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                # Of a large audience this sorts millions of addresses.
                connection.execute("SET LOCAL statement_timeout = 0")
                if connection.execute(LOCK_LOADING, parameters).fetchone() is None:
                    return
                for statement in (
                    DUPLICATES,
                    REJECT_DUPLICATES,
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
                copy.write_row((campaign_id, row.seq, row.address, _json(row)))
        with cursor.copy(COPY_DELIVERIES) as copy:
            for row in accepted:
                number = row.phone_number_id
                copy.write_row((campaign_id, row.seq, "pending", bool(number), number, now))
        with cursor.copy(COPY_REJECTED) as copy:
            for rejection in rejected:
                copy.write_row((campaign_id, rejection.seq, rejection.reason))


def _json(row: AudienceRow) -> str:
    return json.dumps(row.parameters, ensure_ascii=False)
