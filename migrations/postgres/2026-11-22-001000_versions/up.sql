-- Every record that changes has a version: 1 at first, raised by one with each change. Leads have had theirs from the start.
ALTER TABLE contacts ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE vehicles ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
ALTER TABLE webhooks ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
