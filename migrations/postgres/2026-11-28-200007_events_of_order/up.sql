-- The events of an order, for the erasure of a contact that they show.
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_of_order ON events (business_id, record, sequence) WHERE substr(name, 1, 6) = 'order.';
