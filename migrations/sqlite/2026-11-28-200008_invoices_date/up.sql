-- The invoices of a period, for the VAT figures: those that were issued. So no list is read by it, which would sort what it finds.
CREATE INDEX invoices_date ON invoices (business_id, date) WHERE number IS NOT NULL;
