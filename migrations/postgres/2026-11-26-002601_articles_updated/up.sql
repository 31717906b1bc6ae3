CREATE INDEX CONCURRENTLY IF NOT EXISTS articles_updated ON articles (business_id, updated, id);
