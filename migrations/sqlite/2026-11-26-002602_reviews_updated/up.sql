CREATE INDEX reviews_updated ON reviews (business_id, updated);
