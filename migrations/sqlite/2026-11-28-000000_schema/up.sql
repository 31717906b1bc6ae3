-- The schema. Every table of a business's records begins with business_id or has an index that does, so that no query reads
-- another business's rows. Times are seconds since the epoch unless a comment says otherwise.


-- The database itself
-- -------------------

-- The product that owns the database, the server that last changed its schema, and other facts of the whole installation.
CREATE TABLE forecourt_meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO forecourt_meta (key, value) VALUES ('product', 'forecourt');

-- The servers that use the database. Each renews its row while it runs, and removes it when it stops. The report is JSON.
CREATE TABLE servers (
    id           INTEGER NOT NULL PRIMARY KEY,
    host         TEXT    NOT NULL,
    pid          INTEGER NOT NULL,
    version      TEXT    NOT NULL,
    started      INTEGER NOT NULL,
    seen         INTEGER NOT NULL,
    clock_offset INTEGER,
    report       TEXT    NOT NULL
) STRICT;


-- Businesses and their keys
-- -------------------------

-- settings and catalogue are JSON. A business that is being deleted has deleted set, and is no longer found.
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
    updated    INTEGER NOT NULL,
    deleted    INTEGER
) STRICT;

-- A key outlives its business, so that a request with it is told that the account is gone; hence no reference. addresses has the
-- networks that it may be used from, with commas between them; null stands for all. last_used is the hour of its latest use.
CREATE TABLE api_keys (
    id          TEXT    NOT NULL PRIMARY KEY,
    secret_hash BLOB    NOT NULL,
    business_id INTEGER,
    scopes      TEXT    NOT NULL,
    created     INTEGER NOT NULL,
    expires     INTEGER,
    revoked     INTEGER,
    addresses   TEXT,
    last_used   INTEGER
) STRICT, WITHOUT ROWID;

CREATE INDEX api_keys_business ON api_keys (business_id, created);

-- The counters of a business, by kind. records is the number of its records of a kind, writes the number of their writes: a total
-- that was counted is right until the next write. number is the latest number that was given out, without gaps, and stamp its
-- time; unordered is set once the clock was put back. A transaction that changes any of a business's counters locks the row
-- 'events' first, which every business has. The number of 'subscribers' is 0 while no active webhook receives events, and another
-- one after each change of these.
CREATE TABLE counters (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    kind        TEXT    NOT NULL,
    records     INTEGER NOT NULL,
    writes      INTEGER NOT NULL,
    number      INTEGER NOT NULL,
    stamp       INTEGER NOT NULL,
    unordered   INTEGER NOT NULL,
    PRIMARY KEY (business_id, kind)
) STRICT, WITHOUT ROWID;

-- Answers to give again. body is encrypted: it may show a secret. contact is the person that it shows, and record the lead (kind
-- 1) or vehicle (kind 2), for their erasure.
CREATE TABLE idempotency_keys (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    key         TEXT    NOT NULL,
    fingerprint BLOB    NOT NULL,
    created     INTEGER NOT NULL,
    status      INTEGER,
    body        BLOB,
    contact     INTEGER,
    kind        INTEGER,
    record      INTEGER,
    PRIMARY KEY (business_id, key)
) STRICT;

