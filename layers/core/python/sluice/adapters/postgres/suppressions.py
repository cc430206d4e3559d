"""Who gets nothing, or no marketing: the latest word counts, however often and late words come."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import execute_in, split
from sluice.domain.exports import FORMULA_STARTS, MARK
from sluice.domain.limits import UNDELIVERABLE_DAYS, UNDELIVERABLE_STRIKES
from sluice.domain.suppressions import (
    OPTED_OUT,
    UNDELIVERABLE,
    Scope,
    Suppression,
)

# A user id whose phone number is known speaks for both.
_EVERYBODY = """
WITH {before} news (match_key, scope, reason, source, since) AS MATERIALIZED (
    {news}
), everybody AS (
    SELECT * FROM news
    UNION ALL
    SELECT phone.match_key, news.scope, news.reason, news.source, news.since
    FROM news JOIN user_phone AS phone ON phone.user_id = news.match_key
)
"""
# A stop counts unless a later word lifted it; of two words of the same second the stop counts.
# While it counts, its earliest beginning is kept; what somebody said goes before what error 131026
# makes us guess. Keys are locked in order.
_MERGE = """
INSERT INTO suppression AS known (match_key, scope, reason, source, since, told_at)
SELECT match_key, scope,
       (array_agg(reason ORDER BY source = 'error 131026', since))[1],
       (array_agg(source ORDER BY source = 'error 131026', since))[1],
       min(since), max(since)
FROM everybody GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (match_key, scope) DO UPDATE
SET (reason, source) = (
        SELECT CASE WHEN replaced THEN excluded.reason ELSE known.reason END,
               CASE WHEN replaced THEN excluded.source ELSE known.source END
        FROM (SELECT known.lifted
                     OR (excluded.source = 'error 131026', excluded.since)
                        < (known.source = 'error 131026', known.since)) AS _ (replaced)
    ),
    since = CASE WHEN known.lifted THEN GREATEST(excluded.since, known.told_at)
                 ELSE LEAST(excluded.since, known.since) END,
    told_at = GREATEST(excluded.told_at, known.told_at),
    lifted = false
WHERE CASE WHEN known.lifted THEN excluded.told_at >= known.told_at
           ELSE excluded.since < known.since OR excluded.told_at > known.told_at
                OR (excluded.source = 'error 131026')
                   < (known.source = 'error 131026') END
"""
_UNDO = """
INSERT INTO suppression AS known (match_key, scope, reason, source, since, told_at, lifted)
SELECT match_key, scope, 'lifted', (array_agg(source ORDER BY since DESC))[1],
       max(since), max(since), true
FROM everybody GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (match_key, scope) DO UPDATE
SET reason = excluded.reason, source = excluded.source, since = excluded.since,
    told_at = excluded.told_at, lifted = true
WHERE excluded.told_at > known.told_at
"""


def merging(news: str, *, before: str = "") -> str:
    """The statement that suppresses ``news``, a query for the columns of ``everybody``."""
    return _EVERYBODY.format(news=news, before=before) + _MERGE


_TOLD = """SELECT * FROM unnest(
        %(keys)s::text[], %(scopes)s::text[], %(reasons)s::text[], %(sources)s::text[],
        %(sinces)s::timestamptz[])"""
SUPPRESS = merging(_TOLD)
LIFT = _EVERYBODY.format(news=_TOLD, before="") + _UNDO
# Meta's own word that a person stopped marketing, in an answer or a failed status.
SUPPRESS_OPTED_OUT = merging("""
    SELECT r.match_key, 'marketing', 'stopped marketing', 'error 131050', told.at
    FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[], %(ats)s::timestamptz[])
         AS told (campaign_id, seq, at)
    JOIN recipient AS r USING (campaign_id, seq)
""")
# One for each campaign: the attempts of one message are one failure. What a person wrote since
# outweighs it.
STRIKE = """
INSERT INTO strike (match_key, campaign_id, failed_at)
SELECT r.match_key, c.campaign_id, min(told.at)
FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[], %(ats)s::timestamptz[])
     AS told (campaign_id, seq, at)
JOIN recipient AS r USING (campaign_id, seq)
JOIN campaign AS c USING (campaign_id)
WHERE c.kind = 'campaign' AND NOT EXISTS (
    SELECT FROM conversation AS said
    WHERE said.match_key = r.match_key AND said.last_inbound_at >= told.at
)
GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT DO NOTHING
"""
SUPPRESS_UNDELIVERABLE = merging("""
    SELECT strike.match_key, 'all', 'undeliverable', 'error 131026',
           max(strike.failed_at)
    FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS told (campaign_id, seq)
    JOIN recipient AS r USING (campaign_id, seq)
    JOIN strike ON strike.match_key = r.match_key
     AND strike.failed_at > %(now)s - make_interval(days => %(days)s)
    GROUP BY 1 HAVING count(DISTINCT strike.campaign_id) >= %(strikes)s
