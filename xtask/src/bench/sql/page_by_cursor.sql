\set business 1
\set status 0
\set last :leads - 1000
SELECT id, preview FROM leads
    WHERE business_id = (SELECT CAST(:business AS bigint)) AND status = (SELECT CAST(:status AS integer))
        AND id <= (SELECT CAST(:last AS bigint))
    ORDER BY business_id DESC, id DESC LIMIT 51;
