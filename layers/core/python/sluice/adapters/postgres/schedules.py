"""Schedules of recurring campaigns, and what became of each start."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from sluice.adapters.postgres.audit import Connection, note, obsolete
from sluice.adapters.postgres.connection import Database
from sluice.domain.audit import Entry, Origin
from sluice.domain.limits import OCCURRENCE_UNSEEN_SECONDS
from sluice.domain.schedules import Decided, StoredSchedule, campaign_id_of

# Any constant will do: one after the other for each schedule, the first time too.
LOCK = "SELECT pg_advisory_xact_lock(5717003, hashtext(%(id)s))"
FIND = "SELECT revision, request_hash, request, state FROM schedule WHERE id = %(id)s"
STORE = """
INSERT INTO schedule (id, revision, request, request_hash, state, created_at, changed_at)
VALUES (%(id)s, %(revision)s, %(request)s, %(request_hash)s, %(state)s, %(now)s, %(now)s)
ON CONFLICT (id) DO UPDATE
SET revision = excluded.revision, request = excluded.request,
    request_hash = excluded.request_hash, state = excluded.state, changed_at = excluded.changed_at
"""
CHANGE = "UPDATE schedule SET state = %(state)s, changed_at = %(now)s WHERE id = %(id)s"
DECIDED = "SELECT reason, request FROM schedule_occurrence WHERE id = %(id)s AND at = %(at)s"
RECORD = """
INSERT INTO schedule_occurrence (id, at, campaign, reason, request, seen_at)
VALUES (%(id)s, %(at)s, %(campaign)s, %(reason)s, %(request)s, %(now)s)
"""
PUBLISHED = "UPDATE schedule_occurrence SET request = NULL WHERE id = %(id)s AND at = %(at)s"
# A campaign that is not there for long was refused, or is erased by now.
UNFINISHED = """
SELECT started.campaign
FROM (
    SELECT campaign, seen_at FROM schedule_occurrence
    WHERE id = %(id)s AND at <> %(at)s AND reason IS NULL
    ORDER BY at DESC LIMIT 50
) AS started
LEFT JOIN campaign USING (campaign)
WHERE campaign.finished_at IS NULL
  AND (campaign.campaign_id IS NOT NULL OR started.seen_at > %(unseen_since)s)
LIMIT 1
"""


class Held:
    """A schedule that nobody else changes until the end of the transaction."""

    def __init__(self, connection: Connection, schedule_id: str) -> None:
        self._connection = connection
        self._own = {"id": schedule_id}
        row = connection.execute(FIND, self._own).fetchone()
        self.stored = StoredSchedule(*row) if row else None

    def obsolete(self, origin: Origin, entry: Entry) -> bool:
        """Whether an order was noted before, or overtaken by a newer one, which is noted now."""
        return obsolete(self._connection, origin, entry)

    def note(self, origin: Origin, entry: Entry) -> None:
        """Note who did what to it."""
        note(self._connection, origin, entry)

    def store(
        self,
        request: Mapping[str, Any],
        *,
        revision: int,
        request_hash: str,
        state: str,
        now: datetime,
    ) -> None:
        """Write the schedule as this revision has it."""
        told = {"revision": revision, "request_hash": request_hash, "state": state, "now": now}
        self._connection.execute(STORE, {**self._own, **told, "request": json.dumps(request)})

    def change(self, state: str, *, now: datetime) -> None:
        """Pause, resume or drop it."""
        self._connection.execute(CHANGE, {**self._own, "state": state, "now": now})

    def decided(self, at: datetime) -> Decided | None:
        """Return what became of a start; None: nothing yet."""
        row = self._connection.execute(DECIDED, {**self._own, "at": at}).fetchone()
        return Decided(*row) if row else None

    def unfinished(self, at: datetime, *, now: datetime) -> str | None:
        """Return a campaign of another start that is not finished."""
        unseen_since = now - timedelta(seconds=OCCURRENCE_UNSEEN_SECONDS)
        parameters = {**self._own, "at": at, "unseen_since": unseen_since}
        row = self._connection.execute(UNFINISHED, parameters).fetchone()
        return str(row[0]) if row else None

    def record(self, at: datetime, decided: Decided, *, now: datetime) -> None:
        """Write what becomes of a start."""
        told = {
            "at": at,
            "campaign": campaign_id_of(self._own["id"], at),
            "reason": decided.reason,
            "request": None if decided.request is None else json.dumps(decided.request),
            "now": now,
        }
        self._connection.execute(RECORD, {**self._own, **told})


class Schedules:
    """Schedules by the clients' ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @contextmanager
    def held(self, schedule_id: str) -> Iterator[Held]:
        """Hold a schedule in one transaction."""
        with self._database.lent() as connection, connection.transaction():
            connection.execute(LOCK, {"id": schedule_id})
            yield Held(connection, schedule_id)

    def published(self, schedule_id: str, at: datetime) -> None:
        """Remember that the campaign of a start was published."""
        self._database.fetch(PUBLISHED, {"id": schedule_id, "at": at})
