-- Templates as Meta has them: told by the Graph API, and by signals since. The newest word counts.
CREATE TABLE template (
    account_id text NOT NULL,
    name text NOT NULL,
    language text NOT NULL, -- with an underscore: en_US
    status text NOT NULL,
    category text NOT NULL,
    components jsonb NOT NULL,
    parameter_format text NOT NULL,
    quality text NOT NULL,
    synced_at timestamptz, -- when the Graph API told it; null: a signal came since, ask again
    told_at timestamptz NOT NULL, -- the newest word about it
    PRIMARY KEY (account_id, name, language)
);

-- When all templates of an account were read, and our management calls in the last hour.
CREATE TABLE template_sync (
    account_id text PRIMARY KEY,
    synced_at timestamptz,
    calls timestamptz[] NOT NULL DEFAULT '{}',
    rest_until timestamptz -- Meta asked to be left alone
);

-- Uploads of header media: an id is good for one number and for 30 days.
CREATE TABLE media (
    phone_number_id text NOT NULL,
    s3_uri text NOT NULL,
    etag text NOT NULL,
    media_id text NOT NULL,
    uploaded_at timestamptz NOT NULL,
    PRIMARY KEY (s3_uri, etag, phone_number_id)
);
