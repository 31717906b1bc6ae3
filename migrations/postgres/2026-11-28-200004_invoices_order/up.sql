CREATE INDEX CONCURRENTLY IF NOT EXISTS invoices_order ON invoices (business_id, order_id, id) WHERE order_id IS NOT NULL;
