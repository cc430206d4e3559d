-- How many people a business portfolio may write to first, in any 24 hours: all its numbers
-- together.
CREATE TABLE portfolio (
    portfolio_id text PRIMARY KEY,
    daily_limit int CHECK (daily_limit >= 0), -- null: none, or nobody knows
    limit_source text NOT NULL, -- 'configuration', or the field of the webhook that told it
    told_at timestamptz -- when Meta told it; null: it did not
);

-- A message that left, or may have left, to a person. Only where somebody counts: in a portfolio
-- with a limit, and for marketing under a frequency cap. The key also finds what a person got.
CREATE TABLE contact (
    match_key text NOT NULL, -- as of recipient
    campaign_id int NOT NULL,
    seq int NOT NULL,
    attempt smallint NOT NULL,
    portfolio_id text NOT NULL,
    marketing boolean NOT NULL,
    sent_at timestamptz NOT NULL, -- when it was claimed, seconds before it left
    PRIMARY KEY (match_key, campaign_id, seq, attempt)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.05);
CREATE INDEX contact_portfolio ON contact (portfolio_id, sent_at, match_key);

-- How many deliveries of a campaign a claim refused, by our own code. In shards, as
-- campaign_counter.
CREATE TABLE refusal_counter (
    campaign_id int NOT NULL,
    code int NOT NULL,
    shard smallint NOT NULL,
    deliveries bigint NOT NULL,
    PRIMARY KEY (campaign_id, code, shard)
) WITH (fillfactor = 50);
