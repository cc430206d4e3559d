-- Orders to send again. Each looks at a position of the audience once, so that whoever fails again
-- meanwhile is not taken twice by the same order.
CREATE TABLE resend (
    campaign_id int NOT NULL,
    id text NOT NULL, -- the client's own, within the campaign
    request_hash text NOT NULL, -- the same id with another content is refused
    scope text NOT NULL,
    last_seq int NOT NULL, -- how far the audience was loaded when it began
    passed_seq int NOT NULL DEFAULT 0, -- how far it was carried out
    taken int NOT NULL DEFAULT 0, -- deliveries that are sent again
    stopped text, -- why it ended before the last position
    began_at timestamptz NOT NULL,
    finished_at timestamptz,
    PRIMARY KEY (campaign_id, id)
);
