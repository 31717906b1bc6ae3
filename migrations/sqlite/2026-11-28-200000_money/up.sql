-- Invoices grow: what lists filter by has columns. Days are the epoch seconds of their midnight in UTC, amounts are minor units.
-- retained is the day of a document that shows the frozen party of a contact that is gone.
ALTER TABLE invoices ADD COLUMN site INTEGER NOT NULL DEFAULT 0;
ALTER TABLE invoices ADD COLUMN status TEXT NOT NULL DEFAULT 'draft';
ALTER TABLE invoices ADD COLUMN kind TEXT NOT NULL DEFAULT 'deposit';
ALTER TABLE invoices ADD COLUMN reference_folded TEXT;
ALTER TABLE invoices ADD COLUMN deal INTEGER;
ALTER TABLE invoices ADD COLUMN order_id INTEGER;
ALTER TABLE invoices ADD COLUMN parent INTEGER;
ALTER TABLE invoices ADD COLUMN salesperson INTEGER;
ALTER TABLE invoices ADD COLUMN gross INTEGER NOT NULL DEFAULT 0;
ALTER TABLE invoices ADD COLUMN date INTEGER NOT NULL DEFAULT 0;
ALTER TABLE invoices ADD COLUMN due_date INTEGER NOT NULL DEFAULT 0;
ALTER TABLE invoices ADD COLUMN retained INTEGER;

UPDATE invoices SET
    site = json_extract(document, '$.site'),
    status = json_extract(document, '$.status'),
    kind = json_extract(document, '$.type'),
    gross = coalesce((SELECT sum(CAST(round(CAST(json_extract(line.value, '$.gross') AS REAL) * 100) AS INTEGER))
        FROM json_each(document, '$.lines') AS line), 0),
    date = unixepoch(json_extract(document, '$.date')),
    due_date = unixepoch(json_extract(document, '$.due_date'));

-- Their counter has only given out numbers so far.
UPDATE counters SET records = (SELECT count(*) FROM invoices WHERE invoices.business_id = counters.business_id)
    WHERE kind = 'invoices';

-- The list's index serves instead.
DROP INDEX invoices_business;

-- The vehicles that the lines of an invoice are for, and its credit notes.
CREATE TABLE invoice_vehicles (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    vehicle     INTEGER NOT NULL,
    invoice     INTEGER NOT NULL,
    PRIMARY KEY (business_id, vehicle, invoice)
) STRICT, WITHOUT ROWID;

CREATE INDEX invoice_vehicles_invoice ON invoice_vehicles (business_id, invoice, vehicle);

CREATE TABLE invoice_credits (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    number      INTEGER NOT NULL,
    invoice     INTEGER NOT NULL,
    date        INTEGER NOT NULL,
    PRIMARY KEY (business_id, number)
) STRICT, WITHOUT ROWID;

CREATE INDEX invoice_credits_date ON invoice_credits (business_id, date, invoice);

INSERT INTO invoice_vehicles (business_id, vehicle, invoice)
    SELECT DISTINCT invoices.business_id, json_extract(line.value, '$.vehicle'), invoices.id
    FROM invoices, json_each(invoices.document, '$.lines') AS line
    WHERE json_extract(line.value, '$.vehicle') IS NOT NULL;
INSERT INTO invoice_credits (business_id, number, invoice, date)
    SELECT invoices.business_id, CAST(substr(json_extract(note.value, '$.number'), 4) AS INTEGER), invoices.id,
        unixepoch(json_extract(note.value, '$.date'))
    FROM invoices, json_each(invoices.document, '$.credit_notes') AS note;

-- The contacts that an invoice names beside its customer: lenders and the finance provider.
CREATE TABLE invoice_contacts (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    invoice     INTEGER NOT NULL,
    PRIMARY KEY (business_id, contact, invoice)
) STRICT, WITHOUT ROWID;

CREATE INDEX invoice_contacts_invoice ON invoice_contacts (business_id, invoice, contact);

-- An order is its document.
CREATE TABLE orders (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    number      INTEGER,
    customer    INTEGER,
    site        INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    reference_folded TEXT,
    deal        INTEGER,
    invoice     INTEGER,
    salesperson INTEGER,
    date        INTEGER NOT NULL,
    valid_until INTEGER,
    retained       INTEGER,
    document    TEXT    NOT NULL
) STRICT;

CREATE INDEX orders_list ON orders (business_id, id, status, site, date, valid_until, salesperson, created, updated);
CREATE UNIQUE INDEX orders_number ON orders (business_id, number);
CREATE INDEX orders_customer ON orders (business_id, customer, id) WHERE customer IS NOT NULL;
CREATE INDEX orders_reference ON orders (business_id, reference_folded, id) WHERE reference_folded IS NOT NULL;
CREATE INDEX orders_deal ON orders (business_id, deal, id) WHERE deal IS NOT NULL;
CREATE INDEX orders_invoice ON orders (business_id, invoice, id) WHERE invoice IS NOT NULL;
CREATE INDEX orders_retained ON orders (retained, id) WHERE retained IS NOT NULL;

-- The vehicles that the lines of an order are for.
CREATE TABLE order_vehicles (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    vehicle     INTEGER NOT NULL,
    order_id    INTEGER NOT NULL,
    PRIMARY KEY (business_id, vehicle, order_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX order_vehicles_order ON order_vehicles (business_id, order_id, vehicle);

-- The contacts that an order names beside its customer: lenders and the finance provider.
CREATE TABLE order_contacts (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    order_id    INTEGER NOT NULL,
    PRIMARY KEY (business_id, contact, order_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX order_contacts_order ON order_contacts (business_id, order_id, contact);
