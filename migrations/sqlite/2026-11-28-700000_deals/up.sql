-- A deal is its document; lists filter by the columns beside it. A value that many deals lack is NULL where there is none, which
-- the indexes leave out.
CREATE TABLE deals (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    reference   INTEGER NOT NULL,
    site        INTEGER NOT NULL,
    stage       TEXT    NOT NULL,
    is_open     INTEGER NOT NULL,
    source      TEXT    NOT NULL,
    staff       INTEGER,
    contact     INTEGER,
    lead        INTEGER,
    vehicle     INTEGER,
    provider    TEXT,
    external_id TEXT,
    order_id    INTEGER,
    invoice     INTEGER,
    document    TEXT    NOT NULL
) STRICT;

-- Answers each filter that many deals pass, and any combination of them, in the order of the list.
CREATE INDEX deals_list ON deals (business_id, id, site, stage, is_open, source, staff, created, updated);
CREATE UNIQUE INDEX deals_reference ON deals (business_id, reference);
CREATE INDEX deals_contact ON deals (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX deals_lead ON deals (business_id, lead) WHERE lead IS NOT NULL;
CREATE INDEX deals_vehicle ON deals (business_id, vehicle) WHERE vehicle IS NOT NULL;
CREATE INDEX deals_provider ON deals (business_id, provider) WHERE provider IS NOT NULL;
CREATE INDEX deals_external_id ON deals (business_id, external_id) WHERE external_id IS NOT NULL;
CREATE INDEX deals_order ON deals (business_id, order_id) WHERE order_id IS NOT NULL;
CREATE INDEX deals_invoice ON deals (business_id, invoice) WHERE invoice IS NOT NULL;

-- Another system knows one deal under one id, however often it reports it.
CREATE UNIQUE INDEX deals_reported ON deals (business_id, external_id, provider);

-- The contacts that a deal names beside its customer: lenders and the finance provider.
CREATE TABLE deal_contacts (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    deal        INTEGER NOT NULL,
    PRIMARY KEY (business_id, contact, deal)
) STRICT, WITHOUT ROWID;

CREATE INDEX deal_contacts_deal ON deal_contacts (business_id, deal, contact);
