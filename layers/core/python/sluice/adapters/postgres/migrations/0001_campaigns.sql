-- A number as dispatch last read it from the configuration, and what stops it.
CREATE TABLE number (
    phone_number_id text PRIMARY KEY,
    account_id text NOT NULL,
    portfolio_id text NOT NULL,
    send_rate real NOT NULL CHECK (send_rate > 0), -- sends per second of both lanes together
    state text NOT NULL CHECK (state IN ('active', 'draining')),
    paused_until timestamptz, -- the year 9999: until somebody resumes it
    pause_reason text,
    rate_factor real NOT NULL DEFAULT 1, -- what is left of its rate since it was throttled
    throttled_at timestamptz, -- when that was; from then on the factor climbs
    backoff_code int, -- of the last pause that doubles when it is needed again soon
    backoff_until timestamptz, -- when that pause ends or ended
    backoff_seconds real, -- and how long it was
    lent_until timestamptz, -- until when bulk may use the share of the conversation lane
    held_until timestamptz, -- until when the conversation lane wants its share for itself
    inbound_rate real NOT NULL DEFAULT 0, -- messages per second of people, as of inbound_at
    inbound_at timestamptz
);

-- What takes work from one queue of a number.
CREATE TABLE lane (
    phone_number_id text NOT NULL,
    lane text NOT NULL CHECK (lane IN ('conversation', 'bulk')),
    send_rate real NOT NULL CHECK (send_rate > 0), -- the most of all its slots, per second
    messages_at_once int NOT NULL CHECK (messages_at_once > 0), -- what all its slots take in a go
    claimed_at timestamptz, -- when a sender last asked for work
    requeued_at timestamptz, -- when its chunks were last taken for lost
    PRIMARY KEY (phone_number_id, lane)
);

-- Ids of campaigns whose rows lie in partitions of their own.
CREATE SEQUENCE campaign_apart AS int MINVALUE 1000000000;

-- One template to one audience. `direct` campaigns, one a lane, hold the sends of kind=send.
CREATE TABLE campaign (
    campaign_id int GENERATED ALWAYS AS IDENTITY (MAXVALUE 999999999) PRIMARY KEY,
    campaign text NOT NULL UNIQUE, -- the client's own id
    kind text NOT NULL CHECK (kind IN ('campaign', 'direct')),
    request jsonb NOT NULL, -- as published
    request_hash text NOT NULL, -- the same id with another content is refused
    numbers text[] NOT NULL,
    lane text NOT NULL CHECK (lane IN ('conversation', 'bulk')),
    priority text NOT NULL CHECK (priority IN ('normal', 'deferrable')),
    max_attempts smallint NOT NULL,
    unknown_resend boolean NOT NULL,
    unknown_window interval NOT NULL,
    start_at timestamptz,
    expires_at timestamptz,
    state text NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'finished', 'erased')),
    reason text, -- why it is paused or cancelled
    -- When it goes on by itself; null: when somebody resumes it; the year 9999: when Meta says that
    -- its template may be sent again.
    paused_until timestamptz,
    sticky_numbers text[] NOT NULL DEFAULT '{}', -- that rows stay with: see delivery
    time_to_live interval NOT NULL, -- how long Meta tries to deliver its messages
    -- Rows up to here were looked at for messages that Meta dropped in silence; and when all were.
    swept_seq int NOT NULL DEFAULT 0,
    swept_at timestamptz,
    media jsonb NOT NULL DEFAULT '{}', -- files of the template's header: URI to ETag
    audience_etag text, -- a load continues only on the object that it began with
    loaded_bytes bigint NOT NULL DEFAULT 0,
    loaded_rows int NOT NULL DEFAULT 0,
    -- IANA names by zone id, 0 the campaign's own, then as the audience names them; empty where
    -- nothing asks what time it is.
    zones text[] NOT NULL DEFAULT '{}',
    stage smallint NOT NULL DEFAULT 0, -- stages of the request that are behind it
    released int NOT NULL DEFAULT 0, -- people let go so far, while its stages limit them
    stage_left_at timestamptz, -- when all of this stage were seen to have been tried
    created_at timestamptz NOT NULL,
    loaded_at timestamptz, -- null while the audience is loading
    -- Whether a second person must agree before anybody is sent to; null: nobody need. No state and
    -- no order but the approval lifts it.
    approval text CHECK (approval IN ('awaited', 'given', 'declined')),
    approved_at timestamptz, -- when it was given or declined
    approved_by text, -- and by whom: the unique id of a principal
    finished_at timestamptz, -- when its last row became final, cancelled or not
    erased_at timestamptz -- when the last of its rows was deleted; this one stays
);
CREATE INDEX campaign_open ON campaign (campaign_id) WHERE finished_at IS NULL;
CREATE INDEX campaign_erasing ON campaign (campaign_id)
    WHERE state = 'erased' AND erased_at IS NULL;

-- Tables with a row for each recipient are partitioned by the campaign: most campaigns lie together
-- in `…_shared`, those of very large audiences in partitions of their own, with ids from 10^9 on, so
-- that deleting one drops tables (adapters/postgres/partitions.py).

-- Cold: written once by COPY, read by claims.
CREATE TABLE recipient (
    campaign_id int NOT NULL,
    seq int NOT NULL, -- the audience's own row number, so that a resumed load numbers alike
    address text NOT NULL, -- E.164 with + or a BSUID
    match_key text NOT NULL, -- under which all ways to write the person's number are one
    parameters jsonb NOT NULL,
    message jsonb, -- of a direct send: its own template or free-form message
    PRIMARY KEY (campaign_id, seq)
) PARTITION BY RANGE (campaign_id);
CREATE TABLE recipient_shared PARTITION OF recipient FOR VALUES FROM (MINVALUE) TO (1000000000);

-- Audience rows that cannot be sent. No address: only the line and why.
CREATE TABLE rejected (
    campaign_id int NOT NULL,
    line int NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (campaign_id, line)
) PARTITION BY RANGE (campaign_id);
CREATE TABLE rejected_shared PARTITION OF rejected FOR VALUES FROM (MINVALUE) TO (1000000000);

-- The client's id of a kind=send message: published twice, stored once.
CREATE TABLE direct_send (
    id text PRIMARY KEY,
    request_hash text NOT NULL,
    campaign_id int NOT NULL,
    seq_from int NOT NULL,
    recipients smallint NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (campaign_id, seq_from) -- from a delivery back to the id
);
