-- A contact is its document; what it is found and compared by stands beside it in columns of its own. A key is short enough
-- for any index, and says what the text means; a text that is filtered by has a literal besides, just as short, which says how
-- it is written, but for case. login_email is the email of who may log in: no two in a business share one. What a password was
-- hashed to stands nowhere but here. login_mail_until is set while login details are being mailed: until then nobody else does it.
CREATE TABLE contacts (
    id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id      INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    login_email      TEXT,
    email_folded     TEXT    NOT NULL,
    name_key         TEXT    NOT NULL,
    name_literal     TEXT    NOT NULL,
    company_key      TEXT    NOT NULL,
    company_literal  TEXT    NOT NULL,
    vat_key          TEXT    NOT NULL,
    vat_literal      TEXT    NOT NULL,
    telephone        TEXT,
    mobile           TEXT,
    address_key      TEXT    NOT NULL,
    city_key         TEXT    NOT NULL,
    state_key        TEXT    NOT NULL,
    country          TEXT    NOT NULL,
    postcode_key     TEXT    NOT NULL,
    postcode_literal TEXT    NOT NULL,
    password_hash    TEXT,
    login_mail_until INTEGER,
    created          INTEGER NOT NULL,
    updated          INTEGER NOT NULL,
    document         TEXT    NOT NULL,
    UNIQUE (business_id, login_email)
) STRICT;

-- Lists read newest first: every index ends in the id, which SQLite puts there by itself. Where a filter yet judges by something
-- more, that stands behind the id, so that a list is counted without a look at its contacts.
CREATE INDEX contacts_business ON contacts (business_id);
CREATE INDEX contacts_email ON contacts (business_id, email_folded);
CREATE INDEX contacts_name ON contacts (business_id, name_key, id, name_literal);
CREATE INDEX contacts_company ON contacts (business_id, company_key, id, company_literal);
CREATE INDEX contacts_vat ON contacts (business_id, vat_key, id, vat_literal);
CREATE INDEX contacts_postcode ON contacts (business_id, postcode_key, id, postcode_literal);
CREATE INDEX contacts_address ON contacts (business_id, address_key);
CREATE INDEX contacts_telephone ON contacts (business_id, telephone) WHERE telephone IS NOT NULL;
CREATE INDEX contacts_mobile ON contacts (business_id, mobile) WHERE mobile IS NOT NULL;

CREATE TRIGGER contact_parts_new AFTER INSERT ON contacts BEGIN
    INSERT INTO record_parts
        SELECT business_id, 2, new.id >> 12, 1, contact_writes FROM business_counters WHERE business_id = new.business_id
        ON CONFLICT DO UPDATE SET records = records + 1, writes = excluded.writes;
END;

CREATE TRIGGER contact_parts_changed AFTER UPDATE ON contacts BEGIN
    UPDATE record_parts SET writes = counters.contact_writes FROM business_counters AS counters
        WHERE counters.business_id = new.business_id
            AND record_parts.business_id = new.business_id AND area = 2 AND part = new.id >> 12;
END;

CREATE TRIGGER contact_parts_gone AFTER DELETE ON contacts BEGIN
    UPDATE record_parts SET records = records - 1, writes = counters.contact_writes FROM business_counters AS counters
        WHERE counters.business_id = old.business_id
            AND record_parts.business_id = old.business_id AND area = 2 AND part = old.id >> 12;
END;

CREATE TABLE contact_notes (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact_id  INTEGER NOT NULL REFERENCES contacts (id) ON DELETE CASCADE,
    created     INTEGER NOT NULL,
    user_id     INTEGER,
    note        TEXT    NOT NULL
) STRICT;

CREATE INDEX contact_notes_contact ON contact_notes (contact_id);
CREATE INDEX contact_notes_business ON contact_notes (business_id);

-- Addresses and numbers that are left alone, as digests: a block outlives the contact, which it must not tell of.
CREATE TABLE contact_blocks (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    key         BLOB    NOT NULL,
    PRIMARY KEY (business_id, key)
) STRICT, WITHOUT ROWID;

-- Where a deleted contact is still told of: in its own events, in those of leads that were linked to it (the one of a lead's
-- creation is found by when that was), and in what receivers answered.
CREATE INDEX events_of_contact ON events (business_id, record) WHERE substr(name, 1, 8) = 'contact.';
CREATE INDEX events_of_changed_lead ON events (business_id, record) WHERE name = 'lead.updated';
CREATE INDEX webhook_deliveries_answered ON webhook_deliveries (business_id, sequence)
    WHERE sequence IS NOT NULL AND response_body IS NOT NULL;

-- Set while an attempt is under way that was sent what has since been forgotten: its answer is not kept, for it may repeat it.
ALTER TABLE webhook_deliveries ADD COLUMN forget_answer INTEGER NOT NULL DEFAULT 0;

-- Wildcard searches, as for leads: the runs of three characters in the address of each contact, many contacts at a time. Of
-- what has changed or gone none stays behind.
CREATE VIRTUAL TABLE contact_search USING fts5 (
    text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);

CREATE TABLE contact_search_state (latest INTEGER NOT NULL) STRICT;

INSERT INTO contact_search_state (latest) VALUES (0);

CREATE TRIGGER contact_search_new AFTER INSERT ON contacts WHEN new.id % 256 = 0 BEGIN
    INSERT INTO contact_search (rowid, text)
        SELECT id, email_folded FROM contacts WHERE id > (SELECT latest FROM contact_search_state);
    UPDATE contact_search_state SET latest = new.id;
END;

CREATE TRIGGER contact_search_changed AFTER UPDATE OF email_folded ON contacts
    WHEN new.email_folded <> old.email_folded AND new.id <= (SELECT latest FROM contact_search_state) BEGIN
    INSERT INTO contact_search (contact_search, rowid, text) VALUES ('delete', old.id, old.email_folded);
    INSERT INTO contact_search (rowid, text) VALUES (new.id, new.email_folded);
END;

CREATE TRIGGER contact_search_gone AFTER DELETE ON contacts
    WHEN old.id <= (SELECT latest FROM contact_search_state) BEGIN
    INSERT INTO contact_search (contact_search, rowid, text) VALUES ('delete', old.id, old.email_folded);
END;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('contacts', 'sqlite_autoindex_contacts_1', '1000000 100000 8'),
    ('contacts', 'contacts_business', '1000000 100000'),
    ('contacts', 'contacts_email', '1000000 100000 2'),
    ('contacts', 'contacts_name', '1000000 100000 5 1 1'),
    ('contacts', 'contacts_company', '1000000 100000 10 1 1'),
    ('contacts', 'contacts_vat', '1000000 100000 9 1 1'),
    ('contacts', 'contacts_postcode', '1000000 100000 8 1 1'),
    ('contacts', 'contacts_address', '1000000 100000 3'),
    ('contacts', 'contacts_telephone', '300000 30000 2'),
    ('contacts', 'contacts_mobile', '800000 80000 2'),
    ('contact_notes', 'contact_notes_contact', '1000000 2'),
    ('contact_notes', 'contact_notes_business', '1000000 100000'),
    ('contact_blocks', 'contact_blocks', '100000 10000 1'),
    ('idempotency_keys', 'idempotency_keys_contact', '10000 1000 2'),
    ('events', 'sqlite_autoindex_events_1', '1000000 100000 1'),
    ('events', 'events_of_contact', '300000 30000 3'),
    ('events', 'events_of_changed_lead', '300000 30000 3'),
    ('webhook_deliveries', 'webhook_deliveries_answered', '300000 30000 2');

ANALYZE sqlite_schema;
