CREATE INDEX CONCURRENTLY IF NOT EXISTS invoices_retained ON invoices (retained, id) WHERE retained IS NOT NULL;
