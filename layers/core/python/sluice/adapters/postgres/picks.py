"""The dispatcher's statements: how much each number lacks, and which deliveries fill it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import psycopg

from sluice.adapters.postgres.connection import Database
from sluice.adapters.postgres.gates import gates, pick_through
from sluice.adapters.postgres.limits import (
    ALLOWANCES,
    CONFIGURE_PORTFOLIO,
    allowance_of,
    portfolio_columns,
    since,
)
from sluice.adapters.postgres.partitions import execute_in
from sluice.domain.budget import Allowance
from sluice.domain.gate import OPEN_GATE, Gate
from sluice.domain.lanes import Lane
from sluice.domain.limits import (
    IDLE_AGAIN_SECONDS,
    IDLE_SECONDS,
    QUEUED_LOST_SECONDS,
    RATE_CLIMB,
    RATE_CLIMB_SECONDS,
)
from sluice.domain.topup import Demand, NumberBacklog, PickedChunk

# Any constant will do: two dispatchers must not fill the same gap twice.
LOCK = "SELECT pg_try_advisory_xact_lock(5717002)"

CONFIGURE = """
INSERT INTO number (phone_number_id, account_id, portfolio_id, send_rate, state)
VALUES (%(phone_number_id)s, %(account_id)s, %(portfolio_id)s, %(send_rate)s, %(state)s)
ON CONFLICT (phone_number_id) DO UPDATE
SET account_id = excluded.account_id, portfolio_id = excluded.portfolio_id,
    send_rate = excluded.send_rate, state = excluded.state
WHERE (number.account_id, number.portfolio_id, number.send_rate, number.state)
      IS DISTINCT FROM
      (excluded.account_id, excluded.portfolio_id, excluded.send_rate, excluded.state)
"""
CONFIGURE_LANE = """
INSERT INTO lane (phone_number_id, lane, send_rate, messages_at_once)
VALUES (%(phone_number_id)s, %(lane)s, %(send_rate)s, %(messages_at_once)s)
ON CONFLICT (phone_number_id, lane) DO UPDATE
SET send_rate = excluded.send_rate, messages_at_once = excluded.messages_at_once
WHERE (lane.send_rate, lane.messages_at_once)
      IS DISTINCT FROM (excluded.send_rate, excluded.messages_at_once)
"""
# A number that left the configuration takes no more work.
DRAIN_OTHERS = """
UPDATE number SET state = 'draining'
WHERE state <> 'draining' AND phone_number_id <> ALL(%s)
"""
BACKLOGS = """
SELECT number.phone_number_id, lane.lane,
       lane.send_rate * LEAST(1, number.rate_factor + %(climb)s * COALESCE(floor(
           extract(epoch FROM %(now)s - number.throttled_at) / %(climb_seconds)s), 0)),
       (SELECT COALESCE(sum(counter.deliveries), 0)::bigint
        FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
        WHERE campaign.finished_at IS NULL AND campaign.lane = lane.lane
          AND counter.phone_number_id = number.phone_number_id AND counter.state = 'queued'),
       COALESCE(lane.claimed_at, '-infinity') <= %(idle_since)s
       AND (lane.requeued_at IS NULL OR lane.requeued_at <= %(again_since)s
            OR lane.requeued_at < COALESCE(lane.claimed_at, '-infinity')),
       lane.messages_at_once
FROM number JOIN lane USING (phone_number_id)
WHERE number.state = 'active'
  AND (number.paused_until IS NULL OR number.paused_until <= %(now)s)
ORDER BY number.phone_number_id, lane.lane
"""
LOCK_NUMBER = "SELECT FROM number WHERE phone_number_id = %(phone_number_id)s FOR UPDATE"
QUEUED_FOR = """
SELECT campaign.campaign_id
FROM campaign JOIN campaign_counter AS counter USING (campaign_id)
WHERE campaign.finished_at IS NULL AND campaign.lane = %(lane)s
  AND counter.phone_number_id = %(phone_number_id)s AND counter.state = 'queued'
GROUP BY 1 HAVING sum(counter.deliveries) > 0
ORDER BY 1
"""
# All but the newest: their chunks had no time to be claimed yet.
REQUEUE_IDLE = """
WITH stranded AS MATERIALIZED (
    SELECT seq FROM delivery
    WHERE campaign_id = %(campaign_id)s AND state = 'queued'
      AND phone_number_id = %(phone_number_id)s AND due_at <= %(lost_at)s
    FOR UPDATE SKIP LOCKED
)
UPDATE delivery AS d
SET state = 'pending', due_at = %(now)s,
    phone_number_id = CASE WHEN d.number_fixed THEN d.phone_number_id END
