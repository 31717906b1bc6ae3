CREATE INDEX invoices_deal ON invoices (business_id, deal) WHERE deal IS NOT NULL;
