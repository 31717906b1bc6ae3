-- A call is its document; lists filter by the columns beside it. A value that most calls lack is NULL where there is none, which
-- the indexes leave out.
CREATE TABLE calls (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    site        INTEGER NOT NULL,
    direction   TEXT    NOT NULL,
    outcome     TEXT    NOT NULL,
    started     INTEGER NOT NULL,
    staff       INTEGER,
    contact     INTEGER,
    lead        INTEGER,
    vehicle     INTEGER,
    from_number TEXT,
    to_number   TEXT,
    provider    TEXT,
    external_id TEXT,
    tracking    TEXT,
    document    TEXT    NOT NULL
) STRICT;

-- Answers each filter that many calls pass, and any combination of them, in the order of the list.
CREATE INDEX calls_list ON calls (business_id, id, site, direction, outcome, staff, started, created, updated);
CREATE INDEX calls_contact ON calls (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX calls_lead ON calls (business_id, lead) WHERE lead IS NOT NULL;
CREATE INDEX calls_vehicle ON calls (business_id, vehicle) WHERE vehicle IS NOT NULL;
CREATE INDEX calls_from ON calls (business_id, from_number) WHERE from_number IS NOT NULL;
CREATE INDEX calls_to ON calls (business_id, to_number) WHERE to_number IS NOT NULL;
CREATE INDEX calls_provider ON calls (business_id, provider) WHERE provider IS NOT NULL;
CREATE INDEX calls_tracking ON calls (business_id, tracking) WHERE tracking IS NOT NULL;
CREATE INDEX calls_external_id ON calls (business_id, external_id) WHERE external_id IS NOT NULL;

-- A telephone system reports one call under one id, however often.
CREATE UNIQUE INDEX calls_reported ON calls (business_id, external_id, provider);
