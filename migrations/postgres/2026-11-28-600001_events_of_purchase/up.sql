-- The events of a purchase, for the erasure of a contact that they show.
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_of_purchase ON events (business_id, record, sequence) WHERE substr(name, 1, 9) = 'purchase.';
