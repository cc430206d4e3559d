"""Saved audiences: by segments, each with the progress it makes, and gone in batches."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.audit import note
from sluice.adapters.postgres.connection import Database
from sluice.domain.audience import Position, RejectedRow
from sluice.domain.audit import ENGINE, Entry, Origin, about_audience
from sluice.domain.saved import Kept, Named

FORGET_BATCH_ROWS = 20_000

CREATE = """
INSERT INTO saved_audience (id, request_hash, s3_uri, is_ndjson, etag, created_at)
VALUES (%(id)s, %(request_hash)s, %(s3)s, %(is_ndjson)s, %(etag)s, %(now)s)
ON CONFLICT (id) DO NOTHING
"""
FIND = """
SELECT audience_id, request_hash, s3_uri, is_ndjson, etag, loaded_bytes, loaded_lines,
       finished_at IS NOT NULL, dropped_at IS NOT NULL
FROM saved_audience WHERE id = %(id)s
"""
# The progress is compared before it is moved: of two loaders of one audience, one stops.
ADVANCE = """
UPDATE saved_audience SET loaded_bytes = %(offset)s, loaded_lines = %(line)s
WHERE audience_id = %(audience_id)s AND finished_at IS NULL AND dropped_at IS NULL
  AND etag = %(etag)s AND loaded_bytes = %(from_offset)s AND loaded_lines = %(from_line)s
RETURNING audience_id
"""
CREATE_NAMED = "CREATE TEMPORARY TABLE named (match_key text) ON COMMIT DROP"
COPY_NAMED = "COPY named (match_key) FROM STDIN"
COPY_REJECTED = "COPY audience_rejected (audience_id, line, reason) FROM STDIN"
ADD = """
WITH added AS (
    INSERT INTO audience_person (audience_id, match_key)
    SELECT DISTINCT %(audience_id)s::int, match_key FROM named ORDER BY match_key
    ON CONFLICT DO NOTHING
    RETURNING 1
)
UPDATE saved_audience
SET people = people + fresh, repeated = repeated + %(named)s - fresh,
    rejected = rejected + %(rejected)s
FROM (SELECT count(*)::int AS fresh FROM added) AS counted
WHERE audience_id = %(audience_id)s
"""
FINISH = """
UPDATE saved_audience SET finished_at = %(now)s
WHERE audience_id = %(audience_id)s AND finished_at IS NULL AND dropped_at IS NULL
"""
# It waits for campaigns that leave its people out at this moment.
DROP = """
UPDATE saved_audience SET dropped_at = %(now)s WHERE id = %(id)s AND dropped_at IS NULL
"""
FORGET = """
WITH people AS (
    DELETE FROM audience_person WHERE audience_id = %(audience_id)s AND match_key IN (
        SELECT match_key FROM audience_person WHERE audience_id = %(audience_id)s
        ORDER BY match_key LIMIT %(limit)s
    ) RETURNING 1
), rejected AS (
    DELETE FROM audience_rejected WHERE audience_id = %(audience_id)s AND line IN (
        SELECT line FROM audience_rejected WHERE audience_id = %(audience_id)s
        ORDER BY line LIMIT %(limit)s
    ) RETURNING 1
)
SELECT (SELECT count(*) FROM people) + (SELECT count(*) FROM rejected)
"""


class SavedAudiences:
    """By the client's own ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        audience: str,
        *,
        request_hash: str,
        s3: str,
        is_ndjson: bool,
        etag: str,
        now: datetime,
        origin: Origin = ENGINE,
    ) -> Kept:
        """Store an audience, or return the one that has its id: the caller compares them."""
        parameters = {
            "id": audience,
            "request_hash": request_hash,
            "s3": s3,
            "is_ndjson": is_ndjson,
            "etag": etag,
            "now": now,
        }
        self._noted(CREATE, parameters, Entry("save", about_audience(audience), {"s3": s3}), origin)
        kept = self.find(audience)
        assert kept is not None, "a saved audience stays as a row, even when it is dropped"
        return kept

    def find(self, audience: str) -> Kept | None:
        """Return the audience with this client's id."""
        rows = self._database.fetch(FIND, {"id": audience})
        if not rows:
            return None
        audience_id, known_hash, s3, is_ndjson, etag, offset, line, finished, dropped = rows[0]
        position = Position(offset, line)
        return Kept(audience_id, known_hash, s3, is_ndjson, etag, position, finished, dropped)

    def store(
        self,
        audience_id: int,
        rows: Sequence[Named | RejectedRow],
        *,
        start: Position,
        end: Position,
        etag: str,
    ) -> bool:
        """Keep a segment, and move the audience from ``start`` to ``end``.

        False: it was dropped, or another loader has moved it already; nothing was stored.
        """
        named = [row for row in rows if isinstance(row, Named)]
        progress = {
            "audience_id": audience_id,
            "etag": etag,
            "offset": end.offset,
            "line": end.line,
            "from_offset": start.offset,
            "from_line": start.line,
            "named": len(named),
            "rejected": len(rows) - len(named),
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
            with connection.transaction():
                if connection.execute(ADVANCE, progress).fetchone() is None:
                    return False
                connection.execute(CREATE_NAMED)
                with connection.cursor() as cursor:
                    with cursor.copy(COPY_NAMED) as copy:
                        for person in named:
                            copy.write_row((person.match_key,))
                    with cursor.copy(COPY_REJECTED) as copy:
                        for row in rows:
                            if isinstance(row, RejectedRow):
                                copy.write_row((audience_id, row.seq, row.reason))
                connection.execute(ADD, progress)
            return True

        return self._database.run(work)

    def finish(self, audience_id: int, *, now: datetime) -> None:
        """Mark the audience as saved."""
        self._database.fetch(FINISH, {"audience_id": audience_id, "now": now})

    def drop(self, audience: str, *, now: datetime, origin: Origin = ENGINE) -> Kept | None:
        """Let nobody use the audience any more; None: there is none of this id."""
        entry = Entry("drop", about_audience(audience), {})
        self._noted(DROP, {"id": audience, "now": now}, entry, origin)
        return self.find(audience)

    def forget(self, audience_id: int) -> int:
        """Delete some of what is kept of an audience, and return how many rows; 0: none is left."""
        parameters = {"audience_id": audience_id, "limit": FORGET_BATCH_ROWS}
        return int(self._database.fetch(FORGET, parameters)[0][0])

    def _noted(
        self, statement: str, parameters: dict[str, Any], entry: Entry, origin: Origin
    ) -> None:
        """Run a statement, and note it in its transaction if it changed anything."""

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                if connection.execute(statement.encode(), parameters).rowcount:
                    note(connection, origin, entry)

        self._database.run(work)
