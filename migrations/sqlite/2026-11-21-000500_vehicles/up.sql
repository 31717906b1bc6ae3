-- How many vehicles a business has, how many of them are for sale or reserved, how often any was written, and the number and
-- the stamp of its latest one: see business_counters.
ALTER TABLE business_counters ADD COLUMN vehicles INTEGER NOT NULL DEFAULT 0;
ALTER TABLE business_counters ADD COLUMN vehicles_for_sale INTEGER NOT NULL DEFAULT 0;
ALTER TABLE business_counters ADD COLUMN vehicle_writes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE business_counters ADD COLUMN vehicle_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE business_counters ADD COLUMN vehicle_created INTEGER NOT NULL DEFAULT 0;

-- A vehicle is its document. One that was deleted keeps its row, and nothing else. contact is who has offered it; funder and
-- supplier are contacts as well; preview is what lists in the simple view show of it, before the document, which they need not
-- pass over.
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
    preview     TEXT,
    document    TEXT    NOT NULL,
    UNIQUE (business_id, id),
    UNIQUE (business_id, tag)
) STRICT;

CREATE INDEX vehicles_created ON vehicles (business_id, created);
CREATE INDEX vehicles_contact ON vehicles (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX vehicles_funder ON vehicles (business_id, funder) WHERE funder IS NOT NULL;
CREATE INDEX vehicles_supplier ON vehicles (business_id, supplier) WHERE supplier IS NOT NULL;

-- What lists are filtered by, a narrow row for each vehicle that is not deleted. What is compared of a vehicle's own fields
-- stands in keys, an object, as the declarations of the fields say; a new filter is a column that a trigger fills from it, and
-- an index. (Of a column that is GENERATED no index could answer alone.) Of a long text the column has the beginning, which
-- fits into any index.
CREATE TABLE vehicle_facts (
    business_id       INTEGER NOT NULL,
    id                INTEGER NOT NULL,
    kind              TEXT    NOT NULL,
    status            TEXT    NOT NULL,
    status_id         INTEGER NOT NULL,
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
    keys              TEXT    NOT NULL,
    PRIMARY KEY (business_id, id),
    FOREIGN KEY (business_id, id) REFERENCES vehicles (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Lists read newest first: every index ends in the id, which SQLite puts there by itself.
CREATE INDEX vehicle_facts_kind ON vehicle_facts (business_id, kind);
CREATE INDEX vehicle_facts_status ON vehicle_facts (business_id, status);
CREATE INDEX vehicle_facts_status_id ON vehicle_facts (business_id, status_id);
CREATE INDEX vehicle_facts_owner ON vehicle_facts (business_id, owner) WHERE owner IS NOT NULL;
CREATE INDEX vehicle_facts_registration ON vehicle_facts (business_id, registration) WHERE registration IS NOT NULL;
CREATE INDEX vehicle_facts_updated ON vehicle_facts (business_id, updated);
CREATE INDEX vehicle_facts_make ON vehicle_facts (business_id, make) WHERE make IS NOT NULL;
CREATE INDEX vehicle_facts_model ON vehicle_facts (business_id, model) WHERE model IS NOT NULL;
CREATE INDEX vehicle_facts_generation ON vehicle_facts (business_id, generation) WHERE generation IS NOT NULL;
CREATE INDEX vehicle_facts_derivative ON vehicle_facts (business_id, derivative) WHERE derivative IS NOT NULL;
CREATE INDEX vehicle_facts_body ON vehicle_facts (business_id, body) WHERE body IS NOT NULL;
CREATE INDEX vehicle_facts_colour ON vehicle_facts (business_id, colour) WHERE colour IS NOT NULL;
CREATE INDEX vehicle_facts_fuel ON vehicle_facts (business_id, fuel) WHERE fuel IS NOT NULL;
CREATE INDEX vehicle_facts_transmission ON vehicle_facts (business_id, transmission) WHERE transmission IS NOT NULL;
CREATE INDEX vehicle_facts_reference ON vehicle_facts (business_id, reference) WHERE reference IS NOT NULL;
CREATE INDEX vehicle_facts_number ON vehicle_facts (business_id, number) WHERE number IS NOT NULL;
CREATE INDEX vehicle_facts_vin ON vehicle_facts (business_id, vin) WHERE vin IS NOT NULL;
CREATE INDEX vehicle_facts_location ON vehicle_facts (business_id, location) WHERE location IS NOT NULL;
CREATE INDEX vehicle_facts_mileage ON vehicle_facts (business_id, mileage) WHERE mileage IS NOT NULL;
CREATE INDEX vehicle_facts_year ON vehicle_facts (business_id, year) WHERE year IS NOT NULL;
CREATE INDEX vehicle_facts_price ON vehicle_facts (business_id, price) WHERE price IS NOT NULL;
CREATE INDEX vehicle_facts_appraisal_contact ON vehicle_facts (business_id, appraisal_contact) WHERE appraisal_contact IS NOT NULL;

-- What is asked for together is looked at vehicle by vehicle, and more quickly in rows that have no more than what is common.
CREATE INDEX vehicle_facts_walk ON vehicle_facts (
    business_id, id, kind, status, status_id, owner, updated, year, mileage, price, location, fuel, transmission, body, colour,
    make, model, generation, derivative
);

CREATE TRIGGER vehicle_facts_new AFTER INSERT ON vehicle_facts BEGIN
    UPDATE vehicle_facts SET
        make = substr(new.keys ->> 'make', 1, 200),
        model = substr(new.keys ->> 'model', 1, 200),
        generation = substr(new.keys ->> 'generation', 1, 200),
        derivative = substr(new.keys ->> 'derivative', 1, 200),
        body = substr(new.keys ->> 'body', 1, 200),
        colour = substr(new.keys ->> 'colour', 1, 200),
        fuel = substr(new.keys ->> 'fuel', 1, 200),
        transmission = substr(new.keys ->> 'transmission', 1, 200),
        reference = substr(new.keys ->> 'reference', 1, 200),
        number = substr(new.keys ->> 'number', 1, 200),
        vin = substr(new.keys ->> 'vin', 1, 200),
        location = substr(new.keys ->> 'location', 1, 200),
        mileage = new.keys ->> 'mileage',
        year = new.keys ->> 'year',
        price = new.keys ->> 'price',
        appraisal_contact = new.keys ->> 'appraisal_contact'
        WHERE business_id = new.business_id AND id = new.id;
END;

CREATE TRIGGER vehicle_facts_changed AFTER UPDATE OF keys ON vehicle_facts WHEN new.keys <> old.keys BEGIN
    UPDATE vehicle_facts SET
        make = substr(new.keys ->> 'make', 1, 200),
        model = substr(new.keys ->> 'model', 1, 200),
        generation = substr(new.keys ->> 'generation', 1, 200),
        derivative = substr(new.keys ->> 'derivative', 1, 200),
        body = substr(new.keys ->> 'body', 1, 200),
        colour = substr(new.keys ->> 'colour', 1, 200),
        fuel = substr(new.keys ->> 'fuel', 1, 200),
        transmission = substr(new.keys ->> 'transmission', 1, 200),
        reference = substr(new.keys ->> 'reference', 1, 200),
        number = substr(new.keys ->> 'number', 1, 200),
        vin = substr(new.keys ->> 'vin', 1, 200),
        location = substr(new.keys ->> 'location', 1, 200),
        mileage = new.keys ->> 'mileage',
        year = new.keys ->> 'year',
        price = new.keys ->> 'price',
        appraisal_contact = new.keys ->> 'appraisal_contact'
        WHERE business_id = new.business_id AND id = new.id;
END;

-- Whoever writes what else lists are filtered by, its channels and its tags, writes a vehicle's row here as well. (The columns
-- that are filled from keys change with these.)
CREATE TRIGGER vehicle_parts_new AFTER INSERT ON vehicle_facts BEGIN
    INSERT INTO record_parts
        SELECT business_id, 3, new.id >> 12, 1, vehicle_writes FROM business_counters WHERE business_id = new.business_id
        ON CONFLICT DO UPDATE SET records = records + 1, writes = excluded.writes;
END;

CREATE TRIGGER vehicle_parts_changed AFTER UPDATE OF kind, status, status_id, owner, registration, updated, keys ON vehicle_facts BEGIN
    UPDATE record_parts SET writes = counters.vehicle_writes FROM business_counters AS counters
        WHERE counters.business_id = new.business_id
            AND record_parts.business_id = new.business_id AND area = 3 AND part = new.id >> 12;
END;

CREATE TRIGGER vehicle_parts_gone AFTER DELETE ON vehicle_facts BEGIN
    UPDATE record_parts SET records = records - 1, writes = counters.vehicle_writes FROM business_counters AS counters
        WHERE counters.business_id = old.business_id
            AND record_parts.business_id = old.business_id AND area = 3 AND part = old.id >> 12;
END;

-- The channels that a vehicle is published on.
CREATE TABLE vehicle_channels (
    business_id INTEGER NOT NULL,
    channel     TEXT    NOT NULL,
    vehicle_id  INTEGER NOT NULL,
    PRIMARY KEY (business_id, channel, vehicle_id),
    FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX vehicle_channels_vehicle ON vehicle_channels (business_id, vehicle_id);

-- The tags that a vehicle carries.
CREATE TABLE vehicle_tags (
    business_id INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    vehicle_id  INTEGER NOT NULL,
    PRIMARY KEY (business_id, name, vehicle_id),
    FOREIGN KEY (business_id, vehicle_id) REFERENCES vehicle_facts (business_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

CREATE INDEX vehicle_tags_vehicle ON vehicle_tags (business_id, vehicle_id);

-- How many vehicles of each stock type and in each state there are: in all (name and term are empty), by a text that filters
-- compare (term), or by a number (part, a range that it lies in). A list learns from it how long it is, and which of its
-- filters leaves the fewest. What no vehicle has any longer has no row.
CREATE TABLE vehicle_counts (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    name        TEXT    NOT NULL,
    term        TEXT    NOT NULL,
    part        INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    vehicles    INTEGER NOT NULL,
    PRIMARY KEY (business_id, name, term, part, kind, status)
) STRICT, WITHOUT ROWID;

-- A text that patterns are compared with is counted once more under no stock type and no state, and found here.
CREATE INDEX vehicle_counts_terms ON vehicle_counts (business_id, name, term, vehicles) WHERE kind = '';

-- Where a deleted contact is told of as who has offered, funded or supplied a vehicle.
CREATE INDEX events_of_vehicle ON events (business_id, record) WHERE substr(name, 1, 8) = 'vehicle.';

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('events', 'events_of_vehicle', '300000 30000 10'),
    ('vehicles', 'sqlite_autoindex_vehicles_1', '1000000 100000 1'),
    ('vehicles', 'sqlite_autoindex_vehicles_2', '1000000 100000 1'),
    ('vehicles', 'vehicles_created', '1000000 100000 2'),
    ('vehicles', 'vehicles_contact', '50000 5000 2'),
    ('vehicles', 'vehicles_funder', '50000 5000 100'),
    ('vehicles', 'vehicles_supplier', '50000 5000 100'),
    ('vehicle_facts', 'vehicle_facts', '1000000 100000 1'),
    ('vehicle_facts', 'vehicle_facts_walk', '1000000 100000 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1'),
    ('vehicle_facts', 'vehicle_facts_kind', '1000000 100000 30000'),
    ('vehicle_facts', 'vehicle_facts_status', '1000000 100000 20000'),
    ('vehicle_facts', 'vehicle_facts_status_id', '1000000 100000 30000'),
    ('vehicle_facts', 'vehicle_facts_owner', '800000 80000 8000'),
    ('vehicle_facts', 'vehicle_facts_registration', '800000 80000 2'),
    ('vehicle_facts', 'vehicle_facts_updated', '1000000 100000 2'),
    ('vehicle_facts', 'vehicle_facts_make', '900000 90000 4000'),
    ('vehicle_facts', 'vehicle_facts_model', '900000 90000 500'),
    ('vehicle_facts', 'vehicle_facts_generation', '900000 90000 1000'),
    ('vehicle_facts', 'vehicle_facts_derivative', '900000 90000 50'),
    ('vehicle_facts', 'vehicle_facts_body', '900000 90000 10000'),
    ('vehicle_facts', 'vehicle_facts_colour', '900000 90000 8000'),
    ('vehicle_facts', 'vehicle_facts_fuel', '900000 90000 20000'),
    ('vehicle_facts', 'vehicle_facts_transmission', '900000 90000 30000'),
    ('vehicle_facts', 'vehicle_facts_reference', '900000 90000 2'),
    ('vehicle_facts', 'vehicle_facts_number', '900000 90000 2'),
    ('vehicle_facts', 'vehicle_facts_vin', '900000 90000 2'),
    ('vehicle_facts', 'vehicle_facts_location', '900000 90000 20000'),
    ('vehicle_facts', 'vehicle_facts_mileage', '900000 90000 3'),
    ('vehicle_facts', 'vehicle_facts_year', '900000 90000 4000'),
    ('vehicle_facts', 'vehicle_facts_price', '900000 90000 20'),
    ('vehicle_facts', 'vehicle_facts_appraisal_contact', '50000 5000 2'),
    ('vehicle_channels', 'vehicle_channels', '1000000 100000 30000 1'),
    ('vehicle_channels', 'vehicle_channels_vehicle', '1000000 100000 3'),
    ('vehicle_tags', 'vehicle_tags', '1000000 100000 10000 1'),
    ('vehicle_tags', 'vehicle_tags_vehicle', '1000000 100000 3'),
    ('vehicle_counts', 'vehicle_counts', '100000 10000 600 20 10 4 1'),
    ('vehicle_counts', 'vehicle_counts_terms', '20000 2000 250 1 1');

ANALYZE sqlite_schema;
