-- How many deliveries of a campaign and number stand in each state and status. Kept by deltas, in
-- 16 shards so that writers do not wait for one another; nothing ever counts the hot table.
CREATE TABLE campaign_counter (
    campaign_id int NOT NULL,
    phone_number_id text NOT NULL, -- '' while no number has the delivery
    state delivery_state NOT NULL,
    status delivery_status NOT NULL,
    shard smallint NOT NULL,
    deliveries bigint NOT NULL,
    PRIMARY KEY (campaign_id, phone_number_id, state, status, shard)
) WITH (fillfactor = 50);

-- What reconcile saw of the counters of open campaigns, some hours back: how fast they go.
CREATE TABLE campaign_progress (
    campaign_id int NOT NULL,
    at timestamptz NOT NULL,
    done bigint NOT NULL, -- deliveries that had left by then: done, failed or unknown
    PRIMARY KEY (campaign_id, at)
);

-- The deltas come from the table itself, in the transaction of the change, so no statement can
-- forget them. Rows are locked in key order: two writers on one shard cannot deadlock.
CREATE FUNCTION count_deliveries() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO campaign_counter AS counter
        SELECT campaign_id, coalesce(phone_number_id, ''), state, status,
               pg_backend_pid() % 16, sum(delta)
        FROM (
            SELECT campaign_id, phone_number_id, state, status, -1 AS delta FROM old_rows
            UNION ALL
            SELECT campaign_id, phone_number_id, state, status, 1 FROM new_rows
        ) AS change
        GROUP BY 1, 2, 3, 4 HAVING sum(delta) <> 0 ORDER BY 1, 2, 3, 4
        ON CONFLICT (campaign_id, phone_number_id, state, status, shard)
        DO UPDATE SET deliveries = counter.deliveries + excluded.deliveries;
    ELSIF TG_OP = 'INSERT' THEN
        INSERT INTO campaign_counter AS counter
        SELECT campaign_id, coalesce(phone_number_id, ''), state, status,
               pg_backend_pid() % 16, count(*)
        FROM new_rows GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
        ON CONFLICT (campaign_id, phone_number_id, state, status, shard)
        DO UPDATE SET deliveries = counter.deliveries + excluded.deliveries;
    ELSE
        -- What became of a campaign is known after its rows are erased.
        INSERT INTO campaign_counter AS counter
        SELECT campaign_id, coalesce(phone_number_id, ''), state, status,
               pg_backend_pid() % 16, -count(*)
        FROM old_rows
        WHERE campaign_id NOT IN (SELECT c.campaign_id FROM campaign AS c WHERE c.state = 'erased')
        GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4
        ON CONFLICT (campaign_id, phone_number_id, state, status, shard)
        DO UPDATE SET deliveries = counter.deliveries + excluded.deliveries;
    END IF;
    RETURN NULL;
END
$$;

-- Postgres fires the statement triggers of the table that a statement names, and no others: those of
-- the whole, or those of the partition. So each has them, and each change is counted once.
CREATE FUNCTION count_deliveries_of(counted regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TRIGGER delivery_updated AFTER UPDATE ON %s
        REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries()', counted);
    EXECUTE format('CREATE TRIGGER delivery_inserted AFTER INSERT ON %s
        REFERENCING NEW TABLE AS new_rows
        FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries()', counted);
    EXECUTE format('CREATE TRIGGER delivery_deleted AFTER DELETE ON %s
        REFERENCING OLD TABLE AS old_rows
        FOR EACH STATEMENT EXECUTE FUNCTION count_deliveries()', counted);
END
$$;
SELECT count_deliveries_of('delivery'), count_deliveries_of('delivery_shared');
