-- Photos of test drives can no longer be read by everyone who knows their names. A photo and its copies share the first 32
-- characters of their names, behind which comes a hyphen or a full stop.
UPDATE files SET public = false
    FROM (
        SELECT drive.business_id, left(photo ->> 'file', 32) AS key
        FROM vehicle_drives AS drive, jsonb_array_elements(drive.document::jsonb -> 'photos') AS photo
        WHERE drive.document LIKE '%"photos"%'
    ) AS taken
    WHERE files.business_id = taken.business_id AND files.name >= taken.key || '-' AND files.name < taken.key || '/';
