-- People whose erasure is done, encrypted, for the servers that search their spools for them.
CREATE TABLE erased_people (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    contact     INTEGER NOT NULL,
    until       INTEGER NOT NULL,
    keys        BLOB    NOT NULL,
    PRIMARY KEY (business_id, contact)
) STRICT, WITHOUT ROWID;

-- Files whose records are gone, and whose content is to be removed.
CREATE TABLE file_removals (
    business_id INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    PRIMARY KEY (business_id, name)
) STRICT, WITHOUT ROWID;

-- A mail that waits goes with the lead that it is about.
ALTER TABLE mails ADD COLUMN lead_id INTEGER;

-- What is taken out of the index of texts is overwritten, and of what has changed or gone none stays behind. What stayed behind
-- so far goes as the index is built anew.
DROP TRIGGER lead_search_changed;
INSERT INTO lead_search (lead_search) VALUES ('delete-all');
INSERT INTO lead_search (lead_search, rank) VALUES ('secure-delete', 1);
INSERT INTO lead_search (rowid, text)
    SELECT id, name_folded || char(10) || email_folded FROM leads
    WHERE id <= (SELECT latest FROM lead_search_state) ORDER BY id;

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

INSERT INTO contact_search (contact_search) VALUES ('delete-all');
INSERT INTO contact_search (contact_search, rank) VALUES ('secure-delete', 1);
INSERT INTO contact_search (rowid, text)
    SELECT id, email_folded FROM contacts WHERE id <= (SELECT latest FROM contact_search_state) ORDER BY id;
