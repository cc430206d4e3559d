"""Who did what: rows that are only ever added, in the transaction of what they tell."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.domain.audit import Entry, Origin

Connection = psycopg.Connection[tuple[Any, ...]]

NOTE = """
INSERT INTO audit (actor, via, action, subject, details, message_id, ordered_at)
VALUES (
    %(actor)s, %(via)s, %(action)s, %(subject)s, jsonb_strip_nulls(%(details)s), %(message_id)s,
    %(ordered_at)s
) ON CONFLICT (message_id, action) DO NOTHING
RETURNING audit_id
"""
NOTED = "SELECT FROM audit WHERE message_id = %(message_id)s AND action = %(action)s"
# What was ordered later and is in force already. Its row is locked: nobody orders meanwhile.
OVERTAKEN = """
SELECT message_id FROM audit
WHERE subject = %(subject)s AND action = ANY (%(rivals)s) AND ordered_at > %(ordered_at)s
  AND NOT details ? 'overtaken_by'
ORDER BY ordered_at DESC LIMIT 1
"""
RIVALS: Final = {
    "pause": ["pause", "resume"],
    "resume": ["pause", "resume"],
    "prioritise": ["prioritise"],
    "put": ["drop"],
    "drop": ["put"],
}
"""Actions of which the one counts that was published last. What is cancelled stays so."""
ORDERED = "SELECT set_config('sluice.ordered', 'yes', true)"
BY_META = "SELECT set_config('sluice.actor', 'meta', true)"


class Audit:
    """Notes what has no transaction of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, origin: Origin, entry: Entry) -> bool:
        """Note something; False: that message was noted for it before."""
        return bool(self._database.fetch(NOTE, noting(origin, entry)))


def obey(
    database: Database,
    origin: Origin,
    entry: Entry,
    parameters: Mapping[str, Any],
    *,
    look: str,
    change: str,
) -> str | None:
    """Carry an order out and note it, both or neither; return what holds then.

    ``look`` locks what the order is about; both statements return how it stands. None: there is no
    such thing, and nothing is noted. An order that was noted before is not carried out again, and
    one that was published before its rival, which is carried out already, is only noted: queues
    keep no order, and what failed at first comes back after minutes.
    """

    def work(connection: Connection) -> str | None:
        with connection.transaction():
            connection.execute(ORDERED)
            found = connection.execute(look.encode(), parameters).fetchone()
            if found is None:
                return None
            if not obsolete(connection, origin, entry) and note(connection, origin, entry):
                found = connection.execute(change.encode(), parameters).fetchone()
            return str(found[0]) if found else None

    return database.run(work)


def obsolete(connection: Connection, origin: Origin, entry: Entry) -> bool:
    """Whether an order is not to be carried out: it was noted before, or a newer one overtook it.

    The latter is noted now. What the order is about is locked meanwhile.
    """
    newer = _overtaking(connection, origin, entry)
    if newer is not None:
        told = {**entry.details, "overtaken_by": newer}
        note(connection, origin, replace(entry, details=told))
        return True
    return connection.execute(NOTED, noting(origin, entry)).fetchone() is not None


def _overtaking(connection: Connection, origin: Origin, entry: Entry) -> str | None:
    """Return the newest rival that was published after this order, by its message id."""
    rivals = RIVALS.get(entry.action)
    if origin.at is None or rivals is None:
        return None
    parameters = {"subject": entry.subject, "rivals": rivals, "ordered_at": origin.at}
    found = connection.execute(OVERTAKEN, parameters).fetchone()
    return str(found[0]) if found else None


def by_meta(database: Database, statement: str, parameters: dict[str, Any]) -> int:
    """Run a statement that does what Meta's word asks for; return its rows."""

    def work(connection: Connection) -> int:
        with connection.transaction():
            connection.execute(BY_META)
            return len(connection.execute(statement.encode(), parameters).fetchall())

    return database.run(work)


def note(connection: Connection, origin: Origin, entry: Entry) -> bool:
    """Note something in a transaction that is open; False: it was noted before."""
    return connection.execute(NOTE, noting(origin, entry)).fetchone() is not None


def noting(origin: Origin, entry: Entry) -> dict[str, Any]:
    """Return the parameters of NOTE."""
    return {
        "actor": origin.actor,
        "via": origin.via,
        "message_id": origin.message_id,
        "ordered_at": origin.at,
        "action": entry.action,
        "subject": entry.subject,
        "details": json.dumps(dict(entry.details)),
    }
