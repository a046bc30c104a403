-- Who outside says who a person is, and what their logins leave behind.

CREATE TABLE providers (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL,
  display_name TEXT NOT NULL,
  icon_url TEXT,
  client_id TEXT NOT NULL,
  -- The client secret, or the private key that signs one.
  sealed_secret TEXT,
  scopes TEXT,
  options TEXT NOT NULL,
  created INTEGER NOT NULL
) STRICT;

-- A state is good once.
CREATE TABLE spent_states (
  id TEXT PRIMARY KEY,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX spent_states_by_end ON spent_states (expires);

-- A login whose code came twice: the tokens it gave have ended.
CREATE TABLE revoked_logins (
  id TEXT PRIMARY KEY,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX revoked_logins_by_end ON revoked_logins (expires);

ALTER TABLE refresh_tokens ADD COLUMN login TEXT;
CREATE INDEX refresh_tokens_of_login ON refresh_tokens (login) WHERE login IS NOT NULL;