CREATE INDEX idempotency_keys_created ON idempotency_keys (created);
CREATE INDEX idempotency_keys_contact ON idempotency_keys (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX idempotency_keys_record ON idempotency_keys (business_id, kind, record) WHERE record IS NOT NULL;


-- Events and webhooks
-- -------------------

-- An append-only log, numbered without gaps within a business.
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

-- The events of one record, in parts, for the erasure of a contact that they show.
CREATE INDEX events_of_contact ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'contact.';
CREATE INDEX events_of_changed_lead ON events (business_id, record, sequence) WHERE name = 'lead.updated';
CREATE INDEX events_of_vehicle ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'vehicle.';
CREATE INDEX events_of_invoice ON events (business_id, record, sequence) WHERE substr(name, 1, 8) = 'invoice.';

-- The deletion of a record, after which updates of it are no longer sent.
CREATE INDEX events_of_deletion ON events (business_id, record)
    WHERE name IN ('contact.deleted', 'lead.deleted', 'vehicle.deleted');

-- Subscriptions. A deleted one stays as long as its history does, without its secret.
CREATE TABLE webhooks (
    id               INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id      INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    url              TEXT    NOT NULL,
    description      TEXT    NOT NULL,
    events           TEXT    NOT NULL,
    scopes           TEXT    NOT NULL,
    active           INTEGER NOT NULL,
    secret           BLOB    NOT NULL,
    secret_hint      TEXT    NOT NULL,
    failure_count    INTEGER NOT NULL,
    last_status      TEXT,
    last_delivery_at INTEGER,
    version          INTEGER NOT NULL DEFAULT 1,
    created          INTEGER NOT NULL,
    updated          INTEGER NOT NULL,
    deleted          INTEGER
) STRICT;

CREATE INDEX webhooks_business ON webhooks (business_id) WHERE deleted IS NULL;
CREATE INDEX webhooks_deleted ON webhooks (deleted) WHERE deleted IS NOT NULL;

-- The time at which the next delivery of a subscription is due, in milliseconds; null if none waits that may be sent. It is a
-- table of its own, so that recording an event does not wait for a change of the subscription.
CREATE TABLE webhook_queues (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    webhook_id  INTEGER NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    active      INTEGER NOT NULL,
    next_due    INTEGER,
    PRIMARY KEY (business_id, webhook_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX webhook_queues_due ON webhook_queues (next_due) WHERE next_due IS NOT NULL;
CREATE INDEX webhook_queues_webhook ON webhook_queues (webhook_id);

-- A pending delivery either waits and is due, or is leased; one that is neither has ended. settling names the place of an update
-- that may still take in another of the same record. forget_answer is set while an attempt is under way whose content was erased
-- meanwhile: its answer may repeat that content, and is not kept. due, lease, settle_by and first_attempt are in milliseconds.
CREATE TABLE webhook_deliveries (
    id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id     INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    webhook_id      INTEGER NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    topic           TEXT    NOT NULL,
    event_id        TEXT    NOT NULL,
    sequence        INTEGER,
    status          INTEGER NOT NULL,
    settling        TEXT,
    settle_by       INTEGER,
    due             INTEGER,
    lease           INTEGER,
    attempts        INTEGER NOT NULL,
    first_attempt   INTEGER,
    next_attempt_at INTEGER,
    response_code   INTEGER,
    response_ms     INTEGER,
    response_body   TEXT,
    error           TEXT,
    created         INTEGER NOT NULL,
    pinged          INTEGER,
    delivered_at    INTEGER,
    forget_answer   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX webhook_deliveries_list ON webhook_deliveries (business_id, webhook_id, id, topic, status);
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (business_id, webhook_id, status);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (business_id, webhook_id, due) WHERE due IS NOT NULL;
CREATE UNIQUE INDEX webhook_deliveries_settling ON webhook_deliveries (business_id, settling) WHERE settling IS NOT NULL;
CREATE INDEX webhook_deliveries_lease ON webhook_deliveries (lease) WHERE lease IS NOT NULL;
CREATE INDEX webhook_deliveries_created ON webhook_deliveries (created);
CREATE INDEX webhook_deliveries_answered ON webhook_deliveries (business_id, sequence)
    WHERE sequence IS NOT NULL AND response_body IS NOT NULL;


-- Leads
-- -----

-- A lead is its document. Lists filter by the columns beside it, and show preview in the simple view. Text is compared in a
-- folded form; name_key is the beginning of name_folded, short enough for any index. suggested is the contact that the sender
-- seems to be, for its erasure. reopens is the time at which a lead that was put off opens again.
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
    phone        TEXT,
    mobile       TEXT,
    reopens      INTEGER,
    created      INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    suggested    INTEGER,
    preview      TEXT    NOT NULL,
    document     TEXT    NOT NULL
) STRICT;

-- Answers each filter that many leads pass, and any combination of them, in the order of the list. The filters that few leads
-- pass have an index of their own.
CREATE INDEX leads_list ON leads (business_id, id, site, channel, status, rating, created, updated);
CREATE UNIQUE INDEX leads_reference ON leads (business_id, reference);
CREATE INDEX leads_contact ON leads (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX leads_name ON leads (business_id, name_folded);
CREATE INDEX leads_email ON leads (business_id, email_folded);
CREATE INDEX leads_phone ON leads (business_id, phone) WHERE phone IS NOT NULL;
CREATE INDEX leads_mobile ON leads (business_id, mobile) WHERE mobile IS NOT NULL;
CREATE INDEX leads_reopens ON leads (reopens) WHERE reopens IS NOT NULL;
CREATE INDEX leads_suggested ON leads (business_id, suggested) WHERE suggested IS NOT NULL;

-- Wildcard searches: the trigrams of each lead's name and email. To index one lead at a time would cost more than all else that
-- is written of it, so that 256 are indexed at once, and a search reads the leads beyond the latest indexed id besides. What is
-- taken out of the index is overwritten.
CREATE VIRTUAL TABLE lead_search USING fts5 (
    text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
INSERT INTO lead_search (lead_search, rank) VALUES ('secure-delete', 1);

CREATE TABLE lead_search_state (latest INTEGER NOT NULL) STRICT;
INSERT INTO lead_search_state (latest) VALUES (0);

CREATE TRIGGER lead_search_new AFTER INSERT ON leads WHEN new.id % 256 = 0 BEGIN
    INSERT INTO lead_search (rowid, text)
        SELECT id, name_folded || char(10) || email_folded FROM leads WHERE id > (SELECT latest FROM lead_search_state);
    UPDATE lead_search_state SET latest = new.id;
END;

CREATE TRIGGER lead_search_changed AFTER UPDATE OF name_folded, email_folded ON leads
    WHEN (new.name_folded <> old.name_folded OR new.email_folded <> old.email_folded)
        AND new.id <= (SELECT latest FROM lead_search_state) BEGIN
    INSERT INTO lead_search (lead_search, rowid, text)
        VALUES ('delete', old.id, old.name_folded || char(10) || old.email_folded);
    INSERT INTO lead_search (rowid, text) VALUES (new.id, new.name_folded || char(10) || new.email_folded);
END;

CREATE TRIGGER lead_search_gone AFTER DELETE ON leads
    WHEN old.id <= (SELECT latest FROM lead_search_state) BEGIN
    INSERT INTO lead_search (lead_search, rowid, text)
        VALUES ('delete', old.id, old.name_folded || char(10) || old.email_folded);
END;

-- The conversation with the sender of an enquiry.
CREATE TABLE lead_messages (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    created     INTEGER NOT NULL,
    direction   TEXT    NOT NULL,
    channel     TEXT    NOT NULL,
    user_id     INTEGER,
    subject     TEXT    NOT NULL,
    body        TEXT    NOT NULL
) STRICT;

CREATE INDEX lead_messages_lead ON lead_messages (lead_id, business_id);
CREATE INDEX lead_messages_business ON lead_messages (business_id);

-- Internal notes on an enquiry.
CREATE TABLE lead_notes (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    created     INTEGER NOT NULL,
    user_id     INTEGER,
    note        TEXT    NOT NULL
) STRICT;

CREATE INDEX lead_notes_lead ON lead_notes (lead_id, business_id);
CREATE INDEX lead_notes_business ON lead_notes (business_id);

-- Conversations that wait to be assessed. One that a server has taken is due again when its lease ends.
CREATE TABLE lead_assessments (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    due         INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    PRIMARY KEY (lead_id, business_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX lead_assessments_due ON lead_assessments (business_id, due);

-- Mails that have become leads. They outlast those leads, so that no mail becomes a lead twice.
CREATE TABLE lead_mails (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    message_id  TEXT    NOT NULL,
    PRIMARY KEY (business_id, message_id)
) STRICT, WITHOUT ROWID;


-- Contacts
-- --------

-- A contact is its document. A key is a text in the form in which it is compared, short enough for any index; a literal is as
-- long, and differs only in how it is written. login_email is the email of a contact that may log in. The hash of a password is
-- nowhere else. login_mail_until is set while login details are being mailed, so that no second server mails them.
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
    version          INTEGER NOT NULL DEFAULT 1,
    document         TEXT    NOT NULL,
    UNIQUE (business_id, login_email)
) STRICT;

CREATE INDEX contacts_list ON contacts (business_id, id, created, updated);
CREATE INDEX contacts_email ON contacts (business_id, email_folded);
CREATE INDEX contacts_name ON contacts (business_id, name_key, id, name_literal);
CREATE INDEX contacts_company ON contacts (business_id, company_key, id, company_literal);
CREATE INDEX contacts_vat ON contacts (business_id, vat_key, id, vat_literal);
CREATE INDEX contacts_postcode ON contacts (business_id, postcode_key, id, postcode_literal);
CREATE INDEX contacts_address ON contacts (business_id, address_key);
CREATE INDEX contacts_telephone ON contacts (business_id, telephone) WHERE telephone IS NOT NULL;
CREATE INDEX contacts_mobile ON contacts (business_id, mobile) WHERE mobile IS NOT NULL;

-- Wildcard searches, as for leads: the trigrams of each contact's email.
CREATE VIRTUAL TABLE contact_search USING fts5 (
    text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);
INSERT INTO contact_search (contact_search, rank) VALUES ('secure-delete', 1);

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

-- Addresses and numbers that receive no marketing, as digests: a block outlives its contact.
CREATE TABLE contact_blocks (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    key         BLOB    NOT NULL,
    PRIMARY KEY (business_id, key)
) STRICT, WITHOUT ROWID;


-- Vehicles
-- --------

-- A vehicle is its document. A deleted one keeps its row, and nothing in it. contact is the person that offered it; funder and
-- supplier are contacts as well. preview is the simple view, before the document, which lists need not pass over.
CREATE TABLE vehicles (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    contact     INTEGER,
    funder      INTEGER,
    supplier    INTEGER,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    deleted     INTEGER NOT NULL,
    version     INTEGER NOT NULL DEFAULT 1,
    preview     TEXT,
    document    TEXT    NOT NULL,
    UNIQUE (business_id, id),
    UNIQUE (business_id, tag)
) STRICT;

CREATE INDEX vehicles_contact ON vehicles (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX vehicles_funder ON vehicles (business_id, funder) WHERE funder IS NOT NULL;
CREATE INDEX vehicles_supplier ON vehicles (business_id, supplier) WHERE supplier IS NOT NULL;

-- What lists filter by: a narrow row for each vehicle that is not deleted, in the order of the list. Only the filters that few
-- vehicles pass have an index of their own. Texts are keys of at most 600 characters. price is null if it is on application.
CREATE TABLE vehicle_facts (
    business_id       INTEGER NOT NULL,
    id                INTEGER NOT NULL,
    kind              TEXT    NOT NULL,
    status            TEXT    NOT NULL,
    owner             INTEGER,
    registration      TEXT,
    created           INTEGER NOT NULL,
    updated           INTEGER NOT NULL,
    make              TEXT,
    model             TEXT,
    generation        TEXT,
    derivative        TEXT,
    body              TEXT,
    colour            TEXT,
    fuel              TEXT,
    transmission      TEXT,
    reference         TEXT,
    number            TEXT,
    vin               TEXT,
    location          TEXT,
    mileage           INTEGER,
    year              INTEGER,
    price             INTEGER,
    appraisal_contact INTEGER,
    PRIMARY KEY (business_id, id),
    FOREIGN KEY (business_id, id) REFERENCES vehicles (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX vehicle_facts_registration ON vehicle_facts (business_id, registration) WHERE registration IS NOT NULL;
CREATE INDEX vehicle_facts_reference ON vehicle_facts (business_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX vehicle_facts_number ON vehicle_facts (business_id, number) WHERE number IS NOT NULL;
CREATE INDEX vehicle_facts_vin ON vehicle_facts (business_id, vin) WHERE vin IS NOT NULL;
CREATE INDEX vehicle_facts_appraisal_contact ON vehicle_facts (business_id, appraisal_contact)
    WHERE appraisal_contact IS NOT NULL;

-- The channels that a vehicle is published on.
CREATE TABLE vehicle_channels (
    business_id INTEGER NOT NULL,
    channel     TEXT    NOT NULL,
    vehicle_id  INTEGER NOT NULL,
    PRIMARY KEY (business_id, channel, vehicle_id),
    FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX vehicle_channels_vehicle ON vehicle_channels (business_id, vehicle_id);

-- The tags of a vehicle.
CREATE TABLE vehicle_tags (
    business_id INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    vehicle_id  INTEGER NOT NULL,
    PRIMARY KEY (business_id, name, vehicle_id),
    FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX vehicle_tags_vehicle ON vehicle_tags (business_id, vehicle_id);

-- The vehicles that a lead is about. A deleted vehicle leaves its leads.
CREATE TABLE lead_vehicles (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    vehicle_id  INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    PRIMARY KEY (business_id, vehicle_id, lead_id),
    FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX lead_vehicles_lead ON lead_vehicles (lead_id, business_id, vehicle_id);

-- The contacts that reserved or bought a vehicle, for their erasure.
CREATE TABLE vehicle_customers (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    vehicle     INTEGER NOT NULL,
    PRIMARY KEY (business_id, contact, vehicle)
) STRICT;

-- Documents that are kept with a vehicle. file is removed with them.
CREATE TABLE vehicle_documents (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    vehicle     INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    uploaded    INTEGER NOT NULL,
    file        TEXT    NOT NULL,
    document    TEXT    NOT NULL
) STRICT;

CREATE INDEX vehicle_documents_vehicle ON vehicle_documents (business_id, vehicle);

-- Test drives. A vehicle has at most one that is active. signature is an image, and long.
CREATE TABLE vehicle_drives (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    vehicle     INTEGER NOT NULL,
    code        TEXT    NOT NULL,
    contact     INTEGER,
    started     INTEGER NOT NULL,
    ended       INTEGER,
    document    TEXT    NOT NULL,
    signature   TEXT
) STRICT;

CREATE INDEX vehicle_drives_vehicle ON vehicle_drives (business_id, vehicle);
CREATE UNIQUE INDEX vehicle_drives_active ON vehicle_drives (business_id, vehicle) WHERE ended IS NULL;
CREATE UNIQUE INDEX vehicle_drives_code ON vehicle_drives (business_id, code);
CREATE INDEX vehicle_drives_contact ON vehicle_drives (business_id, contact) WHERE contact IS NOT NULL;


-- Listings
-- --------

-- The advert of each vehicle that the website shows, as finished JSON, with the columns that lists filter by. It is written with
-- the vehicle. sequence numbers the changes of a business's listings.
CREATE TABLE listings (
    business_id  INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    id           INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    hash         TEXT    NOT NULL,
    expires      INTEGER,
    make         TEXT    NOT NULL,
    model        TEXT    NOT NULL,
    fuel         TEXT    NOT NULL,
    transmission TEXT    NOT NULL,
    body         TEXT    NOT NULL,
    colour       TEXT    NOT NULL,
    year         INTEGER,
    mileage      INTEGER,
    price        INTEGER,
    sequence     INTEGER NOT NULL DEFAULT 0,
    ready        INTEGER NOT NULL DEFAULT 0,
    json         TEXT    NOT NULL,
    PRIMARY KEY (business_id, id)
) STRICT;

CREATE INDEX listings_list ON listings
    (business_id, updated, id, expires, make, model, fuel, transmission, body, colour, year, mileage, price);
CREATE INDEX listings_expires ON listings (expires) WHERE expires IS NOT NULL;
CREATE INDEX listings_overdue ON listings (business_id, expires) WHERE expires IS NOT NULL;
CREATE UNIQUE INDEX listings_sequence ON listings (business_id, sequence);
CREATE INDEX listings_ready ON listings (business_id, ready, id, expires);

-- The progress of making a business's listings anew after the business changed.
CREATE TABLE listing_builds (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    built_of    INTEGER NOT NULL,
    below       INTEGER
) STRICT;

-- Listings that ended, so that a copy can ask for all changes after a number.
CREATE TABLE listing_removals (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    id          INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    reason      TEXT    NOT NULL,
    PRIMARY KEY (business_id, id)
) STRICT;

CREATE UNIQUE INDEX listing_removals_sequence ON listing_removals (business_id, sequence);
CREATE INDEX listing_removals_at ON listing_removals (at);

-- The number from which on no removal is missing.
CREATE TABLE listing_removals_kept (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    since       INTEGER NOT NULL
) STRICT;


-- Invoices
-- --------

-- An invoice is its document.
CREATE TABLE invoices (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    number      INTEGER,
    customer    INTEGER,
    document    TEXT    NOT NULL
) STRICT;

CREATE INDEX invoices_business ON invoices (business_id);
CREATE UNIQUE INDEX invoices_number ON invoices (business_id, number);
CREATE INDEX invoices_customer ON invoices (business_id, customer) WHERE customer IS NOT NULL;


-- Blog and reviews
-- ----------------

-- An article is two documents: head is what lists show, and body the rest, which may be long. announce_at is the time at which
-- the article's publication is still to be recorded. No time of publication was ever sent for an undated article, and it is not
-- published yet.
CREATE TABLE articles (
    id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id     INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL,
    created         INTEGER NOT NULL,
    updated         INTEGER NOT NULL,
    url             TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    published_at    INTEGER NOT NULL,
    category_folded TEXT    NOT NULL,
    author_folded   TEXT    NOT NULL,
    announced       INTEGER NOT NULL,
    announce_at     INTEGER,
    undated         INTEGER NOT NULL DEFAULT 0,
    head            TEXT    NOT NULL,
    body            TEXT    NOT NULL
) STRICT;

CREATE INDEX articles_list ON articles
    (business_id, id, status, published_at, created, updated, category_folded, author_folded);
CREATE UNIQUE INDEX articles_url ON articles (business_id, url);
CREATE INDEX articles_announce ON articles (announce_at) WHERE announce_at IS NOT NULL;

CREATE TABLE article_tags (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    article_id  INTEGER NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    PRIMARY KEY (business_id, tag, article_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX article_tags_article ON article_tags (article_id, business_id);

-- A review is its document; data is what lists show.
CREATE TABLE reviews (
    id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id   INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version       INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    source_folded TEXT    NOT NULL,
    verified      INTEGER NOT NULL,
    document      TEXT    NOT NULL,
    data          TEXT    NOT NULL
) STRICT;

CREATE INDEX reviews_list ON reviews (business_id, id, status, source_folded, verified, created, updated);


-- Files
-- -----

-- The files of a business. Their content is in the object store, under their names.
CREATE TABLE files (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    name        TEXT    NOT NULL,
    kind        TEXT    NOT NULL,
    size        INTEGER NOT NULL,
    sha256      TEXT    NOT NULL,
    stored      INTEGER NOT NULL,
    public      INTEGER NOT NULL,
    PRIMARY KEY (business_id, name)
) STRICT, WITHOUT ROWID;

-- The bytes of a business's files together.
CREATE TABLE file_totals (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    bytes       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER file_totals_new AFTER INSERT ON files BEGIN
    INSERT INTO file_totals (business_id, bytes) VALUES (new.business_id, new.size)
        ON CONFLICT (business_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;

CREATE TRIGGER file_totals_gone AFTER DELETE ON files BEGIN
    UPDATE file_totals SET bytes = bytes - old.size WHERE business_id = old.business_id;
END;

-- Files without a record, whose content is to be removed.
CREATE TABLE file_removals (
    business_id INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    PRIMARY KEY (business_id, name)
) STRICT, WITHOUT ROWID;


-- Mails
-- -----

-- Mails that wait to be sent. message_id, in_reply_to and reply_to are headers of a mail to the sender of an enquiry. claimed is
-- set for a mail that counts towards the daily number of its business. lead_id is the lead that it is about, and with which it
-- goes.
CREATE TABLE mails (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    recipient   TEXT    NOT NULL,
    subject     TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    attempts    INTEGER NOT NULL,
    due         INTEGER NOT NULL,
    message_id  TEXT,
    in_reply_to TEXT,
    reply_to    TEXT,
    claimed     INTEGER NOT NULL DEFAULT 0,
    queued      INTEGER,
    lead_id     INTEGER
) STRICT;

CREATE INDEX mails_due ON mails (due);
CREATE INDEX mails_business ON mails (business_id);

-- Businesses take turns; each sends the mail that has waited longest.
CREATE INDEX mails_of_business ON mails (business_id, due, id);
CREATE INDEX mails_lead ON mails (business_id, lead_id) WHERE lead_id IS NOT NULL;

-- The number of mails that a business sent on the UTC day of the latest one, counted from the epoch.
CREATE TABLE mail_quotas (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    day         INTEGER NOT NULL,
    mails       INTEGER NOT NULL
) STRICT;


-- Deletions and erasures
-- ----------------------

-- Deletions that take more than one transaction, and their progress: of a contact (kind 1), a webhook (2) or a business (3).
-- state is encrypted, since it has what identifies the contact. There is no reference to the business, which may be what is
-- deleted.
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

-- People whose erasure is done, encrypted, for the servers that search their spools for them.
CREATE TABLE erased_people (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    until       INTEGER NOT NULL,
    keys        BLOB    NOT NULL,
    PRIMARY KEY (business_id, contact)
) STRICT, WITHOUT ROWID;


-- Statistics
-- ----------

-- Creates the tables of statistics. To create them later would change the schema, during which a search in an index of texts may
-- fail. It also lets the planner know that partial indexes are small at first.
ANALYZE;