""")
SUPPRESSED = """
SELECT DISTINCT match_key FROM suppression
WHERE match_key = ANY (%(keys)s) AND NOT lifted AND (scope = 'all' OR %(marketing)s)
"""
CREATE_NEWS = """
CREATE TEMPORARY TABLE imported (
    match_key text, scope text, reason text, source text, since timestamptz
) ON COMMIT DROP
"""
COPY_NEWS = "COPY imported (match_key, scope, reason, source, since) FROM STDIN"
IMPORT = merging("SELECT * FROM imported")
IMPORT_LIFTED = _EVERYBODY.format(news="SELECT * FROM imported", before="") + _UNDO
EXPORT_CSV = """
COPY (
    SELECT match_key AS address, scope,
           CASE WHEN left(reason, 1) = ANY (%(marked)s) THEN %(mark)s || reason ELSE reason END
               AS reason,
           CASE WHEN left(source, 1) = ANY (%(marked)s) THEN %(mark)s || source ELSE source END
               AS source,
           since AS at
    FROM suppression WHERE NOT lifted ORDER BY match_key, scope
) TO STDOUT (FORMAT csv, HEADER)
"""


class Refused(NamedTuple):
    """A message that Meta did not deliver for a reason that lies with the person."""

    campaign_id: int
    seq: int
    code: int
    at: datetime


class Suppressions:
    """By match key (``domain.suppressions``) and scope."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def suppress(self, suppressions: Sequence[Suppression]) -> None:
        """Suppress; again, it changes nothing."""
        self._database.fetch(SUPPRESS, _columns(suppressions))

    def lift(self, match_keys: Sequence[str], scope: Scope, *, source: str, at: datetime) -> None:
        """Lift what was said before ``at``; a later stop stands."""
        self._database.fetch(
            LIFT, _columns([Suppression(key, scope, "lifted", source, at) for key in match_keys])
        )

    def suppressed(self, match_keys: Iterable[str], *, marketing: bool) -> set[str]:
        """Return who of them gets no message: no ``marketing`` one, or none at all."""
        parameters = {"keys": list(match_keys), "marketing": marketing}
        return {row[0] for row in self._database.fetch(SUPPRESSED, parameters)}

    def export_csv(self) -> Iterator[bytes]:
        """Yield everything in force, as of one moment, as pieces of a CSV that an import takes.

        What a spreadsheet may run has a mark before it, which the import takes away.
        The connection is taken until the last piece.
        """
        live = self._database.run(lambda connection: connection)
        with live.transaction(), live.cursor() as cursor:
            # Of millions of people it lasts longer than any statement may otherwise.
            cursor.execute("SET LOCAL statement_timeout = 0")
            marks = {"marked": [*FORMULA_STARTS, MARK], "mark": MARK}
            with cursor.copy(EXPORT_CSV.encode(), marks) as copy:
                yield from map(bytes, copy)


def merge(
    connection: psycopg.Connection[tuple[Any, ...]],
    batch: Iterable[Suppression],
    *,
    lifted: bool = False,
) -> None:
    """Suppress many people, or lift them, in the transaction of the caller."""
    connection.execute(CREATE_NEWS)
    with connection.cursor() as cursor, cursor.copy(COPY_NEWS) as copy:
        for one in batch:
            copy.write_row((one.match_key, one.scope, one.reason, one.source, one.since))
    connection.execute((IMPORT_LIFTED if lifted else IMPORT).encode())


def heed_refusals(
    connection: psycopg.Connection[tuple[Any, ...]], refusals: Iterable[Refused], *, now: datetime
) -> None:
    """Suppress whom Meta's codes say to leave alone, in the transaction of the caller."""
    told = sorted(refusals)
    opted_out = [one for one in told if one.code == OPTED_OUT]
    undelivered = [one for one in told if one.code == UNDELIVERABLE]
    known = {"now": now, "days": UNDELIVERABLE_DAYS, "strikes": UNDELIVERABLE_STRIKES}
    for statement, group in (
        *((SUPPRESS_OPTED_OUT, group) for group in split(opted_out, _campaign_of)),
        *((STRIKE, group) for group in split(undelivered, _campaign_of)),
        *((SUPPRESS_UNDELIVERABLE, group) for group in split(undelivered, _campaign_of)),
    ):
        execute_in(connection, statement, group[0].campaign_id, {**_messages(group), **known})


def _campaign_of(refused: Refused) -> int:
    return refused.campaign_id


def _columns(suppressions: Sequence[Suppression]) -> dict[str, list[object]]:
    return {
        "keys": [one.match_key for one in suppressions],
        "scopes": [one.scope for one in suppressions],
        "reasons": [one.reason for one in suppressions],
        "sources": [one.source for one in suppressions],
        "sinces": [one.since for one in suppressions],
    }


def _messages(refusals: Sequence[Refused]) -> dict[str, list[object]]:
    return {
        "campaign_ids": [one.campaign_id for one in refusals],
        "seqs": [one.seq for one in refusals],
        "ats": [one.at for one in refusals],
    }
