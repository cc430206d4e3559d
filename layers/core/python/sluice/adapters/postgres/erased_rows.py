"""What the rows of one person become, in whatever state they are."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import psycopg

from sluice.domain.claim import Key
from sluice.domain.erasure import ERASED
from sluice.domain.limits import CHUNK_RECIPIENTS_MAX, ERASE_LEASE_MARGIN_SECONDS

# Rows are locked in key order, as every writer locks them. A row that leaves just now is left to
# its sender for the rest of its lease. Nobody comes back to the others: they are final.
END = """
WITH locked AS MATERIALIZED (
    SELECT d.campaign_id, d.seq, d.state,
           d.state = 'sending' AND d.due_at > %(lease_over)s AS leaves
    FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS theirs (campaign_id, seq)
    JOIN delivery AS d USING (campaign_id, seq)
    ORDER BY 1, 2 FOR UPDATE OF d
), ended AS (
    UPDATE delivery AS d
    SET state = CASE WHEN locked.state IN ('pending', 'queued') THEN 'cancelled'
                     WHEN locked.state = 'sending' THEN 'unknown'
                     ELSE d.state END,
        due_at = NULL
    FROM locked
    WHERE d.campaign_id = locked.campaign_id AND d.seq = locked.seq
      AND NOT locked.leaves AND d.due_at IS NOT NULL
)
SELECT campaign_id, seq, leaves, state IN ('pending', 'queued') FROM locked ORDER BY 1, 2
"""
FORGET_ORPHANS = """
DELETE FROM orphan_status
USING unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS theirs (campaign_id, seq)
JOIN message AS m USING (campaign_id, seq)
WHERE orphan_status.wamid = m.wamid
"""
# A wamid has the phone number in it.
FORGET_MESSAGES = """
DELETE FROM message AS m
USING unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS theirs (campaign_id, seq)
WHERE m.campaign_id = theirs.campaign_id AND m.seq = theirs.seq
"""
FORGET_DETAILS = """
UPDATE delivery_error AS e SET details = ''
FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS theirs (campaign_id, seq)
WHERE e.campaign_id = theirs.campaign_id AND e.seq = theirs.seq
"""
# The hash is of a text with the address in it. What stands for it answers to any content.
FORGET_HASHES = """
UPDATE direct_send AS sent SET request_hash = %(erased)s
FROM unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS theirs (campaign_id, seq)
WHERE sent.campaign_id = theirs.campaign_id
  AND sent.seq_from BETWEEN theirs.seq - %(recipients_max)s + 1 AND theirs.seq
  AND theirs.seq < sent.seq_from + sent.recipients
"""
FORGET_RECIPIENTS = """
DELETE FROM recipient AS r
USING unnest(%(campaign_ids)s::int[], %(seqs)s::int[]) AS theirs (campaign_id, seq)
WHERE r.campaign_id = theirs.campaign_id AND r.seq = theirs.seq
"""
FORGET = (FORGET_ORPHANS, FORGET_MESSAGES, FORGET_DETAILS, FORGET_HASHES, FORGET_RECIPIENTS)
"""What holds a person beside the delivery. Orphans are found by their message: so they go first."""


def erase_rows(
    connection: psycopg.Connection[tuple[Any, ...]], theirs: Sequence[Key], *, now: datetime
) -> tuple[list[Key], dict[str, int]]:
    """Erase these recipients in the caller's transaction; their deliveries stay, and are final.

    Returns those whose message leaves just now, of which nothing is erased, and counts.
    """
    if not theirs:
        return [], {"deliveries": 0, "cancelled": 0}
    over = now - timedelta(seconds=ERASE_LEASE_MARGIN_SECONDS)
    rows = connection.execute(END, {**_columns(theirs), "lease_over": over}).fetchall()
    leaving = [Key(campaign_id, seq) for campaign_id, seq, leaves, _ in rows if leaves]
    gone = [key for key in theirs if key not in set(leaving)]
    parameters = {**_columns(gone), "erased": ERASED, "recipients_max": CHUNK_RECIPIENTS_MAX}
    for statement in FORGET:
        connection.execute(statement, parameters)
    return leaving, {"deliveries": len(gone), "cancelled": sum(waited for *_, waited in rows)}


def _columns(keys: Sequence[Key]) -> dict[str, list[int]]:
    return {
        "campaign_ids": [key.campaign_id for key in keys],
        "seqs": [key.seq for key in keys],
    }
