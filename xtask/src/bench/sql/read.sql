\set business 1
\set id random(1, :leads)
SELECT id, reference, created, updated, document FROM leads WHERE business_id = :business AND id = :id;
