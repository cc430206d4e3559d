-- What was asked to be erased, and how far that has come. Who it is about stands here only until
-- it is done.
CREATE TABLE erasure (
    id text PRIMARY KEY, -- the client's own
    campaign text, -- the client's id of a campaign; null: it is about a person
    match_keys text[], -- under which the person is known; null once nothing is left
    forget_suppression boolean NOT NULL DEFAULT false,
    after_campaign_id int NOT NULL DEFAULT 0, -- recipients up to here are looked at
    after_seq int NOT NULL DEFAULT 0,
    after_received_at timestamptz NOT NULL DEFAULT 'epoch', -- signals up to here, too
    after_digest text NOT NULL DEFAULT '',
    deliveries int NOT NULL DEFAULT 0,
    cancelled int NOT NULL DEFAULT 0, -- of them, what had not left
    signals int NOT NULL DEFAULT 0,
    suppression text, -- 'none', 'kept' or 'forgotten'
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);

-- Which user ids a phone number has, for the erasure of a person.
CREATE INDEX user_phone_match_key ON user_phone (match_key);

-- The order in which signals came: for the erasure of a person, and of what is old.
CREATE INDEX signal_received ON signal (received_at, digest);
