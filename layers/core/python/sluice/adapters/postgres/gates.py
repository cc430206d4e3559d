"""How far campaigns with a window or stages are open, and who is let go by a stage."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import psycopg

from sluice.domain.gate import Gate, GatedCampaign
from sluice.domain.topup import PickedChunk

BEGINNING: Final = datetime.min.replace(tzinfo=UTC)

GATED = """
SELECT campaign.campaign_id, campaign.request, campaign.zones, campaign.stage,
       COALESCE(sum(counter.deliveries), 0)::bigint,
       COALESCE(sum(counter.deliveries) FILTER (WHERE counter.state <> 'pending'), 0)::bigint
FROM campaign LEFT JOIN campaign_counter AS counter USING (campaign_id)
WHERE campaign.campaign_id = ANY(%s) AND campaign.kind = 'campaign'
  AND (campaign.zones <> '{}' OR campaign.stage < jsonb_array_length(campaign.request -> 'stages'))
GROUP BY 1
"""
LOCK_RELEASED = """
SELECT created_at, released FROM campaign WHERE campaign_id = %s FOR NO KEY UPDATE
"""
RELEASE = "UPDATE campaign SET released = released + %s WHERE campaign_id = %s"

Connection = psycopg.Connection[tuple[Any, ...]]


def gates(connection: Connection, campaign_ids: Iterable[int], now: datetime) -> dict[int, Gate]:
    """Return the gate of each of the campaigns that has a window or is limited by its stages."""
    found = connection.execute(GATED, (sorted(set(campaign_ids)),))
    return {campaign_id: GatedCampaign(*gated).gate(now) for campaign_id, *gated in found}


def pick_through(
    gate: Gate,
    campaign_id: int,
    *,
    rows: int,
    take: "Take",
    connection: Connection,
    now: datetime,
) -> list[PickedChunk]:
    """Pick up to so many deliveries of a campaign, and of one with stages no more than may go.

    Of that first those that came back, who were let go before; then so many of the others as the
    stage still allows. The campaign stays locked until the end of the transaction, so that what
    several numbers are given together is not too much.
    """
    if gate.released_max is None:
        return take(rows=rows, after=BEGINNING, until=now)
    row = connection.execute(LOCK_RELEASED, (campaign_id,)).fetchone()
    assert row is not None, "a campaign is never deleted while it runs"
    waiting_since, released = row
    back = take(rows=rows, after=waiting_since, until=now)
    left = min(gate.released_max - released, rows - _deliveries(back))
    if left <= 0:
        return back
    new = take(rows=left, after=BEGINNING, until=min(waiting_since, now))
    connection.execute(RELEASE, (_deliveries(new), campaign_id))
    return back + new


class Take(Protocol):
    """Picks deliveries that are due later than ``after`` and by ``until``."""

    def __call__(self, *, rows: int, after: datetime, until: datetime) -> list[PickedChunk]:
        """Return up to ``rows`` of them, in chunks."""


def _deliveries(chunks: Iterable[PickedChunk]) -> int:
    return sum(len(chunk.seqs) for chunk in chunks)
