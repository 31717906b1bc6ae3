CREATE TABLE businesses (
    id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    tag        TEXT    NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    email      TEXT    NOT NULL,
    country    TEXT    NOT NULL,
    website    TEXT    NOT NULL,
    verified   INTEGER NOT NULL,
    state      TEXT    NOT NULL,
    plan       TEXT    NOT NULL,
    api_access INTEGER NOT NULL,
    settings   TEXT    NOT NULL,
    catalogue  TEXT    NOT NULL,
    created    INTEGER NOT NULL,
    updated    INTEGER NOT NULL
) STRICT;

-- The numbers that a business gives out without gaps, and what is counted rather than looked up: its leads, and how often
-- any of them was written, by which whoever has counted others knows whether to count again; its contacts likewise. lead_created is the stamp of
-- its latest lead, event_created that of its latest event: within a business, stamps never run against ids or numbers, so a
-- range of one is a range of the other. subscribers is 0 while no active webhook receives its events, and another number
-- each time that these change.
CREATE TABLE business_counters (
    business_id    INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    leads          INTEGER NOT NULL,
    lead_writes    INTEGER NOT NULL,
    lead_reference INTEGER NOT NULL,
    lead_created   INTEGER NOT NULL,
    contacts       INTEGER NOT NULL,
    contact_writes INTEGER NOT NULL,
    event_sequence INTEGER NOT NULL,
    event_created  INTEGER NOT NULL,
    subscribers    INTEGER NOT NULL
) STRICT;

-- How many records of an area (1: leads, 2: contacts, 3: vehicles in lists) there are in each part of 4,096 ids, and which
-- write of the business's was the latest one there, as business_counters count them: whoever writes records has counted the
-- write before. A list learns from it what it may leave out before a page, and in which parts to count again. A part that has
-- lost all its records keeps its row, to tell so.
CREATE TABLE record_parts (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    area        INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    records     INTEGER NOT NULL,
    writes      INTEGER NOT NULL,
    PRIMARY KEY (business_id, area, part)
) STRICT, WITHOUT ROWID;

-- A key outlives its business, to be told that it is gone; hence no reference.
CREATE TABLE api_keys (
    id          TEXT NOT NULL PRIMARY KEY,
    secret_hash BLOB NOT NULL,
    business_id INTEGER,
    scopes      TEXT NOT NULL,
    created     INTEGER NOT NULL,
    expires     INTEGER,
    revoked     INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_business ON api_keys (business_id, created);

-- Answers to be given again. The body is encrypted: it may show a secret. contact is who else it shows.
CREATE TABLE idempotency_keys (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    created     INTEGER NOT NULL,
    status      INTEGER,
    body        BLOB,
    contact     INTEGER,
    PRIMARY KEY (business_id, key)
) STRICT;

CREATE INDEX idempotency_keys_created ON idempotency_keys (created);
CREATE INDEX idempotency_keys_contact ON idempotency_keys (business_id, contact) WHERE contact IS NOT NULL;

-- What happened, numbered without gaps within a business.
CREATE TABLE events (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    sequence    INTEGER NOT NULL,
    id          TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    record      INTEGER NOT NULL,
    data        TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (business_id, sequence)
) STRICT;

-- Mails that wait to be sent.
CREATE TABLE mails (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    recipient   TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    due         INTEGER NOT NULL
) STRICT;

CREATE INDEX mails_due ON mails (due);
CREATE INDEX mails_business ON mails (business_id);
