CREATE INDEX CONCURRENTLY IF NOT EXISTS reviews_updated ON reviews (business_id, updated, id);
