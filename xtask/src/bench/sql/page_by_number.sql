\set business 1
\set status 0
SELECT records, writes FROM counters WHERE business_id = :business AND kind = 'leads';
SELECT id, preview FROM leads
    WHERE business_id = (SELECT CAST(:business AS bigint)) AND status = (SELECT CAST(:status AS integer))
    ORDER BY business_id DESC, id DESC LIMIT 51;
