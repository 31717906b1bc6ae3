-- What the sender of an enquiry and the business write to each other, and what is noted on the enquiry.
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

-- The conversations that wait to be read. One that a server has taken is due again when its lease is over.
CREATE TABLE lead_assessments (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    lead_id     INTEGER NOT NULL REFERENCES leads (id) ON DELETE CASCADE,
    due         INTEGER NOT NULL,
    attempts    INTEGER NOT NULL,
    PRIMARY KEY (lead_id, business_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX lead_assessments_due ON lead_assessments (business_id, due);

-- The mails that have become leads. They outlast those, so that none becomes a lead again.
CREATE TABLE lead_mails (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    message_id  TEXT    NOT NULL,
    PRIMARY KEY (business_id, message_id)
) STRICT, WITHOUT ROWID;

-- The contact that the sender of an enquiry seems to be, for its erasure.
ALTER TABLE leads ADD COLUMN suggested INTEGER;
CREATE INDEX leads_suggested ON leads (business_id, suggested) WHERE suggested IS NOT NULL;

-- What a mail continues, and where answers to it go.
ALTER TABLE mails ADD COLUMN message_id TEXT;
ALTER TABLE mails ADD COLUMN in_reply_to TEXT;
ALTER TABLE mails ADD COLUMN reply_to TEXT;
