"""Sending again what a person orders, page by page, each row once for each order."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from psycopg.errors import QueryCanceled

from sluice.adapters.postgres.approvals import hold_if_large
from sluice.adapters.postgres.audit import ORDERED, Connection, note
from sluice.adapters.postgres.connection import Database
from sluice.domain.audit import ENGINE, Entry, Origin, about_campaign
from sluice.domain.limits import REPORT_DETAILS_SECONDS, RESEND_BATCH_ROWS
from sluice.domain.resends import (
    CLASSES,
    NEVER_CODES,
    RETRYABLE_CODES,
    UNKNOWN_CODES,
    Candidates,
    Scope,
    StoredResend,
    Subject,
    hindrance,
    people_in,
)
from sluice.domain.results import REFUSALS

if TYPE_CHECKING:
    from sluice.domain.models.command import Resend

CATEGORY = """
SELECT campaign_id, request ->> 'category', state, start_at, expires_at FROM campaign
WHERE campaign = %(campaign)s AND kind = 'campaign'
"""
LOCK_SUBJECT = """
SELECT campaign_id, state, start_at, expires_at FROM campaign
WHERE campaign = %(campaign)s AND kind = 'campaign' FOR UPDATE
"""
_RESEND = "campaign_id, request_hash, taken, finished_at IS NOT NULL, stopped"
FIND = f"""
SELECT {_RESEND} FROM resend WHERE campaign_id = %(campaign_id)s AND id = %(id)s
"""  # noqa: S608 - our own column names
BEGIN = """
INSERT INTO resend (campaign_id, id, request_hash, scope, last_seq, began_at)
SELECT campaign_id, %(id)s, %(request_hash)s, %(scope)s, loaded_rows, %(now)s
FROM campaign WHERE campaign_id = %(campaign_id)s
"""
PROLONG = """
UPDATE campaign SET expires_at = COALESCE(%(expires_at)s, expires_at)
WHERE campaign_id = %(campaign_id)s
"""
LOCK = """
SELECT passed_seq, last_seq, scope, resend.finished_at IS NOT NULL, campaign
FROM resend JOIN campaign USING (campaign_id)
WHERE campaign_id = %(campaign_id)s AND id = %(id)s FOR UPDATE OF resend
"""
LOCK_CAMPAIGN = """
SELECT state, start_at, expires_at FROM campaign WHERE campaign_id = %(campaign_id)s FOR UPDATE
"""
# What Meta took and did not give up is in no class, nor what somebody will come back to.
_CLASS = """
CASE WHEN d.due_at IS NOT NULL THEN NULL
     WHEN d.state = 'expired' THEN 'expired'
     WHEN d.state = 'unknown' OR (d.state = 'failed' AND d.error_code = ANY(%(unknown_codes)s))
     THEN 'unknown'
     WHEN d.state = 'failed' OR (d.state = 'done' AND d.status = 'failed') THEN CASE
         WHEN d.error_code = ANY(%(never_codes)s) THEN NULL
         WHEN d.error_code = ANY(%(retryable_codes)s) THEN 'retryable'
         ELSE 'failed' END
