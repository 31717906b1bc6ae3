-- Answers each filter that many invoices pass, in the order of the list.
CREATE INDEX invoices_list ON invoices (business_id, id, site, status, kind, salesperson, gross, date, due_date, created, updated);
