"""What is known of campaigns and numbers: by counters, and in detail by their rows."""

import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.errors import QueryCanceled

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.limits import ALLOWANCES, allowance_of, since
from sluice.domain.budget import Allowance
from sluice.domain.limits import RATE_CLIMB, RATE_CLIMB_SECONDS, REPORT_DETAILS_SECONDS
from sluice.domain.progress import WINDOW_SECONDS_MAX, Sample
from sluice.domain.summary import AnsweredError, Details, Group, Spread, Times

_CAMPAIGN = (
    "campaign_id", "campaign", "kind", "state", "reason", "numbers", "start_at", "expires_at",
    "paused_until", "loaded_rows", "created_at", "loaded_at", "finished_at", "approval",
)  # fmt: skip
_APPROVAL = ("approved_at", "approved_by", "request_hash")
_PACE = ("zones", "send_window", "quiet_hours", "stages", "stage", "released", "variants")
_COLUMNS = (*_CAMPAIGN, *_APPROVAL, *_PACE, "rejected", "holdout")
CAMPAIGN = f"""
SELECT {", ".join(_CAMPAIGN)}, {", ".join(_APPROVAL)},
       zones, request -> 'send_window', request -> 'quiet_hours',
       COALESCE(jsonb_array_length(request -> 'stages'), 0), stage, released,
       jsonb_path_query_array(request, '$.split.variants[*].name'), rejected.lines, rejected.held
FROM campaign CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE reason <> 'holdout') AS lines,
           count(*) FILTER (WHERE reason = 'holdout') AS held
    FROM rejected WHERE rejected.campaign_id = campaign.campaign_id
) AS rejected
WHERE campaign = %s
"""  # noqa: S608 - our own column names
NEWEST = f"""
SELECT {", ".join(_CAMPAIGN)} FROM campaign ORDER BY created_at DESC, campaign_id DESC LIMIT %s
"""  # noqa: S608 - our own column names
COUNTERS = """
SELECT campaign_id, phone_number_id, state::text, status::text, sum(deliveries)::bigint
FROM campaign_counter WHERE campaign_id = ANY(%s)
GROUP BY 1, 2, 3, 4 HAVING sum(deliveries) <> 0
ORDER BY 1, 2, 3, 4
"""
REJECTED = """
SELECT line, reason FROM rejected WHERE campaign_id = %s AND reason <> 'holdout'
ORDER BY line LIMIT %s
"""
# The ids that domain/trial.py gives to the sends of a test.
TEST = """
SELECT number.phone_number_id, delivery.seq - direct_send.seq_from + 1, delivery.state::text,
       delivery.status::text, delivery.error_code, variant.name
FROM number
CROSS JOIN (
    SELECT NULL AS name
    UNION
    SELECT jsonb_path_query(request, '$.split.variants[*].name') #>> '{}' FROM campaign
) AS variant
JOIN direct_send
  ON direct_send.id = concat_ws(':', 'test', %(test)s::text, phone_number_id, variant.name)
JOIN delivery ON delivery.campaign_id = direct_send.campaign_id
 AND delivery.seq BETWEEN seq_from AND seq_from + direct_send.recipients - 1
ORDER BY 1, variant.name NULLS FIRST, 2
"""
RESENDS = """
SELECT id, scope, taken, began_at, finished_at, stopped FROM resend
WHERE campaign_id = %s ORDER BY began_at DESC, id LIMIT %s
"""
SCHEDULE = "SELECT state, revision, request, created_at, changed_at FROM schedule WHERE id = %s"
OCCURRENCES = """
SELECT at, occurrence.campaign, occurrence.reason, seen_at, campaign.state
FROM schedule_occurrence AS occurrence LEFT JOIN campaign USING (campaign)
WHERE id = %s ORDER BY at DESC LIMIT %s
"""
SAMPLES = "SELECT at, done FROM campaign_progress WHERE campaign_id = %s AND at >= %s"
_NUMBER = (
    "phone_number_id", "state", "send_rate", "rate_factor", "paused_until", "pause_reason",
    "queued", "unsent",
)  # fmt: skip
NUMBERS = """
SELECT phone_number_id, state, send_rate,
       LEAST(1, rate_factor + %(climb)s * COALESCE(floor(
           extract(epoch FROM %(now)s - throttled_at) / %(climb_seconds)s), 0)),
       CASE WHEN paused_until > %(now)s THEN paused_until END,
       CASE WHEN paused_until > %(now)s THEN pause_reason END,
       (SELECT COALESCE(sum(counter.deliveries), 0)::bigint
        FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
        WHERE campaign.finished_at IS NULL
          AND counter.phone_number_id = number.phone_number_id AND counter.state = 'queued'),
       (SELECT COALESCE(sum(counter.deliveries), 0)::bigint
        FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
        WHERE campaign.finished_at IS NULL
          AND counter.phone_number_id = number.phone_number_id
          AND counter.state IN ('pending', 'queued', 'sending'))
FROM number
WHERE %(only)s::text[] IS NULL OR phone_number_id = ANY(%(only)s)
ORDER BY phone_number_id
"""
# The one statement that reads every row of a campaign: once, for everything that is asked of them.
GROUPS = """
SELECT phone_number_id, state::text, status::text, attempt, error_code, country_code, pricing,
       due_at IS NOT NULL, count(*), COALESCE(variant, 0)
FROM delivery WHERE campaign_id = %(campaign_id)s
GROUP BY phone_number_id, state, status, attempt, error_code, country_code, pricing,
         due_at IS NOT NULL, variant
"""
ERRORS = """
SELECT code, count(*), COALESCE(min(NULLIF(details, '') COLLATE "C"), '')
FROM delivery_error WHERE campaign_id = %(campaign_id)s
GROUP BY code ORDER BY 2 DESC, 1 LIMIT 100
"""
REASONS = """
SELECT regexp_replace(reason, ' in line [0-9]+$', ' in an earlier line'), count(*)
FROM rejected WHERE campaign_id = %(campaign_id)s AND reason <> 'holdout'
GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 50
"""
TIMES = """
SELECT count(*), count(sent), count(delivered),
       percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY sent),
       percentile_cont(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY delivered)
FROM (
    SELECT extract(epoch FROM sent_at - accepted_at)::double precision AS sent,
           extract(epoch FROM delivered_at - sent_at)::double precision AS delivered
    FROM delivery WHERE campaign_id = %(campaign_id)s AND seq = ANY(%(seqs)s)
) AS sample
"""
TIME_LIMIT = "SELECT set_config('statement_timeout', %s, true)"

