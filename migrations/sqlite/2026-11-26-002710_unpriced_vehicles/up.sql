-- A price filter finds no vehicle whose price is on application.
UPDATE vehicle_facts SET price = NULL
    WHERE price IS NOT NULL AND (business_id, id) IN (
        SELECT business_id, id FROM vehicles WHERE document ->> '$.data.setting.poa' = 'Yes'
    );
