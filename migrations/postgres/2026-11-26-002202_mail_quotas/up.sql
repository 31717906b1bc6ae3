-- Whether a mail is one of those that its business may send in a day, and when it was queued.
ALTER TABLE mails ADD COLUMN claimed BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE mails ADD COLUMN queued BIGINT;

-- How many mails a business has sent in the UTC day of the latest, counted from the epoch.
CREATE TABLE mail_quotas (
    business_id BIGINT NOT NULL PRIMARY KEY REFERENCES businesses (id) ON DELETE CASCADE,
    day         BIGINT NOT NULL,
    mails       BIGINT NOT NULL
);
