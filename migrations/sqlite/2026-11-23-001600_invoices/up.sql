-- An invoice is its document; what it is found by stands beside it. invoice_numbers has the number last drawn of each kind, so that
-- a transaction that is undone gives its number back.
CREATE TABLE invoices (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    number      INTEGER,
    customer    INTEGER,
    document    TEXT NOT NULL
) STRICT;

CREATE INDEX invoices_business ON invoices (business_id);
CREATE UNIQUE INDEX invoices_number ON invoices (business_id, number);
CREATE INDEX invoices_customer ON invoices (business_id, customer) WHERE customer IS NOT NULL;

CREATE TABLE invoice_numbers (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    kind        TEXT NOT NULL,
    latest      INTEGER NOT NULL,
    PRIMARY KEY (business_id, kind)
) STRICT;

-- The contacts that reserved or bought a vehicle, for their erasure.
CREATE TABLE vehicle_customers (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    vehicle     INTEGER NOT NULL,
    PRIMARY KEY (business_id, contact, vehicle)
) STRICT;

CREATE INDEX events_of_invoice ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'invoice.';
