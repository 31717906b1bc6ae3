CREATE INDEX invoices_order ON invoices (business_id, order_id) WHERE order_id IS NOT NULL;
