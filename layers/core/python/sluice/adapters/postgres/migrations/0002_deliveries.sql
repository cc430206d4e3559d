CREATE TYPE delivery_state AS ENUM (
    'pending', 'queued', 'sending', 'unknown', 'done', 'failed', 'cancelled', 'expired'
);
-- The order is the rank: a status only moves to the right.
CREATE TYPE delivery_status AS ENUM (
    'none', 'held', 'accepted', 'sent', 'expired', 'failed', 'delivered', 'read'
);

-- Hot and narrow. No index mentions a status, a timestamp of one or the error, so status updates
-- are HOT: no index is touched, and half of each page is kept free for the new versions.
CREATE TABLE delivery (
    campaign_id int NOT NULL,
    seq int NOT NULL,
    state delivery_state NOT NULL,
    status delivery_status NOT NULL DEFAULT 'none',
    attempt smallint NOT NULL DEFAULT 0, -- of the latest claim
    country_code smallint, -- the calling code of the address; null for a BSUID
    pricing smallint, -- category and whether it is charged: domain/pricing.py
    -- Which of the campaign's variants, from 1 on; -1, until the load has ended: held out. Null: none,
    -- which takes no room in the row.
    variant smallint,
    number_fixed boolean NOT NULL DEFAULT false, -- no other number of the pool may send it
    -- Fixed because the person talks with the number, not because the audience names it: given up
    -- where the number cannot send.
    number_sticky boolean NOT NULL DEFAULT false,
    error_code int,
    phone_number_id text, -- who sends it; null while any number of the pool may
    zone smallint NOT NULL DEFAULT 0, -- by whose clock: a position in campaign.zones
    -- Attempts before it was last sent again by an order: the campaign's most count from there.
    attempts_before smallint NOT NULL DEFAULT 0,
    -- When somebody must look at the row again; null once it is final. A row that was never queued
    -- is due since the campaign was created, one that came back is due later.
    due_at timestamptz,
    accepted_at timestamptz,
    sent_at timestamptz,
    delivered_at timestamptz,
    read_at timestamptz,
    failed_at timestamptz,
    PRIMARY KEY (campaign_id, seq)
) PARTITION BY RANGE (campaign_id);
CREATE TABLE delivery_shared PARTITION OF delivery FOR VALUES FROM (MINVALUE) TO (1000000000)
    WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The open rows only. pending: due to be sent; queued: its chunk is lost; sending: its lease is
-- over; unknown: its window is over.
CREATE INDEX delivery_due ON delivery (campaign_id, state, phone_number_id, zone, due_at)
    WHERE due_at IS NOT NULL;

-- One row for each request that the Cloud API accepted: from a wamid back to the delivery, for
-- statuses that come without our id.
CREATE TABLE message (
    campaign_id int NOT NULL,
    seq int NOT NULL,
    attempt smallint NOT NULL,
    wamid text NOT NULL,
    PRIMARY KEY (campaign_id, seq, attempt)
) PARTITION BY RANGE (campaign_id);
CREATE TABLE message_shared PARTITION OF message FOR VALUES FROM (MINVALUE) TO (1000000000);
CREATE INDEX message_wamid ON message USING hash (wamid);

-- Each error answer that burned an attempt, and each failed status, with Meta's own words.
CREATE TABLE delivery_error (
    campaign_id int NOT NULL,
    seq int NOT NULL,
    attempt smallint NOT NULL,
    code int NOT NULL,
    details text NOT NULL,
    occurred_at timestamptz NOT NULL,
    PRIMARY KEY (campaign_id, seq, attempt, code)
) PARTITION BY RANGE (campaign_id);
CREATE TABLE delivery_error_shared PARTITION OF delivery_error
    FOR VALUES FROM (MINVALUE) TO (1000000000);

-- Chunks picked but not known to be published: a dispatcher that died left them here.
CREATE TABLE chunk (
    chunk_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    campaign_id int NOT NULL,
    phone_number_id text NOT NULL,
    lane text NOT NULL,
    seqs int[] NOT NULL,
    created_at timestamptz NOT NULL
);

-- Statuses that match no delivery yet: without our id, before their wamid was stored.
CREATE TABLE orphan_status (
    wamid text NOT NULL,
    status delivery_status NOT NULL,
    occurred_at timestamptz NOT NULL,
    error_code int,
    pricing smallint,
    received_at timestamptz NOT NULL,
    PRIMARY KEY (wamid, status)
);

-- What else webhooks brought, once each.
CREATE TABLE signal (
    digest text PRIMARY KEY, -- SHA-256 of the body; of a person's message: of number and wamid
    account_id text NOT NULL,
    field text NOT NULL,
    body json NOT NULL, -- as it came: jsonb would refuse a NUL or half a surrogate pair
    received_at timestamptz NOT NULL,
    acted_at timestamptz -- when what it asks for was done; null: it still is to be done
);
