-- A job on a vehicle is its document; outline is what lists show of it. stage is the name of its first open stage. due and due_by are
-- the first second of a day; due_by is the day after which it is overdue, the greatest number if there is none.
CREATE TABLE jobs (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    vehicle     INTEGER NOT NULL,
    board       INTEGER NOT NULL,
    status      TEXT    NOT NULL,
    stage       TEXT,
    automatic   INTEGER NOT NULL,
    due         INTEGER,
    due_by      INTEGER NOT NULL,
    outline     TEXT    NOT NULL,
    document    TEXT    NOT NULL
) STRICT;

CREATE INDEX jobs_list ON jobs (business_id, id, board, status, stage, automatic, due, due_by, created, updated);
CREATE INDEX jobs_vehicle ON jobs (business_id, vehicle);

-- The staff users who see to a job or to a stage of it.
CREATE TABLE job_staff (
    business_id INTEGER NOT NULL,
    staff       INTEGER NOT NULL,
    job         INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    PRIMARY KEY (business_id, staff, job)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_staff_job ON job_staff (job);

-- The contacts who do a stage of a job.
CREATE TABLE job_suppliers (
    business_id INTEGER NOT NULL,
    contact     INTEGER NOT NULL,
    job         INTEGER NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    PRIMARY KEY (business_id, contact, job)
) STRICT, WITHOUT ROWID;

CREATE INDEX job_suppliers_job ON job_suppliers (job);
