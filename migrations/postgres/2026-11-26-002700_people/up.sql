-- People whose erasure is done, encrypted, for the servers that search their spools for them.
CREATE TABLE erased_people (
    business_id BIGINT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     BIGINT NOT NULL,
    until       BIGINT NOT NULL,
    keys        BYTEA  NOT NULL,
    PRIMARY KEY (business_id, contact)
);

-- Files whose records are gone, and whose content is to be removed.
CREATE TABLE file_removals (
    business_id BIGINT NOT NULL,
    name        TEXT   NOT NULL COLLATE "C",
    PRIMARY KEY (business_id, name)
);

-- A mail that waits goes with the lead that it is about.
ALTER TABLE mails ADD COLUMN lead_id BIGINT;