WHERE d.campaign_id = %(campaign_id)s AND d.seq = ANY (ARRAY(SELECT seq FROM stranded))
RETURNING d.seq
"""
REQUEUED = """
UPDATE lane SET requeued_at = %(now)s
WHERE phone_number_id = %(phone_number_id)s AND lane = %(lane)s
"""
RESUME_CAMPAIGNS = """
UPDATE campaign SET state = 'running', reason = NULL, paused_until = NULL
WHERE state = 'paused' AND paused_until <= %(now)s
"""
DEMANDS = """
SELECT member.phone_number_id, campaign.lane, campaign.campaign_id,
       campaign.priority = 'deferrable',
       COALESCE(sum(counter.deliveries) FILTER (WHERE counter.phone_number_id <> ''), 0)::bigint,
       COALESCE(sum(counter.deliveries) FILTER (WHERE counter.phone_number_id = ''), 0)::bigint
FROM campaign
CROSS JOIN LATERAL unnest(campaign.numbers) AS member (phone_number_id)
JOIN campaign_counter AS counter ON counter.campaign_id = campaign.campaign_id
 AND counter.state = 'pending' AND counter.phone_number_id IN ('', member.phone_number_id)
WHERE campaign.state = 'running' AND campaign.loaded_at IS NOT NULL
  AND COALESCE(campaign.approval, 'given') = 'given'
  AND (campaign.start_at IS NULL OR campaign.start_at <= %(now)s)
  AND (campaign.expires_at IS NULL OR campaign.expires_at > %(now)s)
GROUP BY 1, 2, 3, 4 HAVING sum(counter.deliveries) > 0
ORDER BY 1, 2, 3
"""
# First what only this number may send, then what any of the pool may. The orders name the number,
# one or none, because only then does the planner see that the index has them. An array, not a
# join: the planner cannot guess how many are picked, and would read the campaign from its start.
PICK = """
WITH own AS MATERIALIZED (
    SELECT seq FROM delivery
    WHERE campaign_id = %(campaign_id)s AND state = 'pending'
      AND phone_number_id = %(phone_number_id)s AND zone = ANY(%(zones)s::smallint[])
      AND due_at > %(after)s AND due_at <= %(until)s
    ORDER BY phone_number_id, zone, due_at LIMIT %(rows)s FOR UPDATE SKIP LOCKED
), free AS MATERIALIZED (
    SELECT seq FROM delivery
    WHERE campaign_id = %(campaign_id)s AND state = 'pending'
      AND phone_number_id IS NULL AND zone = ANY(%(zones)s::smallint[])
      AND due_at > %(after)s AND due_at <= %(until)s
    ORDER BY phone_number_id, zone, due_at LIMIT %(rows)s - (SELECT count(*) FROM own)
    FOR UPDATE SKIP LOCKED
), picked AS (
    SELECT seq FROM own UNION ALL SELECT seq FROM free
), queued AS (
    UPDATE delivery AS d
    SET state = 'queued', phone_number_id = %(phone_number_id)s, due_at = %(lost_at)s
    WHERE d.campaign_id = %(campaign_id)s AND d.seq = ANY (ARRAY(SELECT seq FROM picked))
    RETURNING d.seq
), numbered AS (
    SELECT seq, (row_number() OVER (ORDER BY seq) - 1) / %(size)s AS part FROM queued
)
INSERT INTO chunk (campaign_id, phone_number_id, lane, seqs, created_at)
SELECT %(campaign_id)s, %(phone_number_id)s, %(lane)s, array_agg(seq ORDER BY seq), %(now)s
FROM numbered GROUP BY part ORDER BY part
RETURNING chunk_id, campaign_id, phone_number_id, lane, seqs
"""
LEFT_OVER = """
SELECT chunk_id, campaign_id, phone_number_id, lane, seqs FROM chunk
WHERE created_at <= %(before)s ORDER BY chunk_id LIMIT %(limit)s
"""
PUBLISHED = "DELETE FROM chunk WHERE chunk_id = ANY(%s)"


class Round:
    """One top-up of all numbers, in one transaction under the dispatchers' lock."""

    def __init__(self, connection: psycopg.Connection[tuple[Any, ...]], now: datetime) -> None:
        self._connection = connection
        self._now = now

    def backlogs(self) -> list[NumberBacklog]:
        """Return both lanes of every number that may send now."""
        rows = self._connection.execute(
            BACKLOGS,
            {
                "now": self._now,
                "climb": RATE_CLIMB,
                "climb_seconds": RATE_CLIMB_SECONDS,
                "idle_since": self._now - timedelta(seconds=IDLE_SECONDS),
                "again_since": self._now - timedelta(seconds=IDLE_AGAIN_SECONDS),
            },
        )
        return [NumberBacklog(*row) for row in rows]

    def requeue_idle(self, phone_number_id: str, lane: Lane) -> int:
        """Return rows of a lane that lost its chunks to pending, but for the newest ones."""
        parameters: dict[str, Any] = {
            "phone_number_id": phone_number_id,
            "lane": lane,
            "now": self._now,
            "lost_at": self._now + timedelta(seconds=QUEUED_LOST_SECONDS - IDLE_SECONDS),
        }
        # The number before its rows, as a claim locks them.
        self._connection.execute(LOCK_NUMBER, parameters)
        requeued = 0
        for (campaign_id,) in self._connection.execute(QUEUED_FOR, parameters).fetchall():
            one = {**parameters, "campaign_id": campaign_id}
            requeued += execute_in(self._connection, REQUEUE_IDLE, campaign_id, one).rowcount
        if requeued:
            self._connection.execute(REQUEUED, parameters)
        return requeued

    def demands(self) -> list[Demand]:
        """Return what may be sent now, by number; a campaign whose pause is over goes on first."""
        self._connection.execute(RESUME_CAMPAIGNS, {"now": self._now})
        rows = self._connection.execute(DEMANDS, {"now": self._now})
        demands = [Demand(*row) for row in rows]
        gated = gates(self._connection, {one.campaign_id for one in demands}, self._now)
        limited = [one.through(gated.get(one.campaign_id, OPEN_GATE)) for one in demands]
        return [one for one in limited if not one.gate.is_shut]

    def allowances(self) -> list[Allowance]:
        """Return what the portfolios that have a daily limit have used of it."""
        rows = self._connection.execute(ALLOWANCES, {"since": since(self._now), "numbers": None})
        return [allowance_of(row) for row in rows]

    def pick(
        self,
        phone_number_id: str,
        lane: Lane,
        campaign_id: int,
        *,
        rows: int,
        size: int,
        gate: Gate = OPEN_GATE,
    ) -> list[PickedChunk]:
        """Queue up to so many due deliveries for the lane, in chunks of ``size``, stored too."""
        take = partial(self._take, phone_number_id, lane, campaign_id, size=size, zones=gate.zones)
        return pick_through(
            gate, campaign_id, rows=rows, take=take, connection=self._connection, now=self._now
        )

    def _take(
        self,
        phone_number_id: str,
        lane: Lane,
        campaign_id: int,
        *,
        rows: int,
        size: int,
        zones: Sequence[int],
        after: datetime,
        until: datetime,
    ) -> list[PickedChunk]:
        parameters = {
            "campaign_id": campaign_id,
            "phone_number_id": phone_number_id,
            "lane": lane,
            "rows": rows,
            "size": size,
            "zones": list(zones),
            "after": after,
            "until": until,
            "now": self._now,
            "lost_at": self._now + timedelta(seconds=QUEUED_LOST_SECONDS),
        }
        found = execute_in(self._connection, PICK, campaign_id, parameters)
        return [_chunk(row) for row in found]


