"""The reconciler's statements: what nobody else will come back to."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import execute_in, fetch_in
from sluice.domain.campaign import OpenCampaign
from sluice.domain.clock import FOREVER
from sluice.domain.gauges import CampaignGauge, Standing, gauges_of
from sluice.domain.limits import STAY_PATIENCE_SECONDS
from sluice.domain.results import UNANSWERED

OPEN_CAMPAIGNS = """
SELECT campaign_id, kind, state, expires_at <= %(now)s, numbers, unknown_resend, unknown_window,
       max_attempts, sticky_numbers
FROM campaign WHERE finished_at IS NULL ORDER BY campaign_id
"""
# `due_at` says when a row must be looked at; each state has its own answer.
_LAPSED = """
WITH lapsed AS MATERIALIZED (
    SELECT seq FROM delivery
    WHERE campaign_id = %(campaign_id)s AND state = '{state}'
      AND phone_number_id = ANY(%(numbers)s) AND due_at <= %(now)s
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE delivery AS d SET {change}
WHERE d.campaign_id = %(campaign_id)s AND d.seq = ANY (ARRAY(SELECT seq FROM lapsed))
RETURNING d.state
"""
REQUEUE_LOST = _LAPSED.format(
    state="queued",
    change="""
    state = 'pending', due_at = %(now)s,
    phone_number_id = CASE WHEN number_fixed THEN phone_number_id END""",
)
DOUBT_STUCK = _LAPSED.format(
    state="sending",
    change="state = 'unknown', due_at = %(window_ends_at)s, failed_at = NULL",
)
SETTLE_UNKNOWN = _LAPSED.format(
    state="unknown",
    change="""
    state = CASE WHEN NOT %(resend)s THEN 'unknown'
                 WHEN attempt - attempts_before < %(max_attempts)s THEN 'pending'
                 ELSE 'failed' END::delivery_state,
    due_at = CASE WHEN %(resend)s AND attempt - attempts_before < %(max_attempts)s
                  THEN %(now)s END,
    error_code = CASE WHEN %(resend)s AND attempt - attempts_before >= %(max_attempts)s
                      THEN %(unanswered)s ELSE error_code END,
    phone_number_id = CASE WHEN number_fixed OR NOT %(resend)s
                             OR attempt - attempts_before >= %(max_attempts)s
                           THEN phone_number_id END""",
)
# Rows that stay with a number for the sake of a conversation, while it cannot send.
FREE_STICKY = """
WITH freed AS MATERIALIZED (
    SELECT seq FROM delivery
    WHERE campaign_id = %(campaign_id)s AND state = 'pending' AND due_at IS NOT NULL
      AND phone_number_id = ANY (ARRAY(
          SELECT stays FROM unnest(%(sticky_numbers)s::text[]) AS stays
          WHERE NOT EXISTS (
              SELECT FROM number
              WHERE phone_number_id = stays AND number.state = 'active'
                AND COALESCE(paused_until, '-infinity') <= %(patience_ends_at)s)))
      AND number_sticky
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE delivery AS d SET phone_number_id = NULL, number_fixed = false, number_sticky = false
WHERE d.campaign_id = %(campaign_id)s AND d.seq = ANY (ARRAY(SELECT seq FROM freed))
RETURNING d.state
"""
# Rows that wait for a campaign that will not send them any more.
CLOSE_WAITING = """
WITH waiting AS MATERIALIZED (
    SELECT seq FROM delivery
    WHERE campaign_id = %(campaign_id)s AND state IN ('pending', 'queued') AND due_at IS NOT NULL
    LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
UPDATE delivery AS d SET state = %(state)s, due_at = NULL
WHERE d.campaign_id = %(campaign_id)s AND d.seq = ANY (ARRAY(SELECT seq FROM waiting))
RETURNING d.state
"""
LOCK_CAMPAIGN = "SELECT FROM campaign WHERE campaign_id = %(campaign_id)s FOR UPDATE"
# The order makes the planner take the index of due rows, however few or many there are.
FINISH = """
WITH first_open AS MATERIALIZED (
    SELECT seq FROM delivery WHERE campaign_id = %(campaign_id)s AND due_at IS NOT NULL
    ORDER BY state, phone_number_id, zone, due_at LIMIT 1
)
UPDATE campaign
SET state = CASE state WHEN 'running' THEN 'finished' ELSE state END, finished_at = %(now)s
WHERE campaign_id = %(campaign_id)s AND kind = 'campaign' AND finished_at IS NULL
  AND (state = 'cancelled' OR (state = 'running' AND loaded_at IS NOT NULL))
  AND NOT EXISTS (SELECT FROM first_open)
RETURNING campaign_id
"""

STANDING = """
SELECT count(*) FILTER (WHERE approval = 'awaited' AND state IN ('running', 'paused')),
       (SELECT count(*) FROM number WHERE state = 'active' AND paused_until >= %(forever)s),
       count(*) FILTER (
           WHERE state = 'paused' AND COALESCE(paused_until, 'infinity') >= %(forever)s)
FROM campaign WHERE finished_at IS NULL
"""
# By the counters of what is open: nothing counts deliveries.
GAUGES = """
SELECT campaign_id, campaign, kind, campaign.state, counter.state, counter.status,
       sum(counter.deliveries)::bigint
FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
WHERE campaign.finished_at IS NULL
GROUP BY campaign_id, counter.state, counter.status HAVING sum(counter.deliveries) <> 0
"""

NOTE_PROGRESS = """
INSERT INTO campaign_progress (campaign_id, at, done)
SELECT campaign_id, %(now)s, COALESCE(sum(counter.deliveries) FILTER (
    WHERE counter.state IN ('done', 'failed', 'unknown')), 0)
FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
WHERE campaign.finished_at IS NULL AND campaign.loaded_at IS NOT NULL
GROUP BY campaign_id
ON CONFLICT DO NOTHING
"""
FORGET_PROGRESS = "DELETE FROM campaign_progress WHERE at < %(before)s"


class Reconciliations:
    """Each call changes at most ``limit`` rows and returns the states they came to."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open_campaigns(self, *, now: datetime) -> list[OpenCampaign]:
        """Return every campaign that is not finished."""
        return [OpenCampaign(*row) for row in self._database.fetch(OPEN_CAMPAIGNS, {"now": now})]

    def note_progress(self, *, now: datetime, forget_before: datetime) -> None:
        """Write down how far each open campaign is, and drop what was noted too long ago."""
        self._database.fetch(NOTE_PROGRESS, {"now": now})
        self._database.fetch(FORGET_PROGRESS, {"before": forget_before})

    def requeue_lost(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Return queued rows whose chunk must be lost to pending."""
        return self._lapse(REQUEUE_LOST, campaign, now, limit)

    def doubt_stuck(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Make rows of senders that died unknown: whether they left, nobody can tell."""
        return self._lapse(DOUBT_STUCK, campaign, now, limit)

    def settle_unknown(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Apply the campaign's policy where no status came in the window."""
        return self._lapse(SETTLE_UNKNOWN, campaign, now, limit)

    def free_sticky(self, campaign: OpenCampaign, *, now: datetime, limit: int) -> list[str]:
        """Let others of the pool send what stayed with a number that cannot."""
        parameters = {
            "campaign_id": campaign.campaign_id,
            "sticky_numbers": campaign.sticky_numbers,
            "patience_ends_at": now + timedelta(seconds=STAY_PATIENCE_SECONDS),
            "limit": limit,
        }
        return _states(fetch_in(self._database, FREE_STICKY, campaign.campaign_id, parameters))

    def close_waiting(self, campaign: OpenCampaign, *, state: str, limit: int) -> list[str]:
        """End rows that nobody will send: ``cancelled`` or ``expired``."""
        parameters = {"campaign_id": campaign.campaign_id, "state": state, "limit": limit}
        return _states(fetch_in(self._database, CLOSE_WAITING, campaign.campaign_id, parameters))

    def finish(self, campaign: OpenCampaign, *, now: datetime) -> bool:
        """End the campaign if every row is final.

        Its row is locked first, so that a segment of its audience is in before or never.
        """
        parameters = {"campaign_id": campaign.campaign_id, "now": now}

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> bool:
            with connection.transaction():
                connection.execute(LOCK_CAMPAIGN, parameters)
                finished = execute_in(connection, FINISH, campaign.campaign_id, parameters)
                return finished.fetchone() is not None

        return self._database.run(work)

    def standing(self) -> Standing:
        """Return how much stands still until somebody does something."""
        return Standing(*self._database.fetch(STANDING, {"forever": FOREVER})[0])

    def gauges(self) -> list[CampaignGauge]:
        """Return where the deliveries of each open campaign stand."""
        return gauges_of(self._database.fetch(GAUGES))

    def _lapse(
        self, statement: str, campaign: OpenCampaign, now: datetime, limit: int
    ) -> list[str]:
        rows = fetch_in(
            self._database,
            statement,
            campaign.campaign_id,
            {
                "campaign_id": campaign.campaign_id,
                "numbers": campaign.numbers,
                "now": now,
                "limit": limit,
                "window_ends_at": now + campaign.unknown_window,
                "resend": campaign.unknown_resend,
                "max_attempts": campaign.max_attempts,
                "unanswered": UNANSWERED,
            },
        )
        return _states(rows)


def _states(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return [row[0] for row in rows]
