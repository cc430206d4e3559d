"""Exports: what was asked for, and the rows of a part, as CSV by COPY."""

from datetime import datetime
from pathlib import Path
from typing import Any, Final, Literal

import psycopg
from psycopg import sql

from sluice.adapters.postgres.audit import note
from sluice.adapters.postgres.connection import Database
from sluice.domain.audit import ENGINE, Entry, Origin, about_campaign
from sluice.domain.exports import FORMULA_STARTS, MARK, Column, Part, StoredExport
from sluice.domain.limits import EXPORT_PART_BYTES_MAX, EXPORT_STATEMENT_SECONDS_MAX

FIND = """
SELECT campaign_id, request_hash, last_seq, campaign_state, finished, began_at
FROM export JOIN (SELECT campaign_id FROM campaign WHERE campaign = %(campaign)s) AS found
     USING (campaign_id)
WHERE id = %(id)s
"""
BEGIN = """
INSERT INTO export (
    campaign_id, id, request_hash, place, last_seq, campaign_state, finished, began_at
)
SELECT campaign_id, %(id)s, %(request_hash)s, %(place)s, loaded_rows,
       CASE WHEN state = 'running' AND loaded_at IS NULL THEN 'loading' ELSE state END,
       finished_at IS NOT NULL, %(now)s
FROM campaign WHERE campaign = %(campaign)s AND state <> 'erased'
ON CONFLICT DO NOTHING
"""
KNOWN = "SELECT campaign_id FROM campaign WHERE campaign = %(campaign)s AND state <> 'erased'"

# Each table has the range of its own: a merge would else begin at the campaign's first row.
# The error is the one whose code the delivery has, as the latest attempt met it.
RECIPIENTS = """
SELECT {columns}
FROM recipient AS r
JOIN delivery AS d USING (campaign_id, seq)
LEFT JOIN message AS m
    ON m.campaign_id = d.campaign_id AND m.seq = d.seq AND m.attempt = d.attempt
       AND m.campaign_id = %(campaign_id)s AND m.seq BETWEEN %(first)s AND %(last)s
LEFT JOIN (
    SELECT DISTINCT ON (seq, code) seq, code, details FROM delivery_error
    WHERE campaign_id = %(campaign_id)s AND seq BETWEEN %(first)s AND %(last)s
    ORDER BY seq, code, attempt DESC
) AS e ON e.seq = d.seq AND e.code = d.error_code
WHERE r.campaign_id = %(campaign_id)s AND r.seq BETWEEN %(first)s AND %(last)s
  AND d.campaign_id = %(campaign_id)s AND d.seq BETWEEN %(first)s AND %(last)s
ORDER BY r.seq
"""
REJECTED = """
SELECT {columns} FROM rejected
WHERE campaign_id = %(campaign_id)s AND line BETWEEN %(first)s AND %(last)s
ORDER BY line
"""
SETTINGS: Final = {
    "statement_timeout": f"{EXPORT_STATEMENT_SECONDS_MAX:.0f}s",
    # Of a campaign that was loaded since the last ANALYZE the planner expects one row, and would
    # read each table as often as another has rows. Merges by the keys are right at any size.
    "enable_nestloop": "off",
    "enable_hashjoin": "off",
}
"""Of the transaction of a part. As long as it runs, vacuum keeps what others leave behind."""
_STATEMENTS: Final = {"recipients": RECIPIENTS, "rejected": REJECTED}
_VARIANT: Final = """
(ARRAY(
    SELECT variant ->> 'name'
    FROM campaign CROSS JOIN LATERAL jsonb_array_elements(request -> 'split' -> 'variants')
         WITH ORDINALITY AS named (variant, place)
    WHERE campaign_id = %(campaign_id)s ORDER BY place
))[d.variant]
"""
_SOURCES: Final = {
    "seq": "r.seq",
    "address": "r.address",
    "parameters": "r.parameters",
    "phone_number_id": "d.phone_number_id",
    "variant": _VARIANT,
    "state": "d.state",
    "status": "nullif(d.status, 'none')",
    "attempt": "d.attempt",
    "error_code": "d.error_code",
    "error_details": "e.details",
    "wamid": "m.wamid",
    "accepted_at": "d.accepted_at",
    "sent_at": "d.sent_at",
    "delivered_at": "d.delivered_at",
    "read_at": "d.read_at",
    "failed_at": "d.failed_at",
    "line": "line",
    "reason": "reason",
}
_TIMESTAMP: Final = "to_char({source} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')"
_MARKED: Final = """
CASE WHEN left({source}, 1) = ANY (%(marked)s) THEN %(mark)s || {source} ELSE {source} END
"""


