-- Codes that are good once, the mails that carry them, and how a database writes and sends its mails.

CREATE TABLE codes (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('otp', 'authorization')),
  -- The HMAC of a code that is short enough to be tried out; null where the id is the hash.
  hash TEXT,
  subject TEXT NOT NULL,
  scopes TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  used INTEGER
) STRICT;

CREATE INDEX codes_of_subject ON codes (subject, created);
CREATE INDEX codes_by_end ON codes (expires);

CREATE TABLE mails (
  id TEXT PRIMARY KEY,
  -- Template, recipient and variables: a code in it must not lie open in a copy of the file.
  sealed TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  created INTEGER NOT NULL,
  due INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;

CREATE INDEX mails_by_due ON mails (due);

CREATE TABLE mail_templates (
  id TEXT PRIMARY KEY,
  content TEXT NOT NULL
) STRICT;

CREATE TABLE mail_settings (
  id TEXT PRIMARY KEY CHECK (id = 'mail'),
  sender TEXT,
  -- The address mails are handed to, which may hold a password.
  sealed_address TEXT
) STRICT;

-- Who may log in as somebody else: the person a client belongs to.
ALTER TABLE clients ADD COLUMN email TEXT;
