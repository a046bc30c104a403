-- Invitations that went out by mail: what their links stand for, and how many there were of late.

CREATE TABLE invitations (
  -- The hash of the secret in the link.
  id TEXT PRIMARY KEY,
  member TEXT NOT NULL,
  realm INTEGER NOT NULL,
  email TEXT NOT NULL,
  inviter TEXT NOT NULL,
  -- The page that asked, and how people know it.
  origin TEXT,
  origin_name TEXT NOT NULL,
  sent INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;

CREATE INDEX invitations_of_email ON invitations (email, sent);
CREATE INDEX invitations_of_inviter ON invitations (inviter, sent);
CREATE INDEX invitations_by_end ON invitations (expires);
