-- What was published as kind=audience, and how far it has come. Once dropped, it stays as a row, so
-- that its id never means other people.
CREATE TABLE saved_audience (
    audience_id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text NOT NULL UNIQUE, -- the client's own
    request_hash text NOT NULL,
    s3_uri text NOT NULL,
    is_ndjson boolean NOT NULL, -- or else CSV
    etag text NOT NULL, -- the object as it was when it was first taken
    loaded_bytes bigint NOT NULL DEFAULT 0,
    loaded_lines int NOT NULL DEFAULT 0,
    people int NOT NULL DEFAULT 0,
    repeated int NOT NULL DEFAULT 0, -- lines of people whom an earlier line names
    rejected int NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL,
    finished_at timestamptz,
    dropped_at timestamptz
);

-- Narrow: who is in it, under the key by which a person is known.
CREATE TABLE audience_person (
    audience_id int NOT NULL,
    match_key text NOT NULL, -- as of recipient
    PRIMARY KEY (audience_id, match_key)
);

-- Lines that name nobody: the line and why, no address.
CREATE TABLE audience_rejected (
    audience_id int NOT NULL,
    line int NOT NULL,
    reason text NOT NULL,
    PRIMARY KEY (audience_id, line)
);