END = ANY(%(classes)s)
"""
_SUPPRESSED = """
EXISTS (
    SELECT FROM suppression AS s
    WHERE s.match_key = r.match_key AND NOT s.lifted
      AND (s.scope = 'all' OR c.request ->> 'category' = 'marketing')
)
"""
# The row keeps its attempt and its status until the next claim, as every row that comes back: so
# what is told of the last attempt until then still counts, and after that changes nothing. Who was
# never tried is due as it was at first, so that stages count it with those they let go.
TAKE = f"""
WITH wanted AS MATERIALIZED (
    SELECT d.seq, d.state, d.error_code, c.created_at
    FROM delivery AS d
    JOIN recipient AS r USING (campaign_id, seq)
    JOIN campaign AS c USING (campaign_id)
    WHERE d.campaign_id = %(campaign_id)s AND d.seq > %(after)s AND d.seq <= %(upto)s
      AND r.campaign_id = %(campaign_id)s AND r.seq > %(after)s AND r.seq <= %(upto)s
      AND {_CLASS} AND NOT {_SUPPRESSED}
    ORDER BY d.seq
    FOR UPDATE OF d
), taken AS (
    UPDATE delivery AS d
    SET state = 'pending', attempts_before = d.attempt,
        due_at = CASE WHEN wanted.state = 'expired' AND d.attempt = 0 THEN wanted.created_at
                      ELSE %(now)s END,
        phone_number_id = CASE WHEN d.number_fixed THEN d.phone_number_id END
    FROM wanted
    WHERE d.campaign_id = %(campaign_id)s AND d.seq = wanted.seq
    RETURNING d.seq
), uncounted AS (
    INSERT INTO refusal_counter AS counter (campaign_id, code, shard, deliveries)
    SELECT %(campaign_id)s, error_code, pg_backend_pid() %% 16, -count(*)
    FROM wanted WHERE state = 'failed' AND error_code = ANY(%(refusal_codes)s)
    GROUP BY error_code ORDER BY error_code
    ON CONFLICT (campaign_id, code, shard)
    DO UPDATE SET deliveries = counter.deliveries + excluded.deliveries
)
SELECT count(*) FROM taken
"""  # noqa: S608 - our own conditions
REOPEN = """
UPDATE campaign
SET state = CASE state WHEN 'finished' THEN 'running' ELSE state END, finished_at = NULL,
    swept_seq = 0, swept_at = NULL
WHERE campaign_id = %(campaign_id)s AND finished_at IS NOT NULL
"""
ADVANCE = f"""
UPDATE resend
SET passed_seq = %(upto)s, taken = taken + %(taken)s,
    finished_at = CASE WHEN %(upto)s >= last_seq THEN %(now)s::timestamptz END
WHERE campaign_id = %(campaign_id)s AND id = %(id)s
RETURNING {_RESEND}
"""  # noqa: S608 - our own column names
STOP = f"""
UPDATE resend SET finished_at = %(now)s, stopped = %(stopped)s
WHERE campaign_id = %(campaign_id)s AND id = %(id)s
RETURNING {_RESEND}
"""  # noqa: S608 - our own column names
CANDIDATES = f"""
SELECT d.error_code, d.country_code, {_SUPPRESSED} AS suppressed, count(*)
FROM delivery AS d
JOIN recipient AS r USING (campaign_id, seq)
JOIN campaign AS c USING (campaign_id)
WHERE d.campaign_id = %(campaign_id)s AND r.campaign_id = %(campaign_id)s AND {_CLASS}
GROUP BY 1, 2, 3
"""  # noqa: S608 - our own conditions
TIME_LIMIT = "SELECT set_config('statement_timeout', %s, true)"


class Resends:
    """Orders to send again, by the clients' ids."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(
        self, order: "Resend", *, request_hash: str, now: datetime, origin: Origin = ENGINE
    ) -> StoredResend | str | None:
        """Store the order and note it, or return it as far as it has come.

        A text says why it may not be; None: there is no such campaign.
        """
        parameters = {
            "campaign": order.campaign,
            "id": order.id,
            "request_hash": request_hash,
            "scope": order.scope,
            "expires_at": order.expires_at,
            "now": now,
        }
        entry = _order_entry(order)

        def work(connection: Connection) -> StoredResend | str | None:
            with connection.transaction():
                row = connection.execute(LOCK_SUBJECT, parameters).fetchone()
                if row is None:
                    return None
                own = {**parameters, "campaign_id": row[0]}
                stored = connection.execute(FIND, own).fetchone()
                if stored is None:
                    why = hindrance(Subject(*row[1:]), expires_at=order.expires_at, now=now)
                    if why is not None:
                        return why
                    connection.execute(BEGIN, own)
                    connection.execute(PROLONG, own)
                    note(connection, origin, entry)
                    stored = connection.execute(FIND, own).fetchone()
            assert stored is not None, "it was just stored"
            return StoredResend(*stored)

        return self._database.run(work)

    def take(
        self, campaign_id: int, resend_id: str, *, now: datetime, above: int | None = None
    ) -> StoredResend:
        """Return the deliveries of the next page to pending, and open their campaign again.

        With the first page the campaign is held, if the order goes to more people than ``above``:
        so nobody picks any of them before an approval, and no other page asks for a second one.
        """
        own = {"campaign_id": campaign_id, "id": resend_id, "now": now}

        def work(connection: Connection) -> StoredResend:
            with connection.transaction():
                passed, last, scope, finished, campaign = _one(connection, LOCK, own)
                if finished:
                    return StoredResend(*_one(connection, FIND, own))
                people = 0
                if passed == 0 and above is not None and last > above:
                    people = _people(connection, campaign_id, scope, at_most=last)
                page = {"after": passed, "upto": min(last, passed + RESEND_BATCH_ROWS)}
                parameters = {**own, **page, **parameters_of(scope)}
                stored = _page(connection, parameters, people=people, above=above)
                if stored.finished:
                    note(connection, ENGINE, _end_entry(campaign, resend_id, stored))
                return stored

        return self._database.run(work)

    def preview(
        self, campaign: str, scope: Scope
    ) -> tuple[Subject, str, list[Candidates] | None] | None:
        """Return the campaign, its category and what a scope of it has; changes nothing.

        None: there is no such campaign. No candidates: it took over REPORT_DETAILS_SECONDS.
        """
        rows = self._database.fetch(CATEGORY, {"campaign": campaign})
        if not rows:
            return None
        campaign_id, category, *subject = rows[0]
        candidates = self._database.run(lambda live: _candidates(live, campaign_id, scope))
        return Subject(*subject), category, candidates


