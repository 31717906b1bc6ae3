-- Lists are planned by the database, and counted when they are asked for: nothing is counted in advance any more.
DROP TRIGGER lead_counts_new;
DROP TRIGGER lead_counts_changed;
DROP TRIGGER lead_counts_gone;
DROP TRIGGER lead_parts_new;
DROP TRIGGER lead_parts_changed;
DROP TRIGGER lead_parts_gone;
DROP TRIGGER contact_parts_new;
DROP TRIGGER contact_parts_changed;
DROP TRIGGER contact_parts_gone;
DROP TRIGGER vehicle_parts_new;
DROP TRIGGER vehicle_parts_changed;
DROP TRIGGER vehicle_parts_gone;
DROP TRIGGER vehicle_facts_new;
DROP TRIGGER vehicle_facts_changed;
DROP TABLE lead_counts;
DROP TABLE vehicle_counts;
DROP TABLE record_parts;

-- One index for each thing that lists are narrowed by. Ids are in the order of creation; a least rating is one of five
-- ratings; a state's id is some of the states.
DROP INDEX leads_rated_1;
DROP INDEX leads_rated_2;
DROP INDEX leads_rated_3;
DROP INDEX leads_rated_4;
DROP INDEX leads_rated_5;
DROP INDEX leads_created;
DROP INDEX vehicles_created;
DROP INDEX vehicle_facts_status_id;
DROP INDEX vehicle_facts_walk;
CREATE INDEX leads_rating ON leads (business_id, rating) WHERE rating IS NOT NULL;

-- The columns by which vehicles are found are written like any others. Of a text they have as much as a line of text may have.
UPDATE vehicle_facts SET
    make = substr(keys ->> 'make', 1, 600),
    model = substr(keys ->> 'model', 1, 600),
    generation = substr(keys ->> 'generation', 1, 600),
    derivative = substr(keys ->> 'derivative', 1, 600),
    body = substr(keys ->> 'body', 1, 600),
    colour = substr(keys ->> 'colour', 1, 600),
    fuel = substr(keys ->> 'fuel', 1, 600),
    transmission = substr(keys ->> 'transmission', 1, 600),
    reference = substr(keys ->> 'reference', 1, 600),
    number = substr(keys ->> 'number', 1, 600),
    vin = substr(keys ->> 'vin', 1, 600),
    location = substr(keys ->> 'location', 1, 600)
    WHERE 200 IN (
        length(make), length(model), length(generation), length(derivative), length(body), length(colour), length(fuel),
        length(transmission), length(reference), length(number), length(vin), length(location)
    );
ALTER TABLE vehicle_facts DROP COLUMN keys;
ALTER TABLE vehicle_facts DROP COLUMN status_id;

-- Statistics are what the database gathers.
DELETE FROM sqlite_stat1;
ANALYZE;
