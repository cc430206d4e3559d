"""What is known of a campaign, from its counters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.limits import ALLOWANCES, allowance_of, since
from sluice.domain.budget import Allowance

CAMPAIGN = """
SELECT campaign_id, state, reason, created_at, loaded_at, finished_at, loaded_rows,
       numbers, start_at, zones, request -> 'send_window', request -> 'quiet_hours',
       COALESCE(jsonb_array_length(request -> 'stages'), 0), stage, released,
       (SELECT count(*) FROM rejected WHERE rejected.campaign_id = campaign.campaign_id)
FROM campaign WHERE campaign = %s
"""
COUNTERS = """
SELECT phone_number_id, state::text, status::text, sum(deliveries)::bigint
FROM campaign_counter WHERE campaign_id = %s
GROUP BY 1, 2, 3 HAVING sum(deliveries) <> 0
ORDER BY 1, 2, 3
"""
REJECTED = """
SELECT line, reason FROM rejected WHERE campaign_id = %s ORDER BY line LIMIT %s
"""
# The ids that domain/trial.py gives to the sends of a test.
TEST = """
SELECT number.phone_number_id, delivery.seq - direct_send.seq_from + 1, delivery.state::text,
       delivery.status::text, delivery.error_code
FROM number
JOIN direct_send ON direct_send.id = concat_ws(':', 'test', %(test)s::text, phone_number_id)
JOIN delivery ON delivery.campaign_id = direct_send.campaign_id
 AND delivery.seq BETWEEN seq_from AND seq_from + direct_send.recipients - 1
ORDER BY 1, 2
"""

SUPPRESSIONS = """
SELECT loaded_lines, people, rejected, created_at, finished_at
FROM suppression_list WHERE id = %s
"""
SUPPRESSIONS_REJECTED = """
SELECT line, reason FROM suppression_rejected WHERE id = %s ORDER BY line LIMIT %s
"""
REFUSED = """
SELECT code, sum(deliveries)::bigint FROM refusal_counter WHERE campaign_id = %s
GROUP BY 1 ORDER BY 1
"""


class Reports:
    """Reads only counters and campaigns, never the hot table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def campaign(self, campaign: str) -> dict[str, Any] | None:
        """Return the campaign's row by the client's id, as column to value."""
        rows = self._database.fetch(CAMPAIGN, (campaign,))
        names = ("campaign_id", "state", "reason", "created_at", "loaded_at", "finished_at",
                 "loaded_rows", "numbers", "start_at", "zones", "send_window", "quiet_hours",
                 "stages", "stage", "released", "rejected")  # fmt: skip
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def counters(self, campaign_id: int) -> list[tuple[str, str, str, int]]:
        """Return (phone_number_id or '', state, status, deliveries), zeros left out."""
        return [
            (number, state, status, deliveries)
            for number, state, status, deliveries in self._database.fetch(COUNTERS, (campaign_id,))
        ]

    def test(self, test: str) -> list[tuple[str, int, str, str, int | None]]:
        """Return (phone_number_id, recipient from 1, state, status, code) of a test's messages."""
        return [
            (number, place, state, status, code)
            for number, place, state, status, code in self._database.fetch(TEST, {"test": test})
        ]

    def rejected(self, campaign_id: int, *, limit: int) -> list[tuple[int, str]]:
        """Return the first rejected audience rows as (line, reason)."""
        rows = self._database.fetch(REJECTED, (campaign_id, limit))
        return [(line, reason) for line, reason in rows]

    def suppressions(self, list_id: str) -> dict[str, Any] | None:
        """Return the row of published suppressions by the client's id, as column to value."""
        rows = self._database.fetch(SUPPRESSIONS, (list_id,))
        names = ("lines", "people", "rejected", "created_at", "finished_at")
        return dict(zip(names, rows[0], strict=True)) if rows else None

    def suppressions_rejected(self, list_id: str, *, limit: int) -> list[tuple[int, str]]:
        """Return the first lines that name nobody as (line, reason)."""
        rows = self._database.fetch(SUPPRESSIONS_REJECTED, (list_id, limit))
        return [(line, reason) for line, reason in rows]

    def refused(self, campaign_id: int) -> list[tuple[int, int]]:
        """Return how many deliveries claims refused, as (our code, deliveries)."""
        return [(code, count) for code, count in self._database.fetch(REFUSED, (campaign_id,))]

    def allowances(self, numbers: Sequence[str], *, now: datetime) -> list[Allowance]:
        """Return what is used of the daily limits of the numbers' portfolios."""
        rows = self._database.fetch(ALLOWANCES, {"since": since(now), "numbers": list(numbers)})
        return [allowance_of(row) for row in rows]
