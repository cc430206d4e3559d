"""Who talks with which number, whose user id is whose phone number, what a reply answers."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.suppressions import merging
from sluice.domain.inbound import Answered, Heard
from sluice.domain.limits import INBOUND_FRESH_SECONDS, INBOUND_SECONDS
from sluice.domain.suppressions import UNDELIVERABLE_SOURCE

HEAR = """
INSERT INTO conversation AS known (match_key, phone_number_id, last_inbound_at, open_until)
SELECT match_key, phone_number_id, max(at), max(open_until)
FROM unnest(
    %(keys)s::text[], %(numbers)s::text[], %(ats)s::timestamptz[], %(open_untils)s::timestamptz[]
) AS heard (match_key, phone_number_id, at, open_until)
GROUP BY 1, 2 ORDER BY 1, 2
ON CONFLICT (match_key, phone_number_id) DO UPDATE
SET last_inbound_at = GREATEST(known.last_inbound_at, excluded.last_inbound_at),
    open_until = GREATEST(known.open_until, excluded.open_until)
WHERE excluded.last_inbound_at > known.last_inbound_at
   OR known.open_until IS NULL OR excluded.open_until > known.open_until
"""
# People's own messages count in the number's cap; what comes late says nothing about now. It is an
# average that forgets, and CLAIM reads it. The number's row is locked last, and shortly.
MEASURE = """
WITH heard AS (
    SELECT phone_number_id, count(*) AS messages
    FROM unnest(%(numbers)s::text[], %(ats)s::timestamptz[]) AS told (phone_number_id, at)
    WHERE at > %(now)s - make_interval(secs => %(fresh_seconds)s)
    GROUP BY 1
), measured AS MATERIALIZED (
    SELECT n.phone_number_id, heard.messages FROM heard JOIN number AS n USING (phone_number_id)
    ORDER BY 1 FOR UPDATE OF n
)
UPDATE number AS n
SET inbound_rate = measured.messages / %(seconds)s + n.inbound_rate * COALESCE(exp(
        LEAST(0, extract(epoch FROM n.inbound_at - %(now)s)::real / %(seconds)s)), 0),
    inbound_at = GREATEST(n.inbound_at, %(now)s)
