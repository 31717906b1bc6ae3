CREATE INDEX articles_updated ON articles (business_id, updated);
