"""The status writer's statements: whole batches, and never backwards."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.conversations import LEARN_SENT
from sluice.adapters.postgres.partitions import execute_in, fetch_in, split
from sluice.adapters.postgres.suppressions import Refused, heed_refusals
from sluice.domain.aftermath import Applied, Attempt, Failure
from sluice.domain.delivery import Status, StatusUpdate, UnmatchedStatus

# Any status proves that the message of its attempt was accepted, whatever we believed: the row is
# done; unless the attempt failed and may be tried again, then it is pending with its status kept,
# so that a late `sent` of the failed attempt changes nothing and a late `delivered` ends it after
# all. A status of an attempt before the latest one changes nothing. The first pricing of an attempt
# stays; below `sent` no status of this attempt was written yet, so what is there is of another.
APPLY = """
WITH news AS (
    SELECT * FROM unnest(
        %(campaign_ids)s::int[], %(seqs)s::int[], %(attempts)s::smallint[],
        %(statuses)s::delivery_status[], %(sent_ats)s::timestamptz[],
        %(delivered_ats)s::timestamptz[], %(read_ats)s::timestamptz[],
        %(failed_ats)s::timestamptz[], %(codes)s::int[], %(pricings)s::smallint[],
        %(retry_ats)s::timestamptz[]
    ) AS news (campaign_id, seq, attempt, status, sent_at, delivered_at, read_at, failed_at, code,
               pricing, retry_at)
), locked AS MATERIALIZED (
    SELECT d.campaign_id, d.seq,
           CASE WHEN GREATEST(d.status, news.status) <> 'failed' THEN 'ended'
                WHEN d.status = 'failed' AND d.state IN ('pending', 'queued') THEN 'waits'
                WHEN d.status < 'failed' AND news.retry_at IS NOT NULL AND EXISTS (
                    SELECT FROM campaign AS c JOIN recipient AS r USING (campaign_id)
                    WHERE c.campaign_id = d.campaign_id AND r.seq = d.seq
                      AND news.attempt - d.attempts_before < c.max_attempts
                      AND c.state <> 'cancelled'
                      AND (c.expires_at IS NULL OR c.expires_at > news.retry_at)) THEN 'again'
                ELSE 'ended' END AS outcome
    FROM news JOIN delivery AS d USING (campaign_id, seq)
    WHERE d.attempt <= news.attempt
    ORDER BY d.campaign_id, d.seq
    FOR UPDATE OF d
)
UPDATE delivery AS d
SET state = CASE locked.outcome WHEN 'ended' THEN 'done' WHEN 'again' THEN 'pending'
                                ELSE d.state END,
    due_at = CASE locked.outcome WHEN 'again' THEN news.retry_at WHEN 'waits' THEN d.due_at END,
    phone_number_id = CASE WHEN locked.outcome <> 'again' OR d.number_fixed
                           THEN d.phone_number_id END,
    attempt = news.attempt,
    status = GREATEST(d.status, news.status),
    error_code = CASE WHEN news.status = 'failed' AND d.status < 'failed' THEN news.code
                      ELSE d.error_code END,
    pricing = CASE WHEN d.status < 'sent' THEN news.pricing
                   ELSE COALESCE(d.pricing, news.pricing) END,
    sent_at = LEAST(d.sent_at, news.sent_at),
    delivered_at = LEAST(d.delivered_at, news.delivered_at),
    read_at = LEAST(d.read_at, news.read_at),
    failed_at = LEAST(CASE WHEN d.state = 'sending' AND d.status = 'none' THEN NULL
                           ELSE d.failed_at END, news.failed_at)
FROM locked JOIN news USING (campaign_id, seq)
WHERE d.campaign_id = locked.campaign_id AND d.seq = locked.seq
RETURNING d.campaign_id, locked.outcome,
          CASE WHEN news.delivered_at IS NOT NULL
               THEN extract(epoch FROM d.delivered_at - d.sent_at)::float8 END
