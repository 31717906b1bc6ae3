-- Set once the clock was put back: from then on what was made when is not found by halving the business's numbers.
ALTER TABLE business_counters ADD COLUMN stamps_unordered BOOLEAN NOT NULL DEFAULT false;
