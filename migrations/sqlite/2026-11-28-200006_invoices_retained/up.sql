CREATE INDEX invoices_retained ON invoices (retained, id) WHERE retained IS NOT NULL;
