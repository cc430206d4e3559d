-- Who did what, for good: no row is ever changed or removed. Never an address in it.
CREATE TABLE audit (
    audit_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The database's own clock, for all rows alike: nothing is decided by it.
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    actor text, -- null: the message came by the topic and says nothing
    via text NOT NULL CHECK (via IN ('declared', 'topic', 'principal', 'engine')),
    action text NOT NULL,
    subject text NOT NULL, -- 'campaign <id>', 'number <id>' …; '' where nobody can tell
    details jsonb NOT NULL DEFAULT '{}',
    message_id text, -- of SNS, else of SQS; null: the engine did it by itself
    ordered_at timestamptz, -- when the message was published, by the clock of SNS, else of SQS
    UNIQUE (message_id, action) -- a message that is delivered twice is noted once
);
CREATE INDEX audit_subject ON audit (subject, audit_id);

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the table % is append-only', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Also for who switches other triggers off with session_replication_role.
ALTER TABLE audit ENABLE ALWAYS TRIGGER audit_append_only;
REVOKE UPDATE, DELETE, TRUNCATE ON audit FROM CURRENT_USER, PUBLIC;

-- What the engine does by itself is noted by the tables, so that no statement can forget it. An
-- order notes itself (sluice.ordered); who acts on a word of Meta's says so (sluice.actor).
CREATE FUNCTION unnamed(reason text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
    -- Meta's own words may name a person.
    SELECT regexp_replace(reason, '[0-9]{8,}', '…', 'g')
$$;
CREATE FUNCTION note_campaign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (actor, via, action, subject, details)
    VALUES (
        COALESCE(NULLIF(current_setting('sluice.actor', true), ''), 'sluice'), 'engine',
        CASE WHEN NEW.state <> OLD.state AND NEW.state = 'running' THEN 'resumed'
             WHEN NEW.state = OLD.state AND NEW.stage <> OLD.stage THEN 'stage passed'
             ELSE NEW.state END,
        'campaign ' || NEW.campaign,
        jsonb_strip_nulls(jsonb_build_object(
            'reason', unnamed(NEW.reason),
            'until', NEW.paused_until,
            'stage', CASE WHEN NEW.stage <> OLD.stage THEN NEW.stage END))
    );
    RETURN NULL;
END
$$;
CREATE TRIGGER campaign_noted AFTER UPDATE OF state, reason, stage ON campaign FOR EACH ROW
    WHEN (NEW.kind = 'campaign'
          AND (OLD.state, OLD.reason, OLD.stage) IS DISTINCT FROM (NEW.state, NEW.reason, NEW.stage)
          AND current_setting('sluice.ordered', true) IS DISTINCT FROM 'yes')
    EXECUTE FUNCTION note_campaign();

-- A pause that only lasts a little longer is the same pause: a storm of throttles is one row.
CREATE FUNCTION note_number() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO audit (actor, via, action, subject, details)
    VALUES (
        COALESCE(NULLIF(current_setting('sluice.actor', true), ''), 'sluice'), 'engine',
        CASE WHEN NEW.state <> OLD.state THEN NEW.state
             WHEN NEW.paused_until IS NULL THEN 'resumed' ELSE 'paused' END,
        'number ' || NEW.phone_number_id,
        jsonb_strip_nulls(
            jsonb_build_object('reason', unnamed(NEW.pause_reason), 'until', NEW.paused_until))
    );
    RETURN NULL;
END
$$;
CREATE TRIGGER number_noted AFTER UPDATE OF state, paused_until, pause_reason ON number FOR EACH ROW
    WHEN ((OLD.state <> NEW.state
           OR OLD.pause_reason IS DISTINCT FROM NEW.pause_reason
           OR (OLD.paused_until IS NULL) <> (NEW.paused_until IS NULL)
           OR NEW.paused_until > OLD.paused_until + interval '1 minute')
          AND current_setting('sluice.ordered', true) IS DISTINCT FROM 'yes')
    EXECUTE FUNCTION note_number();
