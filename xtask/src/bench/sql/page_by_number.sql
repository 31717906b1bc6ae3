\set business 1
\set status 0
\set rows 51
SELECT count(*) FROM leads WHERE business_id = :business AND status = :status;
SELECT id, reference, created, updated, document FROM leads
    WHERE business_id = :business AND status = :status ORDER BY business_id DESC, id DESC LIMIT :rows;
