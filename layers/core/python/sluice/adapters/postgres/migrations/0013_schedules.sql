-- Recurring campaigns. EventBridge Scheduler tells when; what is started, and whether, stands here.
CREATE TABLE schedule (
    id text PRIMARY KEY, -- the client's own
    revision int NOT NULL, -- the client's: a lower one comes late
    request jsonb NOT NULL, -- as published
    request_hash text NOT NULL, -- the same revision with another content is refused
    state text NOT NULL CHECK (state IN ('active', 'paused', 'dropped')),
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL
);

-- What became of each start, decided once however often it is told.
CREATE TABLE schedule_occurrence (
    id text NOT NULL,
    at timestamptz NOT NULL, -- when it was scheduled for
    campaign text NOT NULL, -- the client's id of its campaign
    reason text, -- why it was left out; null: it was started
    request jsonb, -- what is still to be published
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (id, at)
);
