\set business 1
\set status 0
\set rows 51
SELECT id, reference, created, updated, document FROM leads
    WHERE business_id = :business AND status = :status AND id < :before ORDER BY business_id DESC, id DESC LIMIT :rows;