class _TooLargeError(Exception):
    """Only an exception ends a COPY before its end."""


class Exports:
    """The exports of campaigns, by the clients' ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, campaign: str, export_id: str) -> StoredExport | None:
        """Return an export that has begun."""
        rows = self._database.fetch(FIND, {"campaign": campaign, "id": export_id})
        return StoredExport(*rows[0]) if rows else None

    def begin(
        self,
        campaign: str,
        export_id: str,
        *,
        request_hash: str,
        place: str,
        now: datetime,
        origin: Origin = ENGINE,
    ) -> StoredExport | Literal["absent", "taken"]:
        """Store the export as the campaign is now; or return it, if it has begun already.

        ``absent``: there is no such campaign; ``taken``: the place belongs to another export.
        """
        parameters = {
            "campaign": campaign,
            "id": export_id,
            "request_hash": request_hash,
            "place": place,
            "now": now,
        }
        entry = Entry("export", about_campaign(campaign), {"export": export_id, "to": place})

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                if connection.execute(BEGIN, parameters).rowcount:
                    note(connection, origin, entry)

        self._database.run(work)
        begun = self.find(campaign, export_id)
        if begun is not None:
            return begun
        return "taken" if self._database.fetch(KNOWN, parameters) else "absent"

    def copy(self, campaign_id: int, part: Part, target: Path) -> int | None:
        """Write the part's rows to ``target`` as CSV, as of one moment, and return how many.

        None: they are more than EXPORT_PART_BYTES_MAX, and nothing useful was written.
        """
        statement, parameters = statement_of(campaign_id, part)
        copy = sql.SQL("COPY ({}) TO STDOUT WITH (FORMAT csv, HEADER)").format(statement)
        try:
            return self._database.run(lambda known: _copy(known, copy, parameters, target))
        except _TooLargeError:
            return None


def statement_of(campaign_id: int, part: Part) -> tuple[sql.Composed, dict[str, Any]]:
    """Return what reads the rows of a part, in order, and its parameters."""
    columns = sql.SQL(", ").join([_selected(column) for column in part.table.columns])
    parameters = {
        "campaign_id": campaign_id,
        "first": part.first,
        "last": part.last,
        "marked": [*FORMULA_STARTS, MARK],
        "mark": MARK,
    }
    return sql.SQL(_STATEMENTS[part.table.name]).format(columns=columns), parameters


def _selected(column: Column) -> sql.Composed:
    source = sql.SQL(_SOURCES[column.name])
    wrapped = _TIMESTAMP if column.type == "timestamp" else _MARKED if column.free else "{source}"
    return sql.SQL(wrapped).format(source=source) + sql.SQL(" AS ") + sql.Identifier(column.name)


def _copy(
    connection: psycopg.Connection[tuple[Any, ...]],
    statement: sql.Composed,
    parameters: dict[str, Any],
    target: Path,
) -> int:
    size_bytes = 0
    with connection.transaction(), connection.cursor() as cursor, target.open("wb") as file:
        for setting in SETTINGS.items():
            cursor.execute("SELECT set_config(%s, %s, true)", setting)
        with cursor.copy(statement, parameters) as copy:
            for block in copy:
                size_bytes += len(block)
                if size_bytes > EXPORT_PART_BYTES_MAX:
                    raise _TooLargeError
                file.write(block)
        return cursor.rowcount