class Picks:
    """The dispatcher's side of the deliveries."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def configure(self, numbers: Sequence[Mapping[str, Any]]) -> None:
        """Write the numbers as the configuration has them; pauses stay, others drain."""
        for number in numbers:
            self._database.fetch(CONFIGURE, dict(number))
            for lane, facts in number["lanes"].items():
                own = {"phone_number_id": number["phone_number_id"], "lane": lane}
                self._database.fetch(CONFIGURE_LANE, own | dict(facts))
        portfolios = {number["portfolio_id"]: portfolio_columns(number) for number in numbers}
        for portfolio in portfolios.values():
            self._database.fetch(CONFIGURE_PORTFOLIO, portfolio)
        self._database.fetch(DRAIN_OTHERS, ([number["phone_number_id"] for number in numbers],))

    @contextmanager
    def round(self, *, now: datetime) -> Iterator[Round | None]:
        """Open a round; None while another dispatcher has one open."""
        with self._database.lent() as connection, connection.transaction():
            locked = connection.execute(LOCK).fetchone()
            yield Round(connection, now) if locked and locked[0] else None

    def left_over(self, *, before: datetime, limit: int) -> list[PickedChunk]:
        """Return chunks of an earlier round that nobody is known to have published."""
        rows = self._database.fetch(LEFT_OVER, {"before": before, "limit": limit})
        return [_chunk(row) for row in rows]

    def published(self, chunks: Sequence[PickedChunk]) -> None:
        """Forget chunks that the topic has taken."""
        self._database.fetch(PUBLISHED, ([chunk.chunk_id for chunk in chunks],))


def _chunk(row: Sequence[Any]) -> PickedChunk:
    chunk_id, campaign_id, phone_number_id, lane, seqs = row
    return PickedChunk(chunk_id, campaign_id, phone_number_id, lane, tuple(seqs))
