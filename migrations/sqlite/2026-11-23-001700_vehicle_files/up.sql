-- Which files a business has. Their content is kept elsewhere, under their names.
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

-- The documents that are kept with vehicles. The file's name stands beside the document, to be removed with it.
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

-- The test drives of vehicles, of which one at a time is active. The image of the signature is long, and stands by itself.
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
