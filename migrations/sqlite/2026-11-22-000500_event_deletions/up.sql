-- Finds the deletion of a record, so that updates of it that are still to be sent can be dropped.
CREATE INDEX events_of_deletion ON events (business_id, record)
    WHERE name IN ('contact.deleted', 'lead.deleted', 'vehicle.deleted');
