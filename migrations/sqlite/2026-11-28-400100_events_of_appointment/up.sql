CREATE INDEX events_of_appointment ON events (business_id, record, sequence) WHERE substr(name, 1, 12) = 'appointment.';
