-- How many records of a kind a business has, and how often any was written: a total that was counted holds as long as nothing
-- was. A kind needs no column of its own.
CREATE TABLE record_counters (
    business_id BIGINT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    kind        TEXT   NOT NULL,
    records     BIGINT NOT NULL,
    writes      BIGINT NOT NULL,
    PRIMARY KEY (business_id, kind)
) WITH (fillfactor = 50);
