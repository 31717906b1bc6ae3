-- How many bytes the files of a business have together. The triggers count for servers of the version before too.
CREATE TABLE file_totals (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    bytes       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER file_totals_new AFTER INSERT ON files BEGIN
    INSERT INTO file_totals (business_id, bytes) VALUES (new.business_id, new.size)
        ON CONFLICT (business_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER file_totals_gone AFTER DELETE ON files BEGIN
    UPDATE file_totals SET bytes = bytes - old.size WHERE business_id = old.business_id;
END;

INSERT INTO file_totals (business_id, bytes) SELECT business_id, sum(size) FROM files GROUP BY business_id;
