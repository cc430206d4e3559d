"""What attempts came to, written in one statement."""

from collections.abc import Sequence

from sluice.domain.claim import Result

# A result counts only for the attempt that it belongs to. An acceptance is evidence whatever the
# row has become meanwhile, but one that failed since and waits to be tried again goes on waiting;
# anything else only settles the very claim that it comes from. Until the
# new attempt counts, `failed_at` is of the one before: a claim that is undone puts its status back.
RECORD = """
WITH result AS (
    SELECT * FROM unnest(
        %(campaign_ids)s::int[], %(seqs)s::int[], %(attempts)s::smallint[],
        %(leases)s::timestamptz[], %(states)s::delivery_state[], %(statuses)s::delivery_status[],
        %(due_ats)s::timestamptz[], %(burned)s::boolean[], %(wamids)s::text[], %(codes)s::int[],
        %(details)s::text[]
    ) AS result (campaign_id, seq, attempt, lease, state, status, due_at, burned, wamid, code,
                 details)
), kept AS (
    INSERT INTO message (campaign_id, seq, attempt, wamid)
    SELECT campaign_id, seq, attempt, wamid FROM result WHERE wamid IS NOT NULL
    ON CONFLICT DO NOTHING
), explained AS (
    INSERT INTO delivery_error (campaign_id, seq, attempt, code, details, occurred_at)
    SELECT campaign_id, seq, attempt, code, details, %(now)s
    FROM result WHERE code IS NOT NULL AND burned
    ON CONFLICT DO NOTHING
), locked AS MATERIALIZED (
    SELECT d.campaign_id, d.seq, result.attempt,
           result.wamid IS NOT NULL AND d.status = 'failed'
               AND d.state IN ('pending', 'queued') AS waits
    FROM result JOIN delivery AS d USING (campaign_id, seq)
    WHERE d.attempt = result.attempt
      AND (result.wamid IS NOT NULL OR (d.state = 'sending' AND d.due_at = result.lease))
    ORDER BY d.campaign_id, d.seq
    FOR UPDATE OF d
), withdrawn AS (
    DELETE FROM contact USING locked
    JOIN result USING (campaign_id, seq, attempt)
    JOIN recipient AS r USING (campaign_id, seq)
    WHERE result.state NOT IN ('done', 'unknown') AND contact.match_key = r.match_key
      AND contact.campaign_id = r.campaign_id AND contact.seq = r.seq
      AND contact.attempt = result.attempt
)
UPDATE delivery AS d
SET state = CASE WHEN locked.waits THEN d.state ELSE result.state END,
    status = CASE WHEN NOT result.burned AND d.failed_at IS NOT NULL THEN 'failed'
                  ELSE GREATEST(d.status, result.status) END,
    failed_at = CASE WHEN result.burned AND d.status <> 'failed' THEN NULL ELSE d.failed_at END,
    attempt = d.attempt - (NOT result.burned)::int,
    phone_number_id = CASE WHEN locked.waits OR result.state <> 'pending' OR d.number_fixed
                           THEN d.phone_number_id END,
    due_at = CASE WHEN locked.waits THEN d.due_at ELSE result.due_at END,
    error_code = COALESCE(result.code, d.error_code),
    accepted_at = CASE WHEN result.wamid IS NULL THEN d.accepted_at
                       ELSE LEAST(d.accepted_at, %(now)s) END
FROM locked JOIN result USING (campaign_id, seq, attempt)
WHERE d.campaign_id = locked.campaign_id AND d.seq = locked.seq
"""


def columns_of(results: Sequence[Result]) -> dict[str, list[object]]:
    """Return what RECORD needs of results beside their keys."""
    return {
        "attempts": [result.attempt for result in results],
        "leases": [result.lease for result in results],
        "states": [result.state.value for result in results],
        "statuses": [result.status.label for result in results],
        "due_ats": [result.due_at for result in results],
        "burned": [result.burned for result in results],
        "wamids": [result.wamid for result in results],
        "codes": [result.code for result in results],
        "details": [result.details for result in results],
    }
