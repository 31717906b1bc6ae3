-- Deletions that are longer than one transaction, and how far they have come: of a contact (kind 1), a webhook (2), or a
-- business (3). What it takes to recognise a contact in what remains is personal data, and encrypted. A row goes when its
-- deletion is done. There is no reference to the business, which may be what is deleted.
CREATE TABLE deletions (
    business_id BIGINT  NOT NULL,
    kind        INTEGER NOT NULL,
    record      BIGINT  NOT NULL,
    state       BYTEA   NOT NULL,
    PRIMARY KEY (business_id, kind, record)
);

-- The leads (kind 1) and vehicles (kind 2) that named a contact when it was deleted.
CREATE TABLE erasure_records (
    business_id BIGINT  NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     BIGINT  NOT NULL,
    kind        INTEGER NOT NULL,
    record      BIGINT  NOT NULL,
    created     BIGINT  NOT NULL,
    PRIMARY KEY (business_id, contact, kind, record)
);

-- The lead (kind 1) or vehicle (kind 2) that a stored answer is about.
ALTER TABLE idempotency_keys ADD COLUMN kind INTEGER;
ALTER TABLE idempotency_keys ADD COLUMN record BIGINT;
CREATE INDEX idempotency_keys_record ON idempotency_keys (business_id, kind, record) WHERE record IS NOT NULL;

-- A business that is being deleted is none for anybody.
ALTER TABLE businesses ADD COLUMN deleted BIGINT;

-- With the number, so that the events of a record are walked in parts.
DROP INDEX events_of_contact;
DROP INDEX events_of_changed_lead;
DROP INDEX events_of_vehicle;
CREATE INDEX events_of_contact ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'contact.';
CREATE INDEX events_of_changed_lead ON events (business_id, record, sequence) WHERE name = 'lead.updated';
CREATE INDEX events_of_vehicle ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'vehicle.';