"""
# Of an erased campaign, or of another installation, nothing is kept.
EXPLAIN_FAILURES = """
INSERT INTO delivery_error (campaign_id, seq, attempt, code, details, occurred_at)
SELECT told.*, %(now)s FROM unnest(
    %(campaign_ids)s::int[], %(seqs)s::int[], %(attempts)s::smallint[],
    %(codes)s::int[], %(details)s::text[]
) AS told (campaign_id, seq, attempt, code, details)
WHERE EXISTS (SELECT FROM delivery AS d
              WHERE d.campaign_id = told.campaign_id AND d.seq = told.seq)
ORDER BY 1, 2, 3
ON CONFLICT DO NOTHING
"""
# What is to be tried again may belong to a campaign that seemed to be over.
REOPEN = """
UPDATE campaign SET state = 'running', finished_at = NULL, swept_seq = 0, swept_at = NULL
WHERE campaign_id = ANY(%s) AND state = 'finished'
"""
ATTEMPTS_BEFORE = """
SELECT campaign_id, seq, attempts_before
FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS failed (campaign_id, seq)
JOIN delivery USING (campaign_id, seq)
WHERE attempts_before > 0
"""
RESOLVE = """
SELECT wamid, campaign_id, seq, attempt FROM message WHERE wamid = ANY(%s)
"""
KEEP_ORPHANS = """
INSERT INTO orphan_status (wamid, status, occurred_at, error_code, pricing, received_at)
SELECT *, %(now)s FROM unnest(
    %(wamids)s::text[], %(statuses)s::delivery_status[], %(ats)s::timestamptz[], %(codes)s::int[],
    %(pricings)s::smallint[]
)
ON CONFLICT (wamid, status) DO UPDATE
SET occurred_at = LEAST(orphan_status.occurred_at, excluded.occurred_at),
    pricing = COALESCE(orphan_status.pricing, excluded.pricing)
