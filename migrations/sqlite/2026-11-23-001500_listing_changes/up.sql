-- Listings are numbered in the order of their changes, and those that are no longer listed leave a line behind, so that a copy can
-- ask for what changed after a number. listing_removals_kept tells from which number on no removal is missing.
ALTER TABLE listings ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE listings ADD COLUMN ready INTEGER NOT NULL DEFAULT 0;

UPDATE listings SET sequence = ranked.place FROM (
    SELECT business_id, id, row_number() OVER (PARTITION BY business_id ORDER BY updated, id) AS place FROM listings
) AS ranked WHERE ranked.business_id = listings.business_id AND ranked.id = listings.id;

CREATE UNIQUE INDEX listings_sequence ON listings (business_id, sequence);
CREATE INDEX listings_ready ON listings (business_id, ready, id, expires);

CREATE TABLE listing_removals (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    id          INTEGER NOT NULL,
    sequence    INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    reason      TEXT NOT NULL,
    PRIMARY KEY (business_id, id)
) STRICT;

CREATE UNIQUE INDEX listing_removals_sequence ON listing_removals (business_id, sequence);
CREATE INDEX listing_removals_at ON listing_removals (at);

CREATE TABLE listing_removals_kept (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    since       INTEGER NOT NULL
) STRICT;

-- All are made once more: what they are ready for is not known yet.
DELETE FROM listing_builds;
