"""Templates as Meta has them, and how often we have asked for them."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.domain.graph import CALLS_PER_HOUR_MAX, KnownTemplate, StoredTemplate
from sluice.domain.told import TellTemplate

HOUR = timedelta(hours=1)
WEBHOOK_SECOND = timedelta(seconds=1)
"""Webhooks tell whole seconds: one may be about any moment of its second."""

FIND = """
SELECT name, language, status, category, components, parameter_format, quality, synced_at
FROM template WHERE account_id = %(account_id)s AND name = %(name)s
ORDER BY language
"""
SYNCED_AT = "SELECT synced_at FROM template_sync WHERE account_id = %(account_id)s"
# A call is counted before it is made: one whose answer is lost counts too.
TAKE_CALL = """
INSERT INTO template_sync AS kept (account_id, calls)
VALUES (%(account_id)s, ARRAY[%(now)s::timestamptz])
ON CONFLICT (account_id) DO UPDATE
SET calls = ARRAY(SELECT call FROM unnest(kept.calls) AS call WHERE call > %(since)s) || %(now)s
WHERE (SELECT count(*) FROM unnest(kept.calls) AS call WHERE call > %(since)s) < %(calls_max)s
  AND (kept.rest_until IS NULL OR kept.rest_until <= %(now)s)
RETURNING account_id
"""
REST = """
INSERT INTO template_sync AS kept (account_id, rest_until) VALUES (%(account_id)s, %(until)s)
ON CONFLICT (account_id) DO UPDATE SET rest_until = GREATEST(kept.rest_until, excluded.rest_until)
"""
# What a signal has told since the question was asked is newer than the answer.
STORE = """
INSERT INTO template AS kept (
    account_id, name, language, status, category, components, parameter_format, quality,
    synced_at, told_at
)
SELECT %(account_id)s, name, language, status, category, components, format, quality,
       %(asked_at)s, %(asked_at)s
FROM unnest(
    %(names)s::text[], %(languages)s::text[], %(statuses)s::text[], %(categories)s::text[],
    %(components)s::jsonb[], %(formats)s::text[], %(qualities)s::text[]
) AS told (name, language, status, category, components, format, quality)
ORDER BY name, language
ON CONFLICT (account_id, name, language) DO UPDATE
SET status = excluded.status, category = excluded.category, components = excluded.components,
    parameter_format = excluded.parameter_format, quality = excluded.quality,
    synced_at = excluded.synced_at, told_at = excluded.told_at
WHERE kept.told_at <= excluded.told_at
"""
FORGET = """
DELETE FROM template
WHERE account_id = %(account_id)s AND COALESCE(name = %(name)s, true) AND told_at < %(asked_at)s
"""
SYNCED = """
INSERT INTO template_sync AS kept (account_id, synced_at) VALUES (%(account_id)s, %(asked_at)s)
ON CONFLICT (account_id) DO UPDATE SET synced_at = GREATEST(kept.synced_at, excluded.synced_at)
"""
# Whatever came too late to count makes the next one who needs the template ask again.
TELL = """
UPDATE template
SET status = CASE WHEN told_at < %(until)s THEN COALESCE(%(status)s, status) ELSE status END,
    category = CASE WHEN told_at < %(until)s THEN COALESCE(%(category)s, category)
                    ELSE category END,
    quality = CASE WHEN told_at < %(until)s THEN COALESCE(%(quality)s, quality) ELSE quality END,
    told_at = GREATEST(told_at, %(at)s), synced_at = NULL
WHERE account_id = %(account_id)s AND name = %(name)s
  AND COALESCE(lower(language) = %(language)s, true)
"""


class Templates:
    """Templates by account, each as the newest word has it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, account_id: str, name: str) -> list[KnownTemplate]:
        """Return the templates of this name, one for each language."""
        rows = self._database.fetch(FIND, {"account_id": account_id, "name": name})
        return [
            KnownTemplate(
                StoredTemplate(
                    name, language, status, category, tuple(components), parameter_format, quality
                ),
                synced_at,
            )
            for name, language, status, category, components, parameter_format, quality, synced_at
            in rows
        ]  # fmt: skip

    def synced_at(self, account_id: str) -> datetime | None:
        """Return when all templates of the account were read last."""
        rows = self._database.fetch(SYNCED_AT, {"account_id": account_id})
        return rows[0][0] if rows else None

    def take_call(self, account_id: str, *, now: datetime) -> bool:
        """Count a management call that is about to be made; False: it must not be made now."""
        parameters = {
            "account_id": account_id,
            "now": now,
            "since": now - HOUR,
            "calls_max": CALLS_PER_HOUR_MAX,
        }
        return bool(self._database.fetch(TAKE_CALL, parameters))

    def rest(self, account_id: str, *, until: datetime) -> None:
        """Make no call about the account before ``until``."""
        self._database.fetch(REST, {"account_id": account_id, "until": until})

    def store(
        self,
        account_id: str,
        templates: Sequence[StoredTemplate],
        *,
        asked_at: datetime,
        name: str | None,
    ) -> None:
        """Keep an answer: all templates of the account, or all of one name. Others are gone."""
        told = {(one.name, one.language): one for one in templates}.values()
        parameters = {
            "account_id": account_id,
            "asked_at": asked_at,
            "name": name,
            "names": [one.name for one in told],
            "languages": [one.language for one in told],
            "statuses": [one.status for one in told],
            "categories": [one.category for one in told],
            "components": [json.dumps(list(one.components)) for one in told],
            "formats": [one.parameter_format for one in told],
            "qualities": [one.quality for one in told],
        }
        statements = (STORE, FORGET) if name is not None else (STORE, FORGET, SYNCED)

        def work(connection: psycopg.Connection[tuple[object, ...]]) -> None:
            with connection.transaction():
                for statement in statements:
                    connection.execute(statement.encode(), parameters)

        self._database.run(work)

    def tell(self, told: TellTemplate) -> None:
        """Take the word of a signal.

        A template that is not known yet is left to who asks for it.
        """
        self._database.fetch(TELL, {**asdict(told), "until": told.at + WEBHOOK_SECOND})
