-- The events of one job, for the erasure of a contact that they show, and for its deletion.
CREATE INDEX events_of_vehicle_job ON events (business_id, record, sequence) WHERE substr(name, 1, 12) = 'vehicle_job.';