SUPPRESSIONS = """
SELECT loaded_lines, people, rejected, created_at, finished_at
FROM suppression_list WHERE id = %s
"""
SUPPRESSIONS_REJECTED = """
SELECT line, reason FROM suppression_rejected WHERE id = %s ORDER BY line LIMIT %s
"""
AUDIENCE = """
SELECT s3_uri, loaded_lines, people, repeated, rejected, created_at, finished_at, dropped_at
FROM saved_audience WHERE id = %s
"""
AUDIENCE_REJECTED = """
SELECT line, reason FROM audience_rejected JOIN saved_audience USING (audience_id)
WHERE id = %s ORDER BY line LIMIT %s
"""
_ERASURE = (
    "campaign", "deliveries", "cancelled", "signals", "suppression", "created_at", "finished_at",
)  # fmt: skip
ERASURE = f"SELECT {', '.join(_ERASURE)} FROM erasure WHERE id = %s"  # noqa: S608 - our own names
REFUSED = """
SELECT code, sum(deliveries)::bigint FROM refusal_counter WHERE campaign_id = %s
GROUP BY 1 ORDER BY 1
"""
_AUDIT = ("at", "actor", "via", "action", "subject", "details", "message_id")
AUDIT = f"""
SELECT {", ".join(_AUDIT)} FROM audit
WHERE %(subject)s::text IS NULL OR subject = %(subject)s
ORDER BY audit_id DESC LIMIT %(limit)s
"""  # noqa: S608 - our own column names


