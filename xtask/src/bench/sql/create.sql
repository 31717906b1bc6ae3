\set business random(1, :businesses)
\set number random(100000, 999999)
BEGIN;
INSERT INTO yardstick_leads (business_id, reference, created, site, channel, status, name_key, name_folded, email_folded,
        mobile, updated, version, preview, document)
    VALUES (:business, nextval('yardstick_reference'), extract(epoch FROM now())::bigint, 0, 'api', 0,
        'alex example ' || :number, 'alex example ' || :number, 'alex.' || :number || '@buyer.example', '+447400' || :number,
        extract(epoch FROM now())::bigint, 1, :preview, :document)
    RETURNING id, created \gset
INSERT INTO yardstick_events (business_id, sequence, id, name, record, data, created)
    VALUES (:business, nextval('yardstick_sequence'), 'evt_' || lpad(:id::text, 32, '0'), 'lead.created', :id, :document,
        :created);
COMMIT;
