CREATE INDEX invoices_parent ON invoices (business_id, parent) WHERE parent IS NOT NULL;