class Reports:
    """Reads counters and campaigns; ``details`` and ``times`` alone read the hot table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def campaign(self, campaign: str) -> dict[str, Any] | None:
        """Return the campaign's row by the client's id, as column to value."""
        rows = self._database.fetch(CAMPAIGN, (campaign,))
        return dict(zip(_COLUMNS, rows[0], strict=True)) if rows else None

    def newest(self, *, limit: int) -> list[dict[str, Any]]:
        """Return the newest campaigns, those of direct sends too, the newest first."""
        rows = self._database.fetch(NEWEST, (limit,))
        return [dict(zip(_CAMPAIGN, row, strict=True)) for row in rows]

    def counters(self, campaign_ids: Sequence[int]) -> list[tuple[int, str, str, str, int]]:
        """Return (campaign_id, phone_number_id or '', state, status, deliveries), no zeros."""
        rows = self._database.fetch(COUNTERS, (list(campaign_ids),))
        return [(one, number, state, status, n) for one, number, state, status, n in rows]

    def test(self, test: str) -> list[tuple[Any, ...]]:
        """Return (phone_number_id, recipient from 1, state, status, code, variant or None)."""
        return self._database.fetch(TEST, {"test": test})

    def rejected(self, campaign_id: int, *, limit: int) -> list[tuple[int, str]]:
        """Return the first rejected audience rows as (line, reason)."""
        rows = self._database.fetch(REJECTED, (campaign_id, limit))
        return [(line, reason) for line, reason in rows]

    def resends(self, campaign_id: int, *, limit: int) -> list[dict[str, Any]]:
        """Return its newest orders to send again, as column to value."""
        names = ("id", "scope", "taken", "began_at", "finished_at", "stopped")
        rows = self._database.fetch(RESENDS, (campaign_id, limit))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def schedule(self, schedule_id: str) -> dict[str, Any] | None:
        """Return a schedule by the client's id, as column to value."""
        rows = self._database.fetch(SCHEDULE, (schedule_id,))
        names = ("state", "revision", "request", "created_at", "changed_at")
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def occurrences(self, schedule_id: str, *, limit: int) -> list[dict[str, Any]]:
        """Return its newest starts with the states of their campaigns, as column to value."""
        names = ("at", "campaign", "skipped", "seen_at", "campaign_state")
        rows = self._database.fetch(OCCURRENCES, (schedule_id, limit))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def suppressions(self, list_id: str) -> dict[str, Any] | None:
        """Return the row of published suppressions by the client's id, as column to value."""
        rows = self._database.fetch(SUPPRESSIONS, (list_id,))
        names = ("lines", "people", "rejected", "created_at", "finished_at")
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def suppressions_rejected(self, list_id: str, *, limit: int) -> list[tuple[int, str]]:
        """Return the first lines that name nobody as (line, reason)."""
        rows = self._database.fetch(SUPPRESSIONS_REJECTED, (list_id, limit))
        return [(line, reason) for line, reason in rows]

    def audience(self, audience: str) -> dict[str, Any] | None:
        """Return the row of a saved audience by the client's id, as column to value."""
        rows = self._database.fetch(AUDIENCE, (audience,))
        names = (
            "s3", "lines", "people", "repeated", "rejected",
            "created_at", "finished_at", "dropped_at",
        )  # fmt: skip
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def audience_rejected(self, audience: str, *, limit: int) -> list[tuple[int, str]]:
        """Return the first lines that name nobody as (line, reason)."""
        rows = self._database.fetch(AUDIENCE_REJECTED, (audience, limit))
        return [(line, reason) for line, reason in rows]

    def erasure(self, erasure_id: str) -> dict[str, Any] | None:
        """Return an erasure by the client's id, as column to value: not whom it is about."""
        rows = self._database.fetch(ERASURE, (erasure_id,))
        return dict(zip(_ERASURE, rows[0], strict=True)) if rows else None

    def refused(self, campaign_id: int) -> list[tuple[int, int]]:
        """Return how many deliveries claims refused, as (our code, deliveries)."""
        return [(code, count) for code, count in self._database.fetch(REFUSED, (campaign_id,))]

    def audit(self, subject: str | None, *, limit: int) -> list[dict[str, Any]]:
        """Return what was done to a subject, or to anything, the newest first."""
        rows = self._database.fetch(AUDIT, {"subject": subject, "limit": limit})
        return [dict(zip(_AUDIT, row, strict=True)) for row in rows]

    def allowances(self, numbers: Sequence[str], *, now: datetime) -> list[Allowance]:
        """Return what is used of the daily limits of the numbers' portfolios."""
        rows = self._database.fetch(ALLOWANCES, {"since": since(now), "numbers": list(numbers)})
        return [allowance_of(row) for row in rows]

    def samples(self, campaign_id: int, *, now: datetime) -> list[Sample]:
        """Return what is still of use of the campaign's progress."""
        since = now - timedelta(seconds=WINDOW_SECONDS_MAX)
        return [Sample(*row) for row in self._database.fetch(SAMPLES, (campaign_id, since))]

    def numbers(self, only: Sequence[str] | None = None, *, now: datetime) -> list[dict[str, Any]]:
        """Return all numbers, or those named, as column to value; a pause that is over is none."""
        rows = self._database.fetch(
            NUMBERS,
            {
                "only": None if only is None else list(only),
                "now": now,
                "climb": RATE_CLIMB,
                "climb_seconds": RATE_CLIMB_SECONDS,
            },
        )
        return [dict(zip(_NUMBER, row, strict=True)) for row in rows]

    def details(self, campaign_id: int) -> Details | None:
        """Read every row of a campaign; None: it took longer than REPORT_DETAILS_SECONDS."""
        give_up_at = time.monotonic() + REPORT_DETAILS_SECONDS

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> Details | None:
            found = []
            try:
                with connection.transaction():
                    for statement in (GROUPS, ERRORS, REASONS):
                        left = max(1, int(1000 * (give_up_at - time.monotonic())))
                        connection.execute(TIME_LIMIT, (str(left),))
                        cursor = connection.execute(statement, {"campaign_id": campaign_id})
                        found.append(cursor.fetchall())
            except QueryCanceled:
                return None
            groups, errors, reasons = found
            return Details(
                [Group(*row) for row in groups],
                [AnsweredError(*row) for row in errors],
                [(reason, lines) for reason, lines in reasons],
            )

        return self._database.run(work)

    def times(self, campaign_id: int, seqs: Sequence[int]) -> Times:
        """Return how long these deliveries took, found by their primary key."""
        parameters = {"campaign_id": campaign_id, "seqs": list(seqs)}
        ((found, sent, delivered, to_sent, to_delivered),) = self._database.fetch(TIMES, parameters)
        return Times(found, Spread.of(sent, to_sent), Spread.of(delivered, to_delivered))
