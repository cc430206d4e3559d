"""Messages of which Meta says nothing more: dropped at the end of their time to live."""

from datetime import datetime

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import fetch_in
from sluice.domain.silence import MARGIN, Passed, Unswept

# A direct campaign never finishes: it is swept behind its newest sends. Only where the next row is
# settled by now is there anything to do.
UNSWEPT = """
SELECT campaign_id, swept_seq, time_to_live FROM campaign
WHERE swept_at IS NULL
  AND ((kind = 'direct' AND swept_seq < loaded_rows)
       OR finished_at <= %(now)s - time_to_live - %(margin)s)
  AND COALESCE((
      SELECT d.due_at IS NULL AND NOT (
          d.state = 'done' AND d.status IN ('held', 'accepted', 'sent')
          AND GREATEST(d.accepted_at, d.sent_at) > %(now)s - time_to_live - %(margin)s
      )
      FROM delivery AS d
      WHERE d.campaign_id = campaign.campaign_id AND d.seq > swept_seq
      ORDER BY d.seq LIMIT 1
  ), true)
ORDER BY campaign_id
"""
# A page by the primary key, up to the first row that may still change. Only the status changes,
# which no index has: HOT.
# `left_before` is when messages left whose time to live is over, and the margin too.
SWEEP = """
WITH page AS MATERIALIZED (
    SELECT seq, due_at IS NOT NULL OR (
        state = 'done' AND status IN ('held', 'accepted', 'sent')
        AND GREATEST(accepted_at, sent_at) > %(left_before)s
    ) AS open
    FROM delivery WHERE campaign_id = %(campaign_id)s AND seq > %(after)s
    ORDER BY seq LIMIT %(limit)s
), reach AS MATERIALIZED (
    SELECT COALESCE(min(seq) FILTER (WHERE open) - 1, max(seq), %(after)s) AS seq,
           count(*) AS rows, COALESCE(bool_or(open), false) AS stopped
    FROM page
), silent AS MATERIALIZED (
    SELECT d.seq FROM delivery AS d
    WHERE d.campaign_id = %(campaign_id)s AND d.seq > %(after)s
      AND d.seq <= (SELECT seq FROM reach)
      AND d.state = 'done' AND d.status IN ('held', 'accepted', 'sent')
      AND GREATEST(d.accepted_at, d.sent_at) <= %(left_before)s
    ORDER BY d.seq
    FOR UPDATE
), ended AS (
    UPDATE delivery AS d SET status = 'expired'
    WHERE d.campaign_id = %(campaign_id)s AND d.seq = ANY (ARRAY(SELECT seq FROM silent))
    RETURNING 1
), moved AS (
    UPDATE campaign
    SET swept_seq = reach.seq,
        swept_at = CASE WHEN campaign.kind = 'campaign' AND NOT reach.stopped
                         AND reach.rows < %(limit)s THEN %(now)s END
    FROM reach
    WHERE campaign_id = %(campaign_id)s AND swept_seq = %(after)s AND swept_at IS NULL
)
SELECT reach.seq, (SELECT count(*) FROM ended), reach.rows = %(limit)s AND NOT reach.stopped
FROM reach
"""


class Silences:
    """Walks campaigns once, by pages; the progress stands in the campaign's row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unswept(self, *, now: datetime) -> list[Unswept]:
        """Return the campaigns that may have silent messages whose time is over."""
        rows = self._database.fetch(UNSWEPT, {"now": now, "margin": MARGIN})
        return [Unswept(*row) for row in rows]

    def sweep(self, campaign: Unswept, *, now: datetime, limit: int) -> Passed:
        """End the silent messages among the next ``limit`` rows; run twice, it finds none."""
        ((after, expired, more),) = fetch_in(
            self._database,
            SWEEP,
            campaign.campaign_id,
            {
                "campaign_id": campaign.campaign_id,
                "after": campaign.after,
                "left_before": now - campaign.time_to_live - MARGIN,
                "limit": limit,
                "now": now,
            },
        )
        return Passed(after, expired, more)
