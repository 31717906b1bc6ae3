-- A lead is its document; what lists are filtered by stands beside it in a column and an index of its own. Text that is
-- compared stands folded; name_key is the beginning of the folded name, short enough for any index.
CREATE TABLE leads (
    id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id  INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    reference    INTEGER NOT NULL,
    site         INTEGER NOT NULL,
    channel      TEXT    NOT NULL,
    status       INTEGER NOT NULL,
    contact      INTEGER,
    rating       INTEGER,
    name_key     TEXT    NOT NULL,
    name_folded  TEXT    NOT NULL,
    email_folded TEXT    NOT NULL,
    phone        TEXT    NOT NULL,
    mobile       TEXT    NOT NULL,
    reopens      INTEGER,
    created      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    document     TEXT    NOT NULL
) STRICT;

-- Lists read newest first, so every index ends in the id.
CREATE UNIQUE INDEX leads_id ON leads (business_id, id);
CREATE UNIQUE INDEX leads_reference ON leads (business_id, reference);
CREATE INDEX leads_site ON leads (business_id, site, id);
CREATE INDEX leads_channel ON leads (business_id, channel, id);
CREATE INDEX leads_status ON leads (business_id, status, id);
CREATE INDEX leads_contact ON leads (business_id, contact, id) WHERE contact IS NOT NULL;
CREATE INDEX leads_rated ON leads (business_id, id, rating) WHERE rating IS NOT NULL;
CREATE INDEX leads_name ON leads (business_id, name_key, id);
CREATE INDEX leads_email ON leads (business_id, email_folded, id);
CREATE INDEX leads_phone ON leads (business_id, phone, id);
CREATE INDEX leads_mobile ON leads (business_id, mobile, id);
CREATE INDEX leads_created ON leads (business_id, created, id);
CREATE INDEX leads_updated ON leads (business_id, updated, id);
CREATE INDEX leads_reopens ON leads (reopens) WHERE reopens IS NOT NULL;

-- The vehicles that a lead concerns.
CREATE TABLE lead_vehicles (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    vehicle_id  INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (business_id, vehicle_id, lead_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX lead_vehicles_lead ON lead_vehicles (lead_id);
