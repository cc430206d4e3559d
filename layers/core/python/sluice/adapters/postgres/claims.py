"""The sender's statements: claim before the request leaves, record what it came to."""

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any

import psycopg

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

# Rows are locked in key order first. Asked again with the same lease (the answer to the first
# time was lost), the statement finds its own rows `sending` and returns them once more. Who was
# suppressed since the load, or had too much marketing, is asked here, the last moment before a
# request leaves; so is whether a free-form message may still be answered with, where we know when
# the person wrote last. Who is written to is a contact from here on, where somebody counts
# contacts: so whatever dies later, none is missing. RECORD takes those back that Meta did not take.
# The lock of the number's row puts grants and holds of the conversation's share in order
# (domain/lanes.py).
CLAIM = """
WITH gate AS (
    UPDATE number
    SET lent_until = CASE
            WHEN %(lane)s = 'bulk' AND COALESCE(held_until <= %(now)s, true)
            THEN GREATEST(lent_until, %(now)s + make_interval(secs => %(lend_seconds)s))
            ELSE lent_until END,
        held_until = CASE
            WHEN %(lane)s = 'bulk' THEN held_until
            ELSE GREATEST(held_until, %(now)s + make_interval(secs => %(hold_seconds)s)) END
    WHERE phone_number_id = %(phone_number_id)s
    RETURNING paused_until,
        LEAST(1, rate_factor + %(climb)s * COALESCE(floor(
            extract(epoch FROM %(now)s - throttled_at) / %(climb_seconds)s), 0)) AS rate_factor,
        CASE WHEN %(lane)s = 'bulk' THEN COALESCE(held_until <= %(now)s, true)
             ELSE COALESCE(lent_until > %(now)s - make_interval(secs => %(skew_seconds)s), false)
        END AS lent,
        inbound_rate * exp(LEAST(0, extract(epoch FROM inbound_at - %(now)s)::real
                                    / %(inbound_seconds)s)) AS inbound_rate,
        portfolio_id, (
            SELECT daily_limit IS NOT NULL FROM portfolio
            WHERE portfolio.portfolio_id = number.portfolio_id
        ) AS limited
), asked AS (
    UPDATE lane SET claimed_at = GREATEST(claimed_at, %(now)s)
    WHERE phone_number_id = %(phone_number_id)s AND lane = %(lane)s
), wanted AS MATERIALIZED (
    SELECT d.campaign_id, d.seq
    FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS asked (campaign_id, seq)
    JOIN delivery AS d USING (campaign_id, seq)
    WHERE d.phone_number_id = %(phone_number_id)s
      AND (d.state = 'queued' OR (d.state = 'sending' AND d.due_at = %(lease)s))
      AND NOT EXISTS (SELECT FROM gate WHERE paused_until > %(now)s)
    ORDER BY d.campaign_id, d.seq
    FOR UPDATE OF d
), claimed AS (
    UPDATE delivery AS d
    SET state = next.state,
        attempt = d.attempt + (next.state = 'sending' AND d.state = 'queued')::int,
        phone_number_id = CASE WHEN next.state = 'sending' OR d.number_fixed
                               THEN d.phone_number_id END,
        due_at = CASE next.state WHEN 'sending' THEN %(lease)s
                                 WHEN 'pending' THEN %(now)s END,
        error_code = CASE WHEN next.state = 'failed' THEN refused.code ELSE d.error_code END,
        status = CASE WHEN next.state = 'sending' THEN 'none' ELSE d.status END,
        accepted_at = CASE WHEN next.state = 'sending' THEN NULL ELSE d.accepted_at END,
        sent_at = CASE WHEN next.state = 'sending' THEN NULL ELSE d.sent_at END
    FROM wanted
    JOIN campaign AS c USING (campaign_id)
    JOIN recipient AS r USING (campaign_id, seq)
    CROSS JOIN LATERAL (
        SELECT c.kind = 'campaign' AND c.request ->> 'category' = 'marketing' AS marketing
    ) AS kind
    CROSS JOIN LATERAL (
        SELECT CASE
            WHEN EXISTS (
                SELECT FROM suppression AS s
                WHERE s.match_key = r.match_key AND NOT s.lifted
                  AND (s.scope = 'all' OR kind.marketing)
            ) THEN %(suppressed)s
            WHEN r.message -> 'message' IS NOT NULL AND EXISTS (
                SELECT FROM conversation AS said
                WHERE said.match_key = r.match_key AND said.phone_number_id = %(phone_number_id)s
                  AND said.open_until < %(now)s - make_interval(secs => %(margin)s)
            ) THEN %(window_closed)s
            WHEN kind.marketing AND c.state <> 'paused' AND (
                SELECT count(DISTINCT (had.campaign_id, had.seq))
                FROM contact AS had
                WHERE %(cap_messages)s::int IS NOT NULL
                  AND had.match_key = r.match_key AND had.marketing
                  AND had.sent_at > %(cap_since)s::timestamptz
                  AND (had.campaign_id, had.seq) <> (wanted.campaign_id, wanted.seq)
            ) >= %(cap_messages)s::int THEN %(too_often)s
        END AS code
        OFFSET 0
    ) AS refused
    CROSS JOIN LATERAL (
        SELECT (CASE WHEN c.state = 'cancelled' THEN 'cancelled'
                     WHEN c.expires_at <= %(now)s THEN 'expired'
                     WHEN refused.code IS NOT NULL THEN 'failed'
                     WHEN c.state = 'paused' THEN 'pending'
                     ELSE 'sending' END)::delivery_state AS state
        OFFSET 0 -- decided once a row, not once for each time that it is named
    ) AS next
    WHERE d.campaign_id = wanted.campaign_id AND d.seq = wanted.seq
    RETURNING d.campaign_id, d.seq, d.attempt, d.state, d.zone, d.variant, d.error_code,
              r.match_key, r.address, r.parameters, r.message, kind.marketing, d.attempts_before
), contacted AS (
    INSERT INTO contact (match_key, campaign_id, seq, attempt, portfolio_id, marketing, sent_at)
    SELECT match_key, campaign_id, seq, attempt, portfolio_id, marketing, %(now)s
    FROM claimed CROSS JOIN gate
    WHERE claimed.state = 'sending' AND (claimed.message IS NULL OR claimed.message ? 'template')
      AND (gate.limited OR (claimed.marketing AND %(cap_messages)s::int IS NOT NULL))
    ON CONFLICT DO NOTHING
), counted AS (
    INSERT INTO refusal_counter AS counter (campaign_id, code, shard, deliveries)
    SELECT campaign_id, error_code, pg_backend_pid() %% 16, count(*)
    FROM claimed WHERE claimed.state = 'failed'
    GROUP BY 1, 2 ORDER BY 1, 2
    ON CONFLICT (campaign_id, code, shard)
    DO UPDATE SET deliveries = counter.deliveries + excluded.deliveries
)
SELECT gate.paused_until, gate.rate_factor, gate.lent, gate.inbound_rate,
       claimed.campaign_id, claimed.seq, claimed.attempt, claimed.address,
       claimed.parameters, claimed.message, claimed.zone,
       COALESCE(claimed.variant, 0), claimed.attempts_before
FROM gate
LEFT JOIN claimed ON claimed.state = 'sending'
ORDER BY claimed.campaign_id, claimed.seq
"""

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
