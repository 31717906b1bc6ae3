-- Wildcard searches, as for leads: the runs of three characters in each text that takes wildcards, many vehicles at a time. What is
-- found is looked up, so what has changed or gone may stay behind. Texts are kept apart: "aut" is in many transmissions, and in few
-- models.
CREATE VIRTUAL TABLE vehicle_search USING fts5 (
    make, model, generation, derivative, body, colour, fuel, transmission,
    content = '', columnsize = 0, detail = column, tokenize = 'trigram case_sensitive 1'
);

CREATE TABLE vehicle_search_state (latest INTEGER NOT NULL) STRICT;

INSERT INTO vehicle_search_state (latest) VALUES (0);

-- Ids are looked up where they are the key, whichever business has them.
CREATE VIEW vehicle_texts AS
    SELECT vehicles.id, make, model, generation, derivative, body, colour, fuel, transmission
    FROM vehicles NOT INDEXED CROSS JOIN vehicle_facts
    WHERE vehicle_facts.business_id = vehicles.business_id AND vehicle_facts.id = vehicles.id;

INSERT INTO vehicle_search (rowid, make, model, generation, derivative, body, colour, fuel, transmission)
    SELECT * FROM vehicle_texts ORDER BY id;
UPDATE vehicle_search_state SET latest = (SELECT coalesce(max(id), 0) FROM vehicles);

CREATE TRIGGER vehicle_search_new AFTER INSERT ON vehicle_facts WHEN new.id % 256 = 0 BEGIN
    INSERT INTO vehicle_search (rowid, make, model, generation, derivative, body, colour, fuel, transmission)
        SELECT * FROM vehicle_texts WHERE id > (SELECT latest FROM vehicle_search_state);
    UPDATE vehicle_search_state SET latest = new.id;
END;

CREATE TRIGGER vehicle_search_changed
    AFTER UPDATE OF make, model, generation, derivative, body, colour, fuel, transmission ON vehicle_facts BEGIN
    INSERT INTO vehicle_search (rowid, make, model, generation, derivative, body, colour, fuel, transmission)
        SELECT * FROM vehicle_texts WHERE id = new.id;
END;