"""
ORPHANS = """
SELECT orphan.wamid, orphan.status::text, orphan.occurred_at, orphan.error_code, orphan.pricing
FROM orphan_status AS orphan
WHERE EXISTS (SELECT FROM message WHERE message.wamid = orphan.wamid)
LIMIT %s
"""
FORGET_ORPHANS = """
DELETE FROM orphan_status
WHERE wamid = ANY(%(wamids)s) OR received_at < %(before)s
"""


class Statuses:
    """What Meta says of messages, written to their deliveries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def apply(
        self,
        updates: Sequence[StatusUpdate],
        *,
        retries: Mapping[Attempt, datetime],
        failures: Sequence[Failure],
        now: datetime,
    ) -> Applied:
        """Write at most one update for each delivery, sorted, with what is known of failures.

        ``retries`` says when a failed attempt may be tried again. A row that is not reached is of
        another installation, or already at a later attempt.
        """
        groups = [
            (group[0].campaign_id, _columns(group, retries))
            for group in split(updates, lambda update: update.campaign_id)
        ]

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> Applied:
            alone = len(groups) == 1 and not failures
            with nullcontext() if alone else connection.transaction():
                rows = [
                    row
                    for campaign_id, parameters in groups
                    for row in execute_in(connection, APPLY, campaign_id, parameters).fetchall()
                ]
                if failures:
                    for group in split(failures, lambda failure: failure.attempt.campaign_id):
                        told = {**_failures(group), "now": now}
                        campaign_id = group[0].attempt.campaign_id
                        execute_in(connection, EXPLAIN_FAILURES, campaign_id, told)
                    heed_refusals(connection, map(_refused, failures), now=now)
                    again = sorted({row[0] for row in rows if row[1] == "again"})
                    connection.execute(REOPEN, (again,))
            return Applied(
                len(rows),
                sum(row[1] == "again" for row in rows),
                tuple(max(0.0, row[2]) for row in rows if row[2] is not None),
            )

        return self._database.run(work) if updates else Applied(0, 0)

    def attempts_before(self, failures: Sequence[Failure]) -> dict[tuple[int, int], int]:
        """Return how often those were tried before an order to send them again, without zeros."""
        later = [one.attempt for one in failures if one.attempt.attempt > 1]
        found: dict[tuple[int, int], int] = {}
        for group in split(sorted(later), lambda attempt: attempt.campaign_id):
            parameters = {
                "campaign_ids": [one.campaign_id for one in group],
                "seqs": [one.seq for one in group],
            }
            rows = fetch_in(self._database, ATTEMPTS_BEFORE, group[0].campaign_id, parameters)
            found |= {(campaign_id, seq): before for campaign_id, seq, before in rows}
        return found

    def learn(self, user_ids: Mapping[tuple[int, int], str]) -> None:
        """Remember whose user ids these are: of whom a message, (campaign_id, seq), went to."""
        if not user_ids:
            return
        for keys in split(sorted(user_ids), lambda key: key[0]):
            fetch_in(
                self._database,
                LEARN_SENT,
                keys[0][0],
                {
                    "campaign_ids": [key[0] for key in keys],
                    "seqs": [key[1] for key in keys],
                    "user_ids": [user_ids[key] for key in keys],
                },
            )

    def resolve(self, wamids: Sequence[str]) -> dict[str, tuple[int, int, int]]:
        """Return (campaign_id, seq, attempt) of each wamid that we know."""
        if not wamids:
            return {}
        rows = self._database.fetch(RESOLVE, (list(wamids),))
        return {wamid: (campaign_id, seq, attempt) for wamid, campaign_id, seq, attempt in rows}

    def keep_orphans(self, orphans: Sequence[UnmatchedStatus], *, now: datetime) -> None:
        """Keep statuses whose message we do not know yet, or never will."""
        if not orphans:
            return
        unique = {(orphan.wamid, orphan.status): orphan for orphan in orphans}
        ordered = [unique[key] for key in sorted(unique)]
        self._database.fetch(
            KEEP_ORPHANS,
            {
                "wamids": [orphan.wamid for orphan in ordered],
                "statuses": [orphan.status.label for orphan in ordered],
                "ats": [orphan.at for orphan in ordered],
                "codes": [orphan.error_code for orphan in ordered],
                "pricings": [orphan.pricing for orphan in ordered],
                "now": now,
            },
        )

    def orphans(self, *, limit: int) -> list[UnmatchedStatus]:
        """Return kept statuses whose message is known by now."""
        return [
            UnmatchedStatus(wamid, Status[status.upper()], at, code, pricing)
            for wamid, status, at, code, pricing in self._database.fetch(ORPHANS, (limit,))
        ]

    def forget_orphans(self, wamids: Sequence[str], *, before: datetime) -> None:
        """Drop the ones that were applied, and those that nobody claimed since ``before``."""
        self._database.fetch(FORGET_ORPHANS, {"wamids": list(wamids), "before": before})


def _refused(failure: Failure) -> Refused:
    attempt = failure.attempt
    return Refused(attempt.campaign_id, attempt.seq, failure.code, failure.at)


def _failures(failures: Sequence[Failure]) -> dict[str, list[object]]:
    return {
        "campaign_ids": [failure.attempt.campaign_id for failure in failures],
        "seqs": [failure.attempt.seq for failure in failures],
        "attempts": [failure.attempt.attempt for failure in failures],
        "codes": [failure.code for failure in failures],
        "details": [failure.details for failure in failures],
    }


def _columns(
    updates: Sequence[StatusUpdate], retries: Mapping[Attempt, datetime]
) -> dict[str, list[object]]:
    return {
        "retry_ats": [retries.get(Attempt(*update.key)) for update in updates],
        "campaign_ids": [update.campaign_id for update in updates],
        "seqs": [update.seq for update in updates],
        "attempts": [update.attempt for update in updates],
        "statuses": [update.status.label for update in updates],
        "sent_ats": [update.sent_at for update in updates],
        "delivered_ats": [update.delivered_at for update in updates],
        "read_ats": [update.read_at for update in updates],
        "failed_ats": [update.failed_at for update in updates],
        "codes": [update.error_code for update in updates],
        "pricings": [update.pricing for update in updates],
    }
