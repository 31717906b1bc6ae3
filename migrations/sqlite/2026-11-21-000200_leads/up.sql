-- A lead is its document; what lists are filtered by stands beside it in a column and an index of its own, and what they
-- show, but for the id, stands there as JSON that is passed on as it is. Text that is compared stands folded.
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
    preview      TEXT    NOT NULL,
    document     TEXT    NOT NULL
) STRICT;

-- Lists read newest first: every index ends in the id, which SQLite puts there by itself. There is one for each least
-- rating, since a range that comes before the id could not be read in the order of the ids.
CREATE INDEX leads_business ON leads (business_id);
CREATE UNIQUE INDEX leads_reference ON leads (business_id, reference);
CREATE INDEX leads_site ON leads (business_id, site);
CREATE INDEX leads_channel ON leads (business_id, channel);
CREATE INDEX leads_status ON leads (business_id, status);
CREATE INDEX leads_contact ON leads (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX leads_rated_1 ON leads (business_id) WHERE rating >= 1;
CREATE INDEX leads_rated_2 ON leads (business_id) WHERE rating >= 2;
CREATE INDEX leads_rated_3 ON leads (business_id) WHERE rating >= 3;
CREATE INDEX leads_rated_4 ON leads (business_id) WHERE rating >= 4;
CREATE INDEX leads_rated_5 ON leads (business_id) WHERE rating >= 5;
CREATE INDEX leads_name ON leads (business_id, name_folded);
CREATE INDEX leads_email ON leads (business_id, email_folded);
CREATE INDEX leads_phone ON leads (business_id, phone) WHERE phone IS NOT NULL;
CREATE INDEX leads_mobile ON leads (business_id, mobile) WHERE mobile IS NOT NULL;
CREATE INDEX leads_created ON leads (business_id, created);
CREATE INDEX leads_updated ON leads (business_id, updated);
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

-- How many leads there are of each kind, in parts: axis 0 has one part, on axis 1 a part is 32,768 references, on axis 2 a
-- part is 2,097,152 seconds in which leads last changed. A list learns from it how long it is, and what it may leave out
-- before a page. Unrated leads have a rating of 0.
CREATE TABLE lead_counts (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    axis        INTEGER NOT NULL,
    part        INTEGER NOT NULL,
    site        INTEGER NOT NULL,
    channel     TEXT    NOT NULL,
    status      INTEGER NOT NULL,
    rating      INTEGER NOT NULL,
    leads       INTEGER NOT NULL,
    PRIMARY KEY (business_id, axis, part, site, channel, status, rating)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER lead_counts_new AFTER INSERT ON leads BEGIN
    INSERT INTO lead_counts VALUES
        (new.business_id, 0, 0, new.site, new.channel, new.status, coalesce(new.rating, 0), 1),
        (new.business_id, 1, new.reference >> 15, new.site, new.channel, new.status, coalesce(new.rating, 0), 1),
        (new.business_id, 2, new.updated >> 21, new.site, new.channel, new.status, coalesce(new.rating, 0), 1)
        ON CONFLICT DO UPDATE SET leads = leads + 1;
END;

CREATE TRIGGER lead_counts_changed AFTER UPDATE OF site, channel, status, rating, updated ON leads
    WHEN (new.site, new.channel, new.status, coalesce(new.rating, 0), new.updated >> 21)
        <> (old.site, old.channel, old.status, coalesce(old.rating, 0), old.updated >> 21) BEGIN
    UPDATE lead_counts SET leads = leads - 1
        WHERE business_id = old.business_id
            AND (axis, part) IN (VALUES (0, 0), (1, old.reference >> 15), (2, old.updated >> 21))
            AND site = old.site AND channel = old.channel AND status = old.status AND rating = coalesce(old.rating, 0);
    INSERT INTO lead_counts VALUES
        (new.business_id, 0, 0, new.site, new.channel, new.status, coalesce(new.rating, 0), 1),
        (new.business_id, 1, new.reference >> 15, new.site, new.channel, new.status, coalesce(new.rating, 0), 1),
        (new.business_id, 2, new.updated >> 21, new.site, new.channel, new.status, coalesce(new.rating, 0), 1)
        ON CONFLICT DO UPDATE SET leads = leads + 1;
END;

CREATE TRIGGER lead_counts_gone AFTER DELETE ON leads BEGIN
    UPDATE lead_counts SET leads = leads - 1
        WHERE business_id = old.business_id
            AND (axis, part) IN (VALUES (0, 0), (1, old.reference >> 15), (2, old.updated >> 21))
            AND site = old.site AND channel = old.channel AND status = old.status AND rating = coalesce(old.rating, 0);
END;

CREATE TRIGGER lead_parts_new AFTER INSERT ON leads BEGIN
    INSERT INTO record_parts
        SELECT business_id, 1, new.id >> 12, 1, lead_writes FROM business_counters WHERE business_id = new.business_id
        ON CONFLICT DO UPDATE SET records = records + 1, writes = excluded.writes;
END;

CREATE TRIGGER lead_parts_changed AFTER UPDATE ON leads BEGIN
    UPDATE record_parts SET writes = counters.lead_writes FROM business_counters AS counters
        WHERE counters.business_id = new.business_id
            AND record_parts.business_id = new.business_id AND area = 1 AND part = new.id >> 12;
END;

CREATE TRIGGER lead_parts_gone AFTER DELETE ON leads BEGIN
    UPDATE record_parts SET records = records - 1, writes = counters.lead_writes FROM business_counters AS counters
        WHERE counters.business_id = old.business_id
            AND record_parts.business_id = old.business_id AND area = 1 AND part = old.id >> 12;
END;

-- Wildcard searches: the runs of three characters in the name and the address of each lead. One lead after the other would
-- cost more than all else that is written of it, so they are indexed many at a time: what is new beyond the latest id that
-- is indexed is read by each search. What is found is looked up, so what has changed or gone may stay behind.
CREATE VIRTUAL TABLE lead_search USING fts5 (
    text, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
);

CREATE TABLE lead_search_state (latest INTEGER NOT NULL) STRICT;

INSERT INTO lead_search_state (latest) VALUES (0);

CREATE TRIGGER lead_search_new AFTER INSERT ON leads WHEN new.id % 256 = 0 BEGIN
    INSERT INTO lead_search (rowid, text)
        SELECT id, name_folded || char(10) || email_folded FROM leads WHERE id > (SELECT latest FROM lead_search_state);
    UPDATE lead_search_state SET latest = new.id;
END;

CREATE TRIGGER lead_search_changed AFTER UPDATE OF name_folded, email_folded ON leads
    WHEN new.name_folded <> old.name_folded OR new.email_folded <> old.email_folded BEGIN
    INSERT INTO lead_search (rowid, text) VALUES (new.id, new.name_folded || char(10) || new.email_folded);
END;

-- What a grown database looks like, told once instead of being found out again and again: so a plan is the same everywhere
-- and at any time. Each line tells the rows of an index, and how many of them share their first column, their first two ….
ANALYZE;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('leads', 'leads_business', '1000000 100000'),
    ('leads', 'leads_reference', '1000000 100000 1'),
    ('leads', 'leads_site', '1000000 100000 60000'),
    ('leads', 'leads_channel', '1000000 100000 40000'),
    ('leads', 'leads_status', '1000000 100000 40000'),
    ('leads', 'leads_contact', '50000 5000 3'),
    ('leads', 'leads_rated_1', '900000 90000'),
    ('leads', 'leads_rated_2', '600000 60000'),
    ('leads', 'leads_rated_3', '300000 30000'),
    ('leads', 'leads_rated_4', '100000 10000'),
    ('leads', 'leads_rated_5', '10000 1000'),
    ('leads', 'leads_name', '1000000 100000 5'),
    ('leads', 'leads_email', '1000000 100000 2'),
    ('leads', 'leads_phone', '200000 20000 2'),
    ('leads', 'leads_mobile', '800000 80000 2'),
    ('leads', 'leads_created', '1000000 100000 2'),
    ('leads', 'leads_updated', '1000000 100000 2'),
    ('leads', 'leads_reopens', '10000 100'),
    ('record_parts', 'record_parts', '10000 1000 400 1'),
    ('lead_counts', 'lead_counts', '100000 10000 4000 500 200 20 4 1'),
    ('lead_vehicles', 'lead_vehicles', '1000000 100000 20 1'),
    ('lead_vehicles', 'lead_vehicles_lead', '1000000 1');

ANALYZE sqlite_schema;
