"""The status writer's statements: whole batches, and never backwards."""

from collections.abc import Sequence
from datetime import datetime

from sluice.adapters.postgres.connection import Database
from sluice.domain.delivery import Status, StatusUpdate, UnmatchedStatus

# Any status proves that the message of its attempt was accepted, whatever we believed: the row is
# done. A status of an attempt before the latest one changes nothing.
APPLY = """
WITH news AS (
    SELECT * FROM unnest(
        %(campaign_ids)s::int[], %(seqs)s::int[], %(attempts)s::smallint[],
        %(statuses)s::delivery_status[], %(sent_ats)s::timestamptz[],
        %(delivered_ats)s::timestamptz[], %(read_ats)s::timestamptz[],
        %(failed_ats)s::timestamptz[], %(codes)s::int[]
    ) AS news (campaign_id, seq, attempt, status, sent_at, delivered_at, read_at, failed_at, code)
), locked AS MATERIALIZED (
    SELECT d.campaign_id, d.seq
    FROM news JOIN delivery AS d USING (campaign_id, seq)
    ORDER BY d.campaign_id, d.seq
    FOR UPDATE OF d
)
UPDATE delivery AS d
SET state = 'done',
    due_at = NULL,
    attempt = news.attempt,
    status = GREATEST(d.status, news.status),
    error_code = CASE WHEN news.status = 'failed' AND d.status < 'failed' THEN news.code
                      ELSE d.error_code END,
    sent_at = LEAST(d.sent_at, news.sent_at),
    delivered_at = LEAST(d.delivered_at, news.delivered_at),
    read_at = LEAST(d.read_at, news.read_at),
    failed_at = LEAST(d.failed_at, news.failed_at)
FROM locked JOIN news USING (campaign_id, seq)
WHERE d.campaign_id = locked.campaign_id AND d.seq = locked.seq AND d.attempt <= news.attempt
RETURNING d.campaign_id, d.seq
"""
RESOLVE = """
SELECT wamid, campaign_id, seq, attempt FROM message WHERE wamid = ANY(%s)
"""
KEEP_ORPHANS = """
INSERT INTO orphan_status (wamid, status, occurred_at, error_code, received_at)
SELECT *, %(now)s FROM unnest(
    %(wamids)s::text[], %(statuses)s::delivery_status[], %(ats)s::timestamptz[], %(codes)s::int[]
)
ON CONFLICT (wamid, status) DO UPDATE
SET occurred_at = LEAST(orphan_status.occurred_at, excluded.occurred_at)
"""
ORPHANS = """
SELECT orphan.wamid, orphan.status::text, orphan.occurred_at, orphan.error_code
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

    def apply(self, updates: Sequence[StatusUpdate]) -> int:
        """Write at most one update for each delivery, sorted; returns how many rows it reached.

        A row that is not reached is of another installation, or already at a later attempt.
        """
        if not updates:
            return 0
        return len(self._database.fetch(APPLY, _columns(updates)))

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
                "now": now,
            },
        )

    def orphans(self, *, limit: int) -> list[UnmatchedStatus]:
        """Return kept statuses whose message is known by now."""
        return [
            UnmatchedStatus(wamid, Status[status.upper()], at, code)
            for wamid, status, at, code in self._database.fetch(ORPHANS, (limit,))
        ]

    def forget_orphans(self, wamids: Sequence[str], *, before: datetime) -> None:
        """Drop the ones that were applied, and those that nobody claimed since ``before``."""
        self._database.fetch(FORGET_ORPHANS, {"wamids": list(wamids), "before": before})


def _columns(updates: Sequence[StatusUpdate]) -> dict[str, list[object]]:
    return {
        "campaign_ids": [update.campaign_id for update in updates],
        "seqs": [update.seq for update in updates],
        "attempts": [update.attempt for update in updates],
        "statuses": [update.status.label for update in updates],
        "sent_ats": [update.sent_at for update in updates],
        "delivered_ats": [update.delivered_at for update in updates],
        "read_ats": [update.read_at for update in updates],
        "failed_ats": [update.failed_at for update in updates],
        "codes": [update.error_code for update in updates],
    }
