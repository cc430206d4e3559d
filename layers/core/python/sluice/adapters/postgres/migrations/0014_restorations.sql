-- Backups that the database was restored from, and how far the journal of the senders was read to
-- learn what has left since.
CREATE TABLE restoration (
    restored_to timestamptz PRIMARY KEY, -- what the backup is of
    upto timestamptz NOT NULL, -- when sending stopped
    passed_to timestamptz NOT NULL, -- the journal was read up to here
    accepted int NOT NULL DEFAULT 0, -- deliveries that Meta took meanwhile
    doubted int NOT NULL DEFAULT 0, -- deliveries that may have left
    missing jsonb NOT NULL DEFAULT '{}', -- claims of rows that are not there, by campaign_id
    begun_at timestamptz NOT NULL,
    finished_at timestamptz
);
