CREATE INDEX CONCURRENTLY IF NOT EXISTS events_of_deal ON events (business_id, record, sequence) WHERE substr(name, 1, 5) = 'deal.';