FROM measured WHERE n.phone_number_id = measured.phone_number_id
"""
# Whoever writes can be written to.
FORGIVE = """
WITH heard (match_key, at) AS (
    SELECT match_key, max(at) FROM (
        SELECT * FROM unnest(%(keys)s::text[], %(ats)s::timestamptz[]) AS told (match_key, at)
        UNION ALL
        SELECT phone.match_key, told.at
        FROM unnest(%(keys)s::text[], %(ats)s::timestamptz[]) AS told (user_id, at)
        JOIN user_phone AS phone USING (user_id)
    ) AS every GROUP BY 1
), forgiven AS (
    DELETE FROM strike USING heard
    WHERE strike.match_key = heard.match_key AND strike.failed_at <= heard.at
), wanted AS MATERIALIZED (
    SELECT s.match_key, heard.at
    FROM heard JOIN suppression AS s ON s.match_key = heard.match_key AND s.scope = 'all'
    WHERE s.source = %(guess)s AND NOT s.lifted AND s.told_at < heard.at
    ORDER BY 1 FOR UPDATE OF s
)
UPDATE suppression AS s
SET lifted = true, reason = 'lifted', source = 'messages', since = wanted.at, told_at = wanted.at
FROM wanted WHERE s.match_key = wanted.match_key AND s.scope = 'all'
RETURNING s.match_key
"""
# What the user id had said before anybody knew its phone number counts for the number too.
_LEARN = """learnt AS (
    INSERT INTO user_phone AS known (user_id, match_key)
    SELECT DISTINCT ON (1) * FROM ({links}) AS link (user_id, match_key)
    -- What is known already is not even locked.
    WHERE starts_with(match_key, '+') AND (user_id, match_key) NOT IN (
        SELECT same.user_id, same.match_key FROM user_phone AS same
        WHERE same.user_id = link.user_id)
    ORDER BY 1, 2
    ON CONFLICT (user_id) DO UPDATE SET match_key = excluded.match_key
    WHERE known.match_key <> excluded.match_key
    RETURNING user_id, match_key
),"""
_SAID = """
    SELECT learnt.match_key, s.scope, s.reason, s.source, s.since
    FROM learnt JOIN suppression AS s ON s.match_key = learnt.user_id AND NOT s.lifted"""
LEARN = merging(
    _SAID,
    before=_LEARN.format(
        links="SELECT * FROM unnest(%(user_ids)s::text[], %(phones)s::text[])",
    ),
)
# A message that answers one of ours comes from whom that one was sent to.
LEARN_ANSWERS = merging(
    _SAID,
    before=_LEARN.format(
        links="""
        SELECT told.user_id, r.match_key
        FROM unnest(%(user_ids)s::text[], %(contexts)s::text[]) AS told (user_id, wamid)
        JOIN message AS m USING (wamid) JOIN recipient AS r USING (campaign_id, seq)"""
    ),
)
# A status of our own message brings the user id of whom it was sent to.
LEARN_SENT = merging(
    _SAID,
    before=_LEARN.format(
        links="""
        SELECT told.user_id, r.match_key
        FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[], %(user_ids)s::text[])
             AS told (campaign_id, seq, user_id)
        JOIN recipient AS r USING (campaign_id, seq)"""
    ),
)
ANSWERED = """
SELECT m.wamid, CASE c.kind WHEN 'campaign' THEN c.campaign END, m.campaign_id, m.seq, direct.id
FROM message AS m
JOIN campaign AS c USING (campaign_id)
LEFT JOIN LATERAL (
    SELECT id FROM direct_send AS d
    WHERE c.kind = 'direct' AND d.campaign_id = m.campaign_id AND d.seq_from <= m.seq
    ORDER BY d.seq_from DESC LIMIT 1
) AS direct ON true
WHERE m.wamid = ANY (%(wamids)s)
"""
# The old key stays: what is on its way to it must still be stopped.
MOVE_CONVERSATIONS = """
INSERT INTO conversation AS known (match_key, phone_number_id, last_inbound_at)
SELECT %(new)s, phone_number_id, max(last_inbound_at)
FROM conversation WHERE match_key = ANY (%(old)s) GROUP BY 2 ORDER BY 2
ON CONFLICT (match_key, phone_number_id) DO UPDATE
SET last_inbound_at = excluded.last_inbound_at
WHERE excluded.last_inbound_at > known.last_inbound_at
"""
MOVE_SUPPRESSIONS = merging("""
    SELECT %(new)s, scope, reason, source, since FROM suppression
    WHERE match_key = ANY (%(old)s) AND NOT lifted""")
MOVE_PHONE = """
INSERT INTO user_phone AS known (user_id, match_key)
SELECT %(new)s, match_key FROM user_phone
WHERE user_id = ANY (%(old)s) AND NOT starts_with(%(new)s, '+') LIMIT 1
ON CONFLICT (user_id) DO NOTHING
"""


class Conversations:
    """By match key and number."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def hear(self, heard: Sequence[Heard], *, now: datetime) -> None:
        """Write down who wrote to us, and forget that they could not be reached.

        Heard again, or late, it changes nothing but how much the number is said to hear now.
        """
        rows = [(key, one) for one in heard for key in one.keys]
        said = {
            "keys": [key for key, _ in rows],
            "numbers": [one.phone_number_id for _, one in rows],
            "ats": [one.at for _, one in rows],
            "open_untils": [one.open_until for _, one in rows],
        }
        links, answers = _links(heard), _answers(heard)
        measured = {
            "numbers": [one.phone_number_id for one in heard],
            "ats": [one.at for one in heard],
            "now": now,
            "seconds": INBOUND_SECONDS,
            "fresh_seconds": INBOUND_FRESH_SECONDS,
        }

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                connection.execute(HEAR, said)
                if links["user_ids"]:
                    connection.execute(LEARN.encode(), links)
                if answers["user_ids"]:
                    connection.execute(LEARN_ANSWERS.encode(), answers)
                connection.execute(FORGIVE, {**said, "guess": UNDELIVERABLE_SOURCE})
                connection.execute(MEASURE, measured)

        if rows:
            self._database.run(work)

    def answered(self, wamids: Iterable[str]) -> dict[str, Answered]:
        """Return the messages of ours that have these wamids."""
        rows = self._database.fetch(ANSWERED, {"wamids": sorted(set(wamids))})
        return {wamid: Answered(*answered) for wamid, *answered in rows}

    def move(self, old: Sequence[str], new: str) -> None:
        """Copy what is known of a person to the person's new key."""
        parameters = {"old": list(old), "new": new}

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            with connection.transaction():
                connection.execute(MOVE_CONVERSATIONS, parameters)
                connection.execute(MOVE_PHONE, parameters)
                connection.execute(MOVE_SUPPRESSIONS.encode(), parameters)

        self._database.run(work)


def _links(heard: Iterable[Heard]) -> dict[str, list[str]]:
    """Pairs of a user id and a phone number that one message told."""
    links = [
        (key, phone)
        for one in heard
        for phone in [key for key in one.keys if key.startswith("+")][:1]
        for key in one.keys
        if not key.startswith("+")
    ]
    return {"user_ids": [link[0] for link in links], "phones": [link[1] for link in links]}


def _answers(heard: Iterable[Heard]) -> dict[str, list[str]]:
    """User ids without a phone number, each with the wamid that it answers."""
    answers = [
        (key, one.context)
        for one in heard
        if one.context is not None and not any(key.startswith("+") for key in one.keys)
        for key in one.keys
    ]
    return {"user_ids": [one[0] for one in answers], "contexts": [one[1] for one in answers]}
