-- The invoices of a period, for the VAT figures: those that were issued. So no list is read by it, which would sort what it finds.
CREATE INDEX CONCURRENTLY IF NOT EXISTS invoices_date ON invoices (business_id, date, id) WHERE number IS NOT NULL;
