-- The advert of each vehicle that the website lists, as finished JSON, and beside it what lists are filtered by. It is written with
-- the vehicle. listing_builds tells how far they have been made anew since the business changed.
CREATE TABLE listings (
    business_id  BIGINT NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    id           BIGINT NOT NULL,
    updated      BIGINT NOT NULL,
    hash         TEXT NOT NULL,
    expires      BIGINT,
    make         TEXT NOT NULL COLLATE "C",
    model        TEXT NOT NULL COLLATE "C",
    fuel         TEXT NOT NULL COLLATE "C",
    transmission TEXT NOT NULL COLLATE "C",
    body         TEXT NOT NULL COLLATE "C",
    colour       TEXT NOT NULL COLLATE "C",
    year         BIGINT,
    mileage      BIGINT,
    price        BIGINT,
    json         TEXT NOT NULL,
    PRIMARY KEY (business_id, id)
);

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
    business_id BIGINT NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    built_of    BIGINT NOT NULL,
    below       BIGINT
);
