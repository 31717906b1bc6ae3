CREATE INDEX CONCURRENTLY IF NOT EXISTS invoices_reference ON invoices (business_id, reference_folded, id) WHERE reference_folded IS NOT NULL;
