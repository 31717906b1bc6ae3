-- The addresses that a key may be used from, with commas between them; none stands for any. last_used is the hour of its latest use.
ALTER TABLE api_keys ADD COLUMN addresses TEXT;
ALTER TABLE api_keys ADD COLUMN last_used BIGINT;
