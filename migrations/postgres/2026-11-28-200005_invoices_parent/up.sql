CREATE INDEX CONCURRENTLY IF NOT EXISTS invoices_parent ON invoices (business_id, parent, id) WHERE parent IS NOT NULL;
