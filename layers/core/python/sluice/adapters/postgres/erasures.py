"""The erasure of one person: a walk through all recipients and signals, by pages."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.audit import note
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.erased_rows import erase_rows
from sluice.domain.audit import ENGINE, Entry, Origin
from sluice.domain.claim import Key
from sluice.domain.erasure import ERASED, Walked, pattern_of
from sluice.domain.suppressions import UNDELIVERABLE_SOURCE

SOURCE = "erasure"
"""Of a suppression that outlives its person's data."""

LOADING = """
SELECT EXISTS (
    SELECT FROM campaign WHERE state = 'running' AND kind = 'campaign' AND loaded_at IS NULL
) OR EXISTS (
    SELECT FROM saved_audience WHERE finished_at IS NULL AND dropped_at IS NULL
)
"""
UNFINISHED = """
SELECT id FROM erasure WHERE campaign IS NULL AND finished_at IS NULL ORDER BY created_at, id
"""
LOCK = """
SELECT campaign, match_keys, finished_at IS NOT NULL, forget_suppression, after_campaign_id,
       after_seq, after_received_at, after_digest
FROM erasure WHERE id = %(id)s FOR UPDATE
"""
# Whose phone number a user id belongs to, and which other user ids that number has.
PERSON = """
WITH phone AS (
    SELECT %(key)s AS match_key
    UNION SELECT match_key FROM user_phone WHERE user_id = %(key)s
)
SELECT match_key FROM phone
UNION SELECT user_id FROM user_phone WHERE match_key IN (SELECT match_key FROM phone)
ORDER BY 1
"""
BEGIN = """
INSERT INTO erasure (id, match_keys, forget_suppression, created_at)
VALUES (%(id)s, %(keys)s, %(forget_suppression)s, %(now)s)
ON CONFLICT (id) DO UPDATE
SET match_keys = excluded.match_keys, forget_suppression = excluded.forget_suppression,
    created_at = excluded.created_at, finished_at = NULL,
    after_campaign_id = DEFAULT, after_seq = DEFAULT, after_received_at = DEFAULT,
    after_digest = DEFAULT, deliveries = DEFAULT, cancelled = DEFAULT, signals = DEFAULT,
    suppression = DEFAULT
"""
# No index has the match key, which would cost each load more than this walk costs an erasure.
PAGE = """
WITH page AS MATERIALIZED (
    SELECT campaign_id, seq, match_key FROM recipient
    WHERE (campaign_id, seq) > (%(campaign_id)s, %(seq)s)
    ORDER BY campaign_id, seq LIMIT %(limit)s
)
(SELECT campaign_id, seq, false FROM page ORDER BY 1 DESC, 2 DESC LIMIT 1)
UNION ALL
SELECT campaign_id, seq, true FROM page WHERE match_key = ANY (%(keys)s)
ORDER BY 3, 1, 2
"""
MOVE = """
UPDATE erasure
SET after_campaign_id = %(campaign_id)s, after_seq = %(seq)s,
    deliveries = deliveries + %(deliveries)s, cancelled = cancelled + %(cancelled)s
WHERE id = %(id)s
"""
# The row stays with its digest: brought again, it is not acted upon again.
SIGNALS = """
WITH page AS MATERIALIZED (
    SELECT received_at, digest, body::text AS body FROM signal
    WHERE (received_at, digest) > (%(received_at)s, %(digest)s)
    ORDER BY received_at, digest LIMIT %(limit)s
), blanked AS (
    UPDATE signal SET body = '{}'
    WHERE digest = ANY (ARRAY(SELECT digest FROM page WHERE body ~ %(pattern)s))
    RETURNING 1
), last AS (
    SELECT received_at, digest FROM page ORDER BY 1 DESC, 2 DESC LIMIT 1
), moved AS (
    UPDATE erasure
    SET after_received_at = last.received_at, after_digest = last.digest,
        signals = signals + (SELECT count(*) FROM blanked)
    FROM last WHERE id = %(id)s
)
SELECT count(*) = %(limit)s FROM page
"""
# What people said themselves outlives them here; what error 131026 made us guess does not.
KEEP_STOPS = """
INSERT INTO suppression AS known (match_key, scope, reason, source, since, told_at)
SELECT DISTINCT match_key, 'all', %(erased)s, %(source)s, %(now)s::timestamptz, %(now)s::timestamptz
FROM suppression
WHERE match_key = ANY (%(keys)s) AND NOT lifted AND source <> %(guess)s
ORDER BY 1
ON CONFLICT (match_key, scope) DO UPDATE
SET reason = excluded.reason, source = excluded.source, since = excluded.since,
    told_at = excluded.told_at, lifted = false
"""
FORGET_STOPS = """
DELETE FROM suppression
WHERE match_key = ANY (%(keys)s) AND (%(all)s OR source <> %(source)s)
RETURNING 1
"""
KEPT = "SELECT count(*) FROM suppression WHERE match_key = ANY (%(keys)s)"
FORGET_PERSON = (
    # By each audience, which the key begins with.
    """
    DELETE FROM audience_person AS person USING saved_audience AS saved
    WHERE person.audience_id = saved.audience_id AND person.match_key = ANY (%(keys)s)
    """,
    "DELETE FROM contact WHERE match_key = ANY (%(keys)s)",
    "DELETE FROM strike WHERE match_key = ANY (%(keys)s)",
    "DELETE FROM conversation WHERE match_key = ANY (%(keys)s)",
    "DELETE FROM user_phone WHERE user_id = ANY (%(keys)s)",
    "DELETE FROM user_phone WHERE match_key = ANY (%(keys)s)",
)
FINISH = """
UPDATE erasure SET match_keys = NULL, suppression = %(suppression)s, finished_at = %(now)s
WHERE id = %(id)s
"""

