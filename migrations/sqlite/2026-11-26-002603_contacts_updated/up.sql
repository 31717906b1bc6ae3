CREATE INDEX contacts_updated ON contacts (business_id, updated);
