-- Businesses take turns; each sends what has waited longest.
CREATE INDEX CONCURRENTLY IF NOT EXISTS mails_of_business ON mails (business_id, due, id);
