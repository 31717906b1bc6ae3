CREATE INDEX CONCURRENTLY IF NOT EXISTS contacts_updated ON contacts (business_id, updated, id);
