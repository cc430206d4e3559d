-- Who has written to which number. A person has a row for each key that the message told: phone
-- number, user id. Never backwards in time.
CREATE TABLE conversation (
    match_key text NOT NULL, -- as of recipient
    phone_number_id text NOT NULL,
    last_inbound_at timestamptz NOT NULL,
    open_until timestamptz, -- until when the number may answer freely; null: not known
    PRIMARY KEY (match_key, phone_number_id)
);

-- Whose business-scoped user id is whose phone number: a stop that brings only the user id must
-- reach the phone number that campaigns have.
CREATE TABLE user_phone (
    user_id text PRIMARY KEY,
    match_key text NOT NULL -- of the phone number
);

-- Campaigns that could not reach a person, error 131026. Any word of the person wipes them.
CREATE TABLE strike (
    match_key text NOT NULL,
    campaign_id int NOT NULL,
    failed_at timestamptz NOT NULL,
    PRIMARY KEY (match_key, campaign_id)
);

-- What was published as kind=suppressions, and how far it has come.
CREATE TABLE suppression_list (
    id text PRIMARY KEY, -- the client's own
    request_hash text NOT NULL,
    etag text, -- a load continues only on the object that it began with
    loaded_bytes bigint NOT NULL DEFAULT 0,
    loaded_lines int NOT NULL DEFAULT 0,
    people int NOT NULL DEFAULT 0,
    rejected int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    finished_at timestamptz
);

-- Its lines that name nobody: the line and why, no address.
CREATE TABLE suppression_rejected (
    id text NOT NULL,
    line int NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (id, line)
);
