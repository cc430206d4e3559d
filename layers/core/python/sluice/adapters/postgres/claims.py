"""The sender's statements: claim before the request leaves, record what it came to."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import psycopg

from sluice.adapters.postgres.claim import CLAIM
from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.partitions import execute_in, fetch_in, split
from sluice.adapters.postgres.policies import Policies
from sluice.adapters.postgres.record import RECORD, columns_of
from sluice.adapters.postgres.suppressions import Refused, heed_refusals
from sluice.domain.claim import Claim, Claimed, Key, Result, SendPolicy
from sluice.domain.frequency import FrequencyCap
from sluice.domain.lanes import Lane
from sluice.domain.limits import (
    HOLD_SECONDS,
    INBOUND_SECONDS,
    LEND_SECONDS,
    RATE_CLIMB,
    RATE_CLIMB_SECONDS,
    SKEW_SECONDS_MAX,
    WINDOW_MARGIN_SECONDS,
)
from sluice.domain.results import SUPPRESSED, TOO_OFTEN, WINDOW_CLOSED
from sluice.domain.suppressions import PERSONAL_CODES

# What an empty claim leaves behind: rows that are still queued, while the number must wait long.
RELEASE = """
WITH wanted AS MATERIALIZED (
    SELECT d.campaign_id, d.seq
    FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS asked (campaign_id, seq)
    JOIN delivery AS d USING (campaign_id, seq)
    WHERE d.phone_number_id = %(phone_number_id)s AND d.state = 'queued'
    ORDER BY d.campaign_id, d.seq
    FOR UPDATE OF d
)
UPDATE delivery AS d
SET state = 'pending', due_at = %(now)s,
    phone_number_id = CASE WHEN d.number_fixed THEN d.phone_number_id END
FROM wanted
WHERE d.campaign_id = wanted.campaign_id AND d.seq = wanted.seq
"""

LANES = {
    "lend_seconds": LEND_SECONDS,
    "hold_seconds": HOLD_SECONDS,
    "skew_seconds": SKEW_SECONDS_MAX,
    "inbound_seconds": INBOUND_SECONDS,
}


class NumberUnknownError(LookupError):
    """The number is not in the configuration yet; dispatch writes it within a minute."""


class Claims:
    """The deliveries of one number, as the senders of one of its lanes see them."""

    def __init__(
        self,
        database: Database,
        *,
        phone_number_id: str,
        lane: Lane,
        frequency_cap: FrequencyCap | None = None,
    ) -> None:
        self._database = database
        self._frequency_cap = frequency_cap
        self._phone_number_id = phone_number_id
        self._lane = lane
        self._policies = Policies(database, phone_number_id=phone_number_id)

    def claim(self, keys: Iterable[Key], *, now: datetime, lease: datetime) -> Claim:
        """Make queued rows ours until ``lease``; rows of stopped campaigns are put away.

        Rows of people who were suppressed meanwhile have failed (SUPPRESSED), and those of who has
        had all the marketing that the frequency cap allows (TOO_OFTEN), as have free-form messages
        to people who are known to have written too long ago (WINDOW_CLOSED).

        ``lease`` must be of this claim alone: it is what proves, after a lost answer, that a row
        is ours. Without keys it only renews what the lane holds of the number's rate.
        """
        self._policies.forget_outdated(now=now)
        cap = self._frequency_cap
        parameters = {
            **LANES,
            "phone_number_id": self._phone_number_id,
            "lane": self._lane,
            "now": now,
            "lease": lease,
            "suppressed": SUPPRESSED,
            "window_closed": WINDOW_CLOSED,
            "margin": WINDOW_MARGIN_SECONDS,
            "too_often": TOO_OFTEN,
            "cap_messages": cap and cap.messages,
            "cap_since": cap and now - cap.window,
            "climb": RATE_CLIMB,
            "climb_seconds": RATE_CLIMB_SECONDS,
        }
        groups = [
            (group[0].campaign_id if group else 0, {**_columns(group), **parameters})
            for group in split(sorted(keys), _campaign_of) or [()]
        ]

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
            with nullcontext() if len(groups) == 1 else connection.transaction():
                return [
                    row
                    for campaign_id, asked in groups
                    for row in execute_in(connection, CLAIM, campaign_id, asked).fetchall()
                ]

        rows = self._database.run(work)
        if not rows:
            raise NumberUnknownError(self._phone_number_id)
        paused_until = rows[0][0]
        return Claim(
            paused_until=paused_until if paused_until and paused_until > now else None,
            rate_factor=rows[0][1],
            lent=rows[0][2],
            inbound_per_second=rows[0][3] or 0.0,
            rows=tuple(
                Claimed(Key(campaign_id, seq), attempt, lease, *content)
                for _, _, _, _, campaign_id, seq, attempt, *content in rows
                if campaign_id is not None
            ),
        )

    def record(self, results: Sequence[Result], *, now: datetime, patience_seconds: float) -> None:
        """Write results; written again, they change nothing."""
        ordered = sorted(results, key=lambda result: result.key)
        groups = [
            (
                group[0].key.campaign_id,
                {**_columns(one.key for one in group), **columns_of(group), "now": now},
            )
            for group in split(ordered, lambda result: result.key.campaign_id)
        ]
        refused = [
            Refused(*result.key, result.code, now)
            for result in ordered
            if result.code in PERSONAL_CODES
        ]

        def work(connection: psycopg.Connection[tuple[Any, ...]]) -> None:
            alone = len(groups) == 1 and not refused
            with nullcontext() if alone else connection.transaction():
                for campaign_id, parameters in groups:
                    execute_in(connection, RECORD, campaign_id, parameters)
                if refused:
                    heed_refusals(connection, refused, now=now)

        self._database.run(work, patience_seconds=patience_seconds)

    def release(self, keys: Iterable[Key], *, now: datetime) -> None:
        """Give queued rows back, for any number of their pool to take."""
        for group in split(sorted(keys), _campaign_of):
            parameters = {**_columns(group), "phone_number_id": self._phone_number_id, "now": now}
            fetch_in(self._database, RELEASE, group[0].campaign_id, parameters)

    def policy(self, campaign_id: int) -> SendPolicy:
        """Return what a sender must know of the campaign; asked once for each environment.

        Until this number has its media, once for each claim.
        """
        return self._policies.of(campaign_id)


def _campaign_of(key: Key) -> int:
    return key.campaign_id


def _columns(keys: Iterable[Key]) -> dict[str, list[int]]:
    ordered = sorted(keys)
    return {
        "campaign_ids": [key.campaign_id for key in ordered],
        "seqs": [key.seq for key in ordered],
    }
