-- Tables for pgbench to write to, with the indexes that the lists need and nothing else.
CREATE TABLE yardstick_leads (LIKE leads INCLUDING ALL);
INSERT INTO yardstick_leads SELECT * FROM leads;
SELECT setval(pg_get_serial_sequence('yardstick_leads', 'id'), (SELECT max(id) FROM leads));
CREATE SEQUENCE yardstick_reference START 100000000;
CREATE TABLE yardstick_events (LIKE events INCLUDING ALL);
CREATE SEQUENCE yardstick_sequence;
