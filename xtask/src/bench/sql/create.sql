\set business 1
\set number random(100000, 999999)
BEGIN;
UPDATE business_counters SET leads = leads + 1, lead_writes = lead_writes + 1, lead_reference = lead_reference + 1,
    lead_created = greatest(lead_created, extract(epoch FROM now())::bigint)
    WHERE business_id = :business RETURNING lead_reference, lead_created \gset
INSERT INTO leads (business_id, reference, created, site, channel, status, name_key, name_folded, email_folded,
        mobile, updated, version, preview, document)
    VALUES (:business, :lead_reference, :lead_created, 0, 'api', 0, 'alex example ' || :number, 'alex example ' || :number,
        'alex.' || :number || '@buyer.example', '+447400' || :number, :lead_created, 1, :preview, :document)
    RETURNING id \gset
UPDATE business_counters SET event_sequence = event_sequence + 1
    WHERE business_id = :business RETURNING event_sequence \gset
INSERT INTO events (business_id, sequence, id, name, record, data, created)
    VALUES (:business, :event_sequence, 'evt_' || lpad(:event_sequence::text, 32, '0'), 'lead.created', :id, :document,
        :lead_created);
COMMIT;
