\set business 1
\set status 0
\set first -9223372036854775807
\set last :before - 1
\set rows 51
SELECT id, preview FROM leads
    WHERE business_id = :business AND status = :status AND id >= :first AND id <= :last
    ORDER BY business_id DESC, id DESC LIMIT :rows OFFSET 0;
