"""Who gets nothing, or no marketing: the latest word counts, however often and late words come."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.domain.suppressions import Scope, Suppression

IMPORT_BATCH_ROWS = 20_000

# A stop counts unless a later word lifted it; of two words of the same second the stop counts.
# While it counts, its earliest beginning is kept. Keys are locked in order.
_MERGE = """
INSERT INTO suppression AS known (match_key, scope, reason, source, since, told_at)
SELECT match_key, scope, (array_agg(reason ORDER BY since))[1],
       (array_agg(source ORDER BY since))[1], min(since), max(since)
FROM {news} GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (match_key, scope) DO UPDATE
SET reason = CASE WHEN known.lifted OR excluded.since < known.since
                  THEN excluded.reason ELSE known.reason END,
    source = CASE WHEN known.lifted OR excluded.since < known.since
                  THEN excluded.source ELSE known.source END,
    since = CASE WHEN known.lifted THEN GREATEST(excluded.since, known.told_at)
                 ELSE LEAST(excluded.since, known.since) END,
    told_at = GREATEST(excluded.told_at, known.told_at),
    lifted = false
WHERE CASE WHEN known.lifted THEN excluded.told_at >= known.told_at
           ELSE excluded.since < known.since OR excluded.told_at > known.told_at END
"""
SUPPRESS = _MERGE.format(
    news="unnest(%(keys)s::text[], %(scopes)s::text[], %(reasons)s::text[], %(sources)s::text[],"
    " %(sinces)s::timestamptz[]) AS news (match_key, scope, reason, source, since)"
)
# Meta's own word that a person stopped marketing, in an answer or a failed status.
SUPPRESS_OPTED_OUT = _MERGE.format(
    news="""(
    SELECT r.match_key, 'marketing' AS scope, 'stopped marketing' AS reason,
           'error 131050' AS source, %(now)s::timestamptz AS since
    FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS told (campaign_id, seq)
    JOIN recipient AS r USING (campaign_id, seq)
) AS news"""
)
LIFT = """
INSERT INTO suppression AS known (match_key, scope, reason, source, since, told_at, lifted)
VALUES (%(key)s, %(scope)s, 'lifted', %(source)s, %(at)s, %(at)s, true)
ON CONFLICT (match_key, scope) DO UPDATE
SET reason = excluded.reason, source = excluded.source, since = excluded.since,
    told_at = excluded.told_at, lifted = true
WHERE excluded.told_at > known.told_at
"""
SUPPRESSED = """
SELECT DISTINCT match_key FROM suppression
WHERE match_key = ANY (%(keys)s) AND NOT lifted AND (scope = 'all' OR %(marketing)s)
"""
CREATE_NEWS = """
CREATE TEMPORARY TABLE news (
    match_key text, scope text, reason text, source text, since timestamptz
) ON COMMIT DROP
"""
COPY_NEWS = "COPY news (match_key, scope, reason, source, since) FROM STDIN"
IMPORT = _MERGE.format(news="news")
EXPORT = """
COPY (
    SELECT match_key, scope, reason, source, since FROM suppression
    WHERE NOT lifted ORDER BY match_key, scope
) TO STDOUT
"""


class Suppressions:
    """By match key (``domain.suppressions``) and scope."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def suppress(self, suppressions: Sequence[Suppression]) -> None:
        """Suppress; again, it changes nothing."""
        self._database.fetch(
            SUPPRESS,
            {
                "keys": [one.match_key for one in suppressions],
                "scopes": [one.scope for one in suppressions],
                "reasons": [one.reason for one in suppressions],
                "sources": [one.source for one in suppressions],
                "sinces": [one.since for one in suppressions],
            },
        )

    def lift(self, match_key: str, scope: Scope, *, source: str, at: datetime) -> None:
        """Lift what was said before ``at``; a later stop stands."""
        parameters = {"key": match_key, "scope": scope, "source": source, "at": at}
        self._database.fetch(LIFT, parameters)

    def suppressed(self, match_keys: Iterable[str], *, marketing: bool) -> set[str]:
        """Return who of them gets no message: no ``marketing`` one, or none at all."""
        parameters = {"keys": list(match_keys), "marketing": marketing}
        return {row[0] for row in self._database.fetch(SUPPRESSED, parameters)}

    def import_all(self, suppressions: Iterable[Suppression]) -> int:
        """Suppress a stream of any length, and return how many it had.

        Each batch is a transaction of its own. If it fails on the way, import all of it again.
        """
        stream, count = iter(suppressions), 0
        while batch := list(islice(stream, IMPORT_BATCH_ROWS)):
            self._import(batch)
            count += len(batch)
        return count

    def export(self) -> Iterator[Suppression]:
        """Yield every suppression in force, as of one moment. If it fails, begin again.

        The connection is taken until the last one.
        """
        live = self._database.run(lambda connection: connection)
        with live.cursor() as cursor, cursor.copy(EXPORT) as copy:
            copy.set_types(["text", "text", "text", "text", "timestamptz"])
            for row in copy.rows():
                yield Suppression(*row)

    def _import(self, batch: Sequence[Suppression]) -> None:
        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                connection.execute(CREATE_NEWS)
                with connection.cursor() as cursor, cursor.copy(COPY_NEWS) as copy:
                    for one in batch:
                        copy.write_row(
                            (one.match_key, one.scope, one.reason, one.source, one.since)
                        )
                connection.execute(IMPORT.encode())

        self._database.run(work)
