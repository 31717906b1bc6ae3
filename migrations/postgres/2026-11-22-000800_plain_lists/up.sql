-- Lists are planned by the database, and counted when they are asked for: nothing is counted in advance any more.
DROP TRIGGER lead_counts_new ON leads;
DROP TRIGGER lead_counts_changed ON leads;
DROP TRIGGER lead_counts_gone ON leads;
DROP TRIGGER lead_parts_new ON leads;
DROP TRIGGER lead_parts_changed ON leads;
DROP TRIGGER lead_parts_gone ON leads;
DROP TRIGGER contact_parts_new ON contacts;
DROP TRIGGER contact_parts_changed ON contacts;
DROP TRIGGER contact_parts_gone ON contacts;
DROP TRIGGER vehicle_parts_new ON vehicle_facts;
DROP TRIGGER vehicle_parts_changed ON vehicle_facts;
DROP TRIGGER vehicle_parts_gone ON vehicle_facts;
DROP FUNCTION count_leads();
DROP FUNCTION count_parts();
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
DROP INDEX vehicle_facts_walk;
CREATE INDEX leads_rating ON leads (business_id, rating, id) WHERE rating IS NOT NULL;

-- The columns by which vehicles are found are written like any others. Of a text they have as much as a line of text may have.
ALTER TABLE vehicle_facts
    ALTER COLUMN make DROP EXPRESSION,
    ALTER COLUMN model DROP EXPRESSION,
    ALTER COLUMN generation DROP EXPRESSION,
    ALTER COLUMN derivative DROP EXPRESSION,
    ALTER COLUMN body DROP EXPRESSION,
    ALTER COLUMN colour DROP EXPRESSION,
    ALTER COLUMN fuel DROP EXPRESSION,
    ALTER COLUMN transmission DROP EXPRESSION,
    ALTER COLUMN reference DROP EXPRESSION,
    ALTER COLUMN number DROP EXPRESSION,
    ALTER COLUMN vin DROP EXPRESSION,
    ALTER COLUMN location DROP EXPRESSION,
    ALTER COLUMN mileage DROP EXPRESSION,
    ALTER COLUMN year DROP EXPRESSION,
    ALTER COLUMN price DROP EXPRESSION,
    ALTER COLUMN appraisal_contact DROP EXPRESSION;

UPDATE vehicle_facts SET
    make = left(keys::json ->> 'make', 600),
    model = left(keys::json ->> 'model', 600),
    generation = left(keys::json ->> 'generation', 600),
    derivative = left(keys::json ->> 'derivative', 600),
    body = left(keys::json ->> 'body', 600),
    colour = left(keys::json ->> 'colour', 600),
    fuel = left(keys::json ->> 'fuel', 600),
    transmission = left(keys::json ->> 'transmission', 600),
    reference = left(keys::json ->> 'reference', 600),
    number = left(keys::json ->> 'number', 600),
    vin = left(keys::json ->> 'vin', 600),
    location = left(keys::json ->> 'location', 600)
    WHERE 200 IN (
        length(make), length(model), length(generation), length(derivative), length(body), length(colour), length(fuel),
        length(transmission), length(reference), length(number), length(vin), length(location)
    );

ALTER TABLE vehicle_facts DROP COLUMN keys, DROP COLUMN status_id;
