-- A purchase is its document. supplier_key is the supplier's number without case and blanks.
CREATE TABLE purchases (
    id           INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id  INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version      INTEGER NOT NULL,
    created      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    number       INTEGER,
    supplier     INTEGER,
    supplier_key TEXT,
    site         INTEGER NOT NULL,
    status       TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    job          INTEGER,
    gross        INTEGER NOT NULL,
    date         INTEGER NOT NULL,
    due_date     INTEGER NOT NULL,
    retained     INTEGER,
    document     TEXT    NOT NULL
) STRICT;

CREATE INDEX purchases_list ON purchases (business_id, id, status, kind, site, date, due_date, gross, created, updated);
CREATE UNIQUE INDEX purchases_number ON purchases (business_id, number);
CREATE INDEX purchases_supplier ON purchases (business_id, supplier, id) WHERE supplier IS NOT NULL;
CREATE INDEX purchases_supplier_key ON purchases (business_id, supplier_key, id) WHERE supplier_key IS NOT NULL;
CREATE INDEX purchases_job ON purchases (business_id, job, id) WHERE job IS NOT NULL;
CREATE INDEX purchases_retained ON purchases (retained, id) WHERE retained IS NOT NULL;

-- The vehicles that the lines of a purchase are for.
CREATE TABLE purchase_vehicles (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    vehicle     INTEGER NOT NULL,
    purchase    INTEGER NOT NULL,
    PRIMARY KEY (business_id, vehicle, purchase)
) STRICT, WITHOUT ROWID;

CREATE INDEX purchase_vehicles_purchase ON purchase_vehicles (business_id, purchase, vehicle);

-- The credits of purchases.
CREATE TABLE purchase_credits (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    purchase    INTEGER NOT NULL,
    date        INTEGER NOT NULL,
    PRIMARY KEY (business_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX purchase_credits_date ON purchase_credits (business_id, date, purchase);
