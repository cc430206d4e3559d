-- What was asked to be exported. Its parts are cut by how far the audience was loaded when it
-- began, so that every run cuts alike.
CREATE TABLE export (
    campaign_id int NOT NULL,
    id text NOT NULL, -- the client's own, within the campaign; '' where there is none
    request_hash text NOT NULL, -- the same id with another content is refused
    place text NOT NULL UNIQUE, -- s3://bucket/prefix/, written by one export only
    last_seq int NOT NULL,
    campaign_state text NOT NULL, -- when it began
    finished boolean NOT NULL, -- whether every row was final then
    began_at timestamptz NOT NULL,
    PRIMARY KEY (campaign_id, id)
);
