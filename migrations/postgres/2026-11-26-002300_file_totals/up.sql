-- How many bytes the files of a business have together. Whoever records files or removes them waits here for others that do; so
-- what is read in the same transaction is true until its end. The triggers count for servers of the version before too.
CREATE TABLE file_totals (
    business_id BIGINT NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    bytes       BIGINT NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION count_file_bytes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO file_totals AS counted (business_id, bytes)
            SELECT business_id, sum(size) FROM touched GROUP BY business_id
            ON CONFLICT (business_id) DO UPDATE SET bytes = counted.bytes + excluded.bytes;
    ELSE
        UPDATE file_totals AS counted SET bytes = counted.bytes - gone.bytes
            FROM (SELECT business_id, sum(size) AS bytes FROM touched GROUP BY business_id) AS gone
            WHERE counted.business_id = gone.business_id;
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER file_totals_new AFTER INSERT ON files REFERENCING NEW TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION count_file_bytes();
CREATE TRIGGER file_totals_gone AFTER DELETE ON files REFERENCING OLD TABLE AS touched
    FOR EACH STATEMENT EXECUTE FUNCTION count_file_bytes();

-- Since the triggers were made, nobody else writes files.
INSERT INTO file_totals (business_id, bytes) SELECT business_id, sum(size) FROM files GROUP BY business_id;
