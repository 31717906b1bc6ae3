-- An article is two documents: what a list shows, and the rest, which may be long. What lists are filtered by stands beside them.
-- announce_at is the time of an article whose becoming public is still to be recorded.
CREATE TABLE articles (
    id              INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    business_id     INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    version         INTEGER NOT NULL,
    created         INTEGER NOT NULL,
    updated         INTEGER NOT NULL,
    url             TEXT    NOT NULL,
    status          TEXT    NOT NULL,
    published_at    INTEGER NOT NULL,
    category_folded TEXT    NOT NULL,
    author_folded   TEXT    NOT NULL,
    announced       INTEGER NOT NULL,
    announce_at     INTEGER,
    head            TEXT    NOT NULL,
    body            TEXT    NOT NULL
) STRICT;

CREATE INDEX articles_business ON articles (business_id);
CREATE UNIQUE INDEX articles_url ON articles (business_id, url);
CREATE INDEX articles_status ON articles (business_id, status);
CREATE INDEX articles_published ON articles (business_id, published_at);
CREATE INDEX articles_category ON articles (business_id, category_folded);
CREATE INDEX articles_author ON articles (business_id, author_folded);
CREATE INDEX articles_announce ON articles (announce_at) WHERE announce_at IS NOT NULL;

CREATE TABLE article_tags (
    business_id INTEGER NOT NULL REFERENCES businesses (id) ON DELETE CASCADE,
    tag         TEXT    NOT NULL,
    article_id  INTEGER NOT NULL REFERENCES articles (id) ON DELETE CASCADE,
    PRIMARY KEY (business_id, tag, article_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX article_tags_article ON article_tags (article_id, business_id);
