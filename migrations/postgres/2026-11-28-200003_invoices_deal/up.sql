CREATE INDEX CONCURRENTLY IF NOT EXISTS invoices_deal ON invoices (business_id, deal, id) WHERE deal IS NOT NULL;
