-- A review is its document; what lists are filtered by stands beside it.
CREATE TABLE reviews (
    id            INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id   INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version       INTEGER NOT NULL,
    created       INTEGER NOT NULL,
    updated       INTEGER NOT NULL,
    status        TEXT    NOT NULL,
    source_folded TEXT    NOT NULL,
    verified      INTEGER NOT NULL,
    document      TEXT    NOT NULL,
    data          TEXT    NOT NULL
) STRICT;

CREATE INDEX reviews_business ON reviews (business_id);
CREATE INDEX reviews_status ON reviews (business_id, status);
CREATE INDEX reviews_source ON reviews (business_id, source_folded);
CREATE INDEX reviews_verified ON reviews (business_id, verified);