Connection = psycopg.Connection[tuple[Any, ...]]


class Erasures:
    """By the client's own ids. Each call is a transaction, and holds the erasure's row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def is_loading(self) -> bool:
        """Whether some audience is being read just now."""
        return bool(self._database.fetch(LOADING)[0][0])

    def unfinished(self) -> list[str]:
        """Return the erasures of people that have begun and not ended, the oldest first."""
        return [row[0] for row in self._database.fetch(UNFINISHED)]

    def begin(
        self,
        erasure_id: str,
        key: str,
        *,
        forget_suppression: bool,
        origin: Origin = ENGINE,
        now: datetime,
    ) -> bool:
        """Begin to erase a person, or go on; False: the id is of something else, not done yet.

        What is done begins again: it finds what has come since.
        """

        def work(connection: Connection) -> bool:
            with connection.transaction():
                found = connection.execute(LOCK, {"id": erasure_id}).fetchone()
                if found is not None:
                    campaign, keys, finished = found[:3]
                    if campaign is not None or not finished:
                        return keys is not None and key in keys
                people = connection.execute(PERSON, {"key": key}).fetchall()
                parameters = {
                    "id": erasure_id,
                    "keys": [row[0] for row in people],
                    "forget_suppression": forget_suppression,
                    "now": now,
                }
                connection.execute(BEGIN, parameters)
                # Who asked, and never about whom.
                note(connection, origin, Entry("erase", f"erasure {erasure_id}", {}))
            return True

        return self._database.run(work)

    def walk_recipients(self, erasure_id: str, *, now: datetime, limit: int) -> Walked:
        """Erase the person from the next recipients, up to ``limit``."""

        def work(connection: Connection) -> Walked:
            with connection.transaction():
                keys, _, campaign_id, seq, *_ = _locked(connection, erasure_id)
                page = {"campaign_id": campaign_id, "seq": seq, "keys": keys, "limit": limit}
                rows = connection.execute(PAGE, page).fetchall()
                if not rows:
                    return Walked(more=False)
                (*last, _), *found = rows
                theirs = [Key(campaign_id, seq) for campaign_id, seq, _ in found]
                leaving, counts = erase_rows(connection, theirs, now=now)
                # Positions begin at 1.
                reached = (leaving[0].campaign_id, leaving[0].seq - 1) if leaving else last
                place = {"campaign_id": reached[0], "seq": reached[1], "id": erasure_id}
                connection.execute(MOVE, {**place, **counts})
            return Walked(more=not leaving, waits=bool(leaving))

        return self._database.run(work)

    def walk_signals(self, erasure_id: str, *, limit: int) -> Walked:
        """Blank the next signals, up to ``limit``, where they name the person."""

        def work(connection: Connection) -> Walked:
            with connection.transaction():
                keys, _, _, _, received_at, digest = _locked(connection, erasure_id)
                page = {
                    "id": erasure_id,
                    "pattern": pattern_of(keys),
                    "received_at": received_at,
                    "digest": digest,
                    "limit": limit,
                }
                rows = connection.execute(SIGNALS, page).fetchall()
            return Walked(more=bool(rows[0][0]))

        return self._database.run(work)

    def finish(self, erasure_id: str, *, now: datetime) -> str:
        """Forget what is kept by person, then who it was; return what became of suppressions."""

        def work(connection: Connection) -> str:
            with connection.transaction():
                keys, forget, *_ = _locked(connection, erasure_id)
                for statement in FORGET_PERSON:
                    connection.execute(statement.encode(), {"keys": keys})
                suppression = _settle_stops(connection, keys, forget=forget, now=now)
                told = {"id": erasure_id, "suppression": suppression, "now": now}
                connection.execute(FINISH, told)
            return suppression

        return self._database.run(work)


def _locked(connection: Connection, erasure_id: str) -> tuple[Any, ...]:
    """Return match keys, whether suppressions are forgotten, and how far both walks are."""
    found = connection.execute(LOCK, {"id": erasure_id}).fetchone()
    assert found is not None, "an erasure is begun before it goes on"
    _, keys, _, *rest = found
    # None where a twin has finished meanwhile: of nobody there is nothing to find.
    return keys or [], *rest


def _settle_stops(
    connection: Connection, keys: Sequence[str], *, forget: bool, now: datetime
) -> str:
    parameters = {
        "keys": keys,
        "erased": ERASED,
        "source": SOURCE,
        "guess": UNDELIVERABLE_SOURCE,
        "all": forget,
        "now": now,
    }
    if not forget:
        connection.execute(KEEP_STOPS, parameters)
    gone = connection.execute(FORGET_STOPS, parameters).rowcount
    kept = connection.execute(KEPT, parameters).fetchone()
    if kept and kept[0]:
        return "kept"
    return "forgotten" if gone else "none"
