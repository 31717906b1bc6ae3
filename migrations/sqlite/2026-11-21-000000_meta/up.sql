-- What the database knows of itself: whose it is, and which server last changed its shape.
CREATE TABLE forecourt_meta (
    key   TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO forecourt_meta (key, value) VALUES ('product', 'forecourt');
