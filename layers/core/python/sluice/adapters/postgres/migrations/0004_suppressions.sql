-- Who gets nothing, or no marketing. The latest word counts, in whatever order words come: what was
-- lifted stays as a row, so that a stop from before, brought again, does not stop the person again.
CREATE TABLE suppression (
    match_key text NOT NULL, -- as of recipient
    scope text NOT NULL CHECK (scope IN ('marketing', 'all')),
    reason text NOT NULL,
    source text NOT NULL,
    since timestamptz NOT NULL, -- when it began; or when it was lifted
    told_at timestamptz NOT NULL, -- the latest word
    lifted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (match_key, scope)
);
