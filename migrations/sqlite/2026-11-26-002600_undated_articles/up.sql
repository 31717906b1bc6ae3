-- undated: no time of publication was ever sent for the article, and it was not published yet.
ALTER TABLE articles ADD COLUMN undated INTEGER NOT NULL DEFAULT 0;
