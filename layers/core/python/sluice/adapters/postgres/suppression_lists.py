"""Lists of suppressions as they are published: by segments, each with the progress it makes."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.audit import note
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.suppressions import merge
from sluice.domain.audience import Position, RejectedRow
from sluice.domain.audit import ENGINE, Entry, Origin
from sluice.domain.listing import StoredList
from sluice.domain.suppressions import Suppression

CREATE = """
INSERT INTO suppression_list (id, request_hash, created_at)
VALUES (%(id)s, %(request_hash)s, %(now)s) ON CONFLICT DO NOTHING
RETURNING NULL, NULL
"""
FIND = """
SELECT request_hash, etag, loaded_bytes, loaded_lines, created_at, finished_at IS NOT NULL
FROM suppression_list WHERE id = %(id)s
"""
# The progress is compared before it is moved: of two loaders of one list, one stops.
ADVANCE = """
UPDATE suppression_list
SET loaded_bytes = %(offset)s, loaded_lines = %(line)s, etag = %(etag)s,
    people = people + %(people)s, rejected = rejected + %(rejected)s
WHERE id = %(id)s AND finished_at IS NULL
  AND loaded_bytes = %(from_offset)s AND loaded_lines = %(from_line)s
RETURNING id
"""
COPY_REJECTED = "COPY suppression_rejected (id, line, reason) FROM STDIN"
FINISH = """
UPDATE suppression_list SET finished_at = %(now)s WHERE id = %(id)s AND finished_at IS NULL
RETURNING people, rejected
"""


class SuppressionLists:
    """By the client's own ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self,
        list_id: str,
        *,
        request_hash: str,
        now: datetime,
        action: str = "suppress",
        origin: Origin = ENGINE,
    ) -> StoredList:
        """Store a list, or return the one that has its id: the caller compares hashes."""
        parameters = {"id": list_id, "request_hash": request_hash, "now": now}
        self._noted(CREATE, parameters, action, origin)
        known_hash, etag, loaded_bytes, loaded_lines, created_at, finished = self._database.fetch(
            FIND, parameters
        )[0]
        position = Position(loaded_bytes, loaded_lines)
        return StoredList(known_hash, etag, position, created_at, finished)

    def store(
        self,
        list_id: str,
        rows: Sequence[Suppression | RejectedRow],
        *,
        start: Position,
        end: Position,
        etag: str,
        lifted: bool,
    ) -> bool:
        """Suppress a segment, or lift it, and move the list from ``start`` to ``end``.

        False: another loader has moved it already; nothing was stored.
        """
        people = [row for row in rows if isinstance(row, Suppression)]
        rejected = [row for row in rows if isinstance(row, RejectedRow)]
        progress = {
            "id": list_id,
            "etag": etag,
            "offset": end.offset,
            "line": end.line,
            "from_offset": start.offset,
            "from_line": start.line,
            "people": len(people),
            "rejected": len(rejected),
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
            with connection.transaction():
                if connection.execute(ADVANCE, progress).fetchone() is None:
                    return False
                merge(connection, people, lifted=lifted)
                with connection.cursor() as cursor, cursor.copy(COPY_REJECTED) as copy:
                    for row in rejected:
                        copy.write_row((list_id, row.seq, row.reason))
            return True

        return self._database.run(work)

    def finish(self, list_id: str, *, now: datetime) -> None:
        """Mark the list as done with."""
        self._noted(FINISH, {"id": list_id, "now": now}, "suppressions finished", ENGINE)

    def _noted(
        self, statement: str, parameters: dict[str, Any], action: str, origin: Origin
    ) -> None:
        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                for people, rejected in connection.execute(statement.encode(), parameters):
                    counts = {"people": people, "rejected": rejected}
                    note(connection, origin, Entry(action, subject, counts))

        subject = f"suppressions {parameters['id']}"
        self._database.run(work)
