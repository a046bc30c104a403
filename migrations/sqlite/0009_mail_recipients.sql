-- Mails that wait for somebody who is deleted go with them.

-- The SHA-256 of the address; null: queued before there was this.
ALTER TABLE mails ADD COLUMN recipient TEXT;
CREATE INDEX mails_of_recipient ON mails (recipient) WHERE recipient IS NOT NULL;
