-- A price filter finds no vehicle whose price is on application.
UPDATE vehicle_facts AS listed SET price = NULL
    FROM vehicles AS vehicle
    WHERE listed.price IS NOT NULL AND vehicle.business_id = listed.business_id AND vehicle.id = listed.id
        AND vehicle.document LIKE '%"poa"%' AND vehicle.document::jsonb #>> '{data,setting,poa}' = 'Yes';
