\set business 1
\set status 0
\set first -9223372036854775807
\set last 9223372036854775807
\set rows 51
SELECT leads, lead_writes FROM business_counters WHERE business_id = :business;
SELECT id, preview FROM leads
    WHERE business_id = :business AND status = :status AND id >= :first AND id <= :last
    ORDER BY business_id DESC, id DESC LIMIT :rows OFFSET 0;
