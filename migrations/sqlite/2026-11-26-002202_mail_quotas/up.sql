-- Whether a mail is one of those that its business may send in a day, and when it was queued.
ALTER TABLE mails ADD COLUMN claimed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE mails ADD COLUMN queued INTEGER;

-- How many mails a business has sent in the UTC day of the latest, counted from the epoch.
CREATE TABLE mail_quotas (
    business_id INTEGER NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    day         INTEGER NOT NULL,
    mails       INTEGER NOT NULL
) STRICT;
