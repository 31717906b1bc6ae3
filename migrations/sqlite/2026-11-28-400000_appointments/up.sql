-- An appointment is its document; lists filter by the columns beside it. A value that most appointments lack is NULL where there is
-- none, which the indexes leave out.
CREATE TABLE appointments (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version     INTEGER NOT NULL,
    created     INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    site        INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    calendar    TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    source      TEXT    NOT NULL,
    starts      INTEGER NOT NULL,
    ends        INTEGER NOT NULL,
    contact     INTEGER,
    lead        INTEGER,
    vehicle     INTEGER,
    deal        INTEGER,
    -- The ids of the staff, a JSON array.
    staff       TEXT    NOT NULL,
    reminded    INTEGER,
    remind_at   INTEGER,
    document    TEXT    NOT NULL
) STRICT;

-- Answers each filter that many appointments pass, and any combination of them, in the order of the list.
CREATE INDEX appointments_list ON appointments (business_id, id, site, status, source, starts, ends, created, updated, kind, calendar);
CREATE INDEX appointments_contact ON appointments (business_id, contact) WHERE contact IS NOT NULL;
CREATE INDEX appointments_lead ON appointments (business_id, lead) WHERE lead IS NOT NULL;
CREATE INDEX appointments_vehicle ON appointments (business_id, vehicle) WHERE vehicle IS NOT NULL;
CREATE INDEX appointments_deal ON appointments (business_id, deal) WHERE deal IS NOT NULL;
-- The agenda, and the appointments that may be in conflict with another.
CREATE INDEX appointments_starts ON appointments (business_id, starts, id);
-- The reminders of all businesses that are due.
CREATE INDEX appointments_remind ON appointments (remind_at) WHERE remind_at IS NOT NULL;

-- The staff of appointments, for the filter of lists.
CREATE TABLE appointment_staff (
    business_id    INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    staff          INTEGER NOT NULL,
    appointment_id INTEGER NOT NULL REFERENCES appointments (id) ON DELETE CASCADE,
    PRIMARY KEY (business_id, staff, appointment_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX appointment_staff_appointment ON appointment_staff (appointment_id, business_id);

-- The appointments on a lead's list.
CREATE TABLE lead_appointments (
    business_id    INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id        INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    appointment_id INTEGER NOT NULL REFERENCES appointments (id) ON DELETE CASCADE,
    created        INTEGER NOT NULL,
    PRIMARY KEY (business_id, lead_id, appointment_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX lead_appointments_appointment ON lead_appointments (appointment_id, business_id);
CREATE INDEX lead_appointments_lead ON lead_appointments (lead_id, business_id);

-- The calendars that can be subscribed to, by the digest of the secret in their address.
CREATE TABLE appointment_feeds (
    id          INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    created     INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    calendar    TEXT,
    staff       INTEGER,
    details     TEXT    NOT NULL,
    digest      TEXT    NOT NULL UNIQUE
) STRICT;

CREATE INDEX appointment_feeds_list ON appointment_feeds (business_id, id);
