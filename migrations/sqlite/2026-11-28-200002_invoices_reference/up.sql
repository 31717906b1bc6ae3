CREATE INDEX invoices_reference ON invoices (business_id, reference_folded) WHERE reference_folded IS NOT NULL;
