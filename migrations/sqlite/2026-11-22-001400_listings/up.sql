-- The advert of each vehicle that the website lists, as finished JSON, and beside it what lists are filtered by. It is written with
-- the vehicle. listing_builds tells how far they have been made anew since the business changed.
CREATE TABLE listings (
    business_id  INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    id           INTEGER NOT NULL,
    updated      INTEGER NOT NULL,
    hash         TEXT NOT NULL,
    expires      INTEGER,
    make         TEXT NOT NULL,
    model        TEXT NOT NULL,
    fuel         TEXT NOT NULL,
    transmission TEXT NOT NULL,
    body         TEXT NOT NULL,
    colour       TEXT NOT NULL,
    year         INTEGER,
    mileage      INTEGER,
    price        INTEGER,
    json         TEXT NOT NULL,
    PRIMARY KEY (business_id, id)
) STRICT;

CREATE INDEX listings_updated ON listings (business_id, updated, id);
CREATE INDEX listings_make ON listings (business_id, make, updated, id);
CREATE INDEX listings_model ON listings (business_id, model, updated, id);
CREATE INDEX listings_fuel ON listings (business_id, fuel, updated, id);
CREATE INDEX listings_transmission ON listings (business_id, transmission, updated, id);
CREATE INDEX listings_body ON listings (business_id, body, updated, id);
CREATE INDEX listings_colour ON listings (business_id, colour, updated, id);
CREATE INDEX listings_expires ON listings (expires) WHERE expires IS NOT NULL;
CREATE INDEX listings_overdue ON listings (business_id, expires) WHERE expires IS NOT NULL;

CREATE TABLE listing_builds (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    built_of    INTEGER NOT NULL,
    below       INTEGER
) STRICT;
