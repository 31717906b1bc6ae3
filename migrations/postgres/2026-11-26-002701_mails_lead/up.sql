CREATE INDEX CONCURRENTLY IF NOT EXISTS mails_lead ON mails (business_id, lead_id) WHERE lead_id IS NOT NULL;
