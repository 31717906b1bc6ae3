-- The files that go with a waiting mail, as JSON with their content in base64, and the contact whom they are about.
ALTER TABLE mails ADD COLUMN attachments TEXT;
ALTER TABLE mails ADD COLUMN contact_id INTEGER;