def _page(
    connection: Connection, page: dict[str, Any], *, people: int, above: int | None
) -> StoredResend:
    """Take a page, or stop the order.

    The campaign is locked before its rows, as ``finish`` of the reconciler locks it: what was
    finished meanwhile is open again, and what is open sees the rows.
    """
    subject = Subject(*_one(connection, LOCK_CAMPAIGN, page))
    why = hindrance(subject, expires_at=None, now=page["now"])
    if why is not None:
        return StoredResend(*_one(connection, STOP, {**page, "stopped": why}))
    hold_if_large(connection, page["campaign_id"], people=people, above=above)
    (taken,) = _one(connection, TAKE, {**page, "refusal_codes": list(REFUSALS)})
    if taken:
        connection.execute(ORDERED)
        connection.execute(REOPEN, page)
    return StoredResend(*_one(connection, ADVANCE, {**page, "taken": taken}))


def _candidates(connection: Connection, campaign_id: int, scope: Scope) -> list[Candidates] | None:
    try:
        with connection.transaction():
            connection.execute(TIME_LIMIT, (str(int(1000 * REPORT_DETAILS_SECONDS)),))
            own = {"campaign_id": campaign_id, **parameters_of(scope)}
            return [Candidates(*row) for row in connection.execute(CANDIDATES, own)]
    except QueryCanceled:
        return None


def _people(connection: Connection, campaign_id: int, scope: Scope, *, at_most: int) -> int:
    """How many an order would send to; who cannot be counted in time are as many as may be."""
    candidates = _candidates(connection, campaign_id, scope)
    return at_most if candidates is None else people_in(candidates)


def _order_entry(order: "Resend") -> Entry:
    details = {"resend": order.id, "scope": order.scope, "reason": order.reason}
    if order.expires_at is not None:
        details["expires_at"] = order.expires_at.isoformat()
    return Entry(order.action, about_campaign(order.campaign), details)


def _end_entry(campaign: str, resend_id: str, ended: StoredResend) -> Entry:
    details = {"resend": resend_id, "people": ended.taken, "stopped": ended.stopped}
    return Entry("resend finished", about_campaign(campaign), details)


def _one(connection: Connection, statement: str, parameters: dict[str, Any]) -> tuple[Any, ...]:
    row = connection.execute(statement.encode(), parameters).fetchone()
    assert row is not None, "these statements always give a row"
    return row


def parameters_of(scope: Scope) -> dict[str, Sequence[object]]:
    """Return what the statements must know of a scope."""
    return {
        "classes": list(CLASSES[scope]),
        "never_codes": sorted(NEVER_CODES),
        "retryable_codes": sorted(RETRYABLE_CODES),
        "unknown_codes": sorted(UNKNOWN_CODES),
    }
