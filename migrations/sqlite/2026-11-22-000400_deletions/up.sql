-- Deletions that are longer than one transaction, and how far they have come: of a contact (kind 1), a webhook (2), or a
-- business (3). What it takes to recognise a contact in what remains is personal data, and encrypted. A row goes when its
-- deletion is done. There is no reference to the business, which may be what is deleted.
CREATE TABLE deletions (
    business_id INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    record      INTEGER NOT NULL,
    state       BLOB    NOT NULL,
    PRIMARY KEY (business_id, kind, record)
) STRICT, WITHOUT ROWID;

-- The leads (kind 1) and vehicles (kind 2) that named a contact when it was deleted.
CREATE TABLE erasure_records (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    kind        INTEGER NOT NULL,
    record      INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (business_id, contact, kind, record)
) STRICT, WITHOUT ROWID;

-- The lead (kind 1) or vehicle (kind 2) that a stored answer is about.
ALTER TABLE idempotency_keys ADD COLUMN kind INTEGER;
ALTER TABLE idempotency_keys ADD COLUMN record INTEGER;
CREATE INDEX idempotency_keys_record ON idempotency_keys (business_id, kind, record) WHERE record IS NOT NULL;

-- A business that is being deleted is none for anybody.
ALTER TABLE businesses ADD COLUMN deleted INTEGER;

-- With the number, so that the events of a record are walked in parts.
DROP INDEX events_of_contact;
DROP INDEX events_of_changed_lead;
DROP INDEX events_of_vehicle;
CREATE INDEX events_of_contact ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'contact.';
CREATE INDEX events_of_changed_lead ON events (business_id, record, sequence) WHERE name = 'lead.updated';
CREATE INDEX events_of_vehicle ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'vehicle.';

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('deletions', 'deletions', '10 2 1 1'),
    ('erasure_records', 'erasure_records', '1000 200 100 50 1'),
    ('idempotency_keys', 'idempotency_keys_record', '10000 1000 500 2'),
    ('events', 'events_of_contact', '300000 30000 3 1'),
    ('events', 'events_of_changed_lead', '300000 30000 3 1'),
    ('events', 'events_of_vehicle', '300000 30000 10 1');

ANALYZE sqlite_schema;
