"""What makes queued rows a sender's own, in one statement."""

# Rows are locked in key order first. Asked again with the same lease (the answer to the first
# time was lost, or the rows had to wait), the statement finds its own rows `sending` and returns
# them once more, or puts those away, unburned, that may not leave any more. Who was
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
        attempt = d.attempt + (next.state = 'sending')::int - (d.state = 'sending')::int,
        phone_number_id = CASE WHEN next.state = 'sending' OR d.number_fixed
                               THEN d.phone_number_id END,
        due_at = CASE next.state WHEN 'sending' THEN %(lease)s
                                 WHEN 'pending' THEN %(now)s END,
        error_code = CASE WHEN next.state = 'failed' THEN refused.code ELSE d.error_code END,
        status = CASE WHEN next.state = 'sending' THEN 'none'
                      WHEN d.state = 'sending' AND d.failed_at IS NOT NULL THEN 'failed'
                      ELSE d.status END,
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
