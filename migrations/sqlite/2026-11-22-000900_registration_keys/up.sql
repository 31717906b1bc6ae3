-- Registration marks are compared without hyphens too.
UPDATE vehicle_facts SET registration = replace(registration, '-', '') WHERE registration LIKE '%-%';
