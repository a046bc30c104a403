-- The first shape of a database file. Meaning of every table: design.md §3.

CREATE TABLE database (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  revision INTEGER NOT NULL,
  oldest_revision INTEGER NOT NULL,
  policy INTEGER NOT NULL,
  next_seq INTEGER NOT NULL,
  id_high_water INTEGER NOT NULL,
  sealed INTEGER NOT NULL,
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE tables (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  primary_key TEXT,
  compound INTEGER NOT NULL,
  generated INTEGER NOT NULL,
  id_prefix TEXT NOT NULL,
  stores TEXT NOT NULL,
  hidden INTEGER NOT NULL,
  -- An upper bound, in bytes, of the values in it.
  largest INTEGER NOT NULL DEFAULT 0,
  built_in INTEGER NOT NULL
) STRICT;

CREATE TABLE indexes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  table_number INTEGER NOT NULL,
  name TEXT NOT NULL,
  multi INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('building', 'ready', 'dropped'))
) STRICT;

CREATE INDEX indexes_of_table ON indexes (table_number);

CREATE TABLE index_entries (
  index_number INTEGER NOT NULL,
  key BLOB NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (index_number, key, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE realm_ids (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('live', 'erasing', 'erased')),
  head INTEGER NOT NULL
) STRICT;

CREATE INDEX realm_ids_by_id ON realm_ids (id);
CREATE UNIQUE INDEX realm_ids_live ON realm_ids (id) WHERE state = 'live';
CREATE INDEX realm_ids_erasing ON realm_ids (number) WHERE state = 'erasing';

CREATE TABLE tombstones (
  table_number INTEGER NOT NULL,
  key TEXT NOT NULL,
  realm INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (table_number, key, realm)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_of_realm ON tombstones (realm, revision);

CREATE TABLE memberships (
  source TEXT PRIMARY KEY,
  realm INTEGER NOT NULL,
  user_id TEXT,
  email TEXT,
  accepted INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  permissions TEXT NOT NULL,
  roles TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX memberships_of_user ON memberships (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX memberships_of_email ON memberships (email) WHERE email IS NOT NULL;
CREATE INDEX memberships_of_realm ON memberships (realm);

CREATE TABLE users (
  id TEXT PRIMARY KEY,
  type TEXT NOT NULL CHECK (type IN ('eval', 'prod', 'demo')),
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  last_login INTEGER,
  valid_until INTEGER,
  deactivated INTEGER,
  data TEXT
) STRICT;

CREATE TABLE clients (
  id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL,
  scopes TEXT NOT NULL,
  name TEXT,
  created INTEGER NOT NULL,
  expires INTEGER
) STRICT;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  state TEXT NOT NULL CHECK (state IN ('next', 'current', 'retired')),
  public_key TEXT NOT NULL,
  sealed_private_key TEXT NOT NULL,
  created INTEGER NOT NULL,
  retired INTEGER
) STRICT;

CREATE TABLE refresh_tokens (
  hash TEXT PRIMARY KEY,
  client_id TEXT NOT NULL,
  subject TEXT NOT NULL,
  claims TEXT NOT NULL,
  scopes TEXT NOT NULL,
  public_key TEXT NOT NULL,
  created INTEGER NOT NULL,
  last_used INTEGER NOT NULL
) STRICT;

CREATE INDEX refresh_tokens_of_client ON refresh_tokens (client_id);
CREATE INDEX refresh_tokens_idle ON refresh_tokens (last_used);

CREATE TABLE refresh_uses (
  hash TEXT NOT NULL,
  time_stamp INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (hash, time_stamp)
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_uses_old ON refresh_uses (used);

CREATE TABLE origins (
  id TEXT PRIMARY KEY,
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  done INTEGER NOT NULL,
  total INTEGER,
  created INTEGER NOT NULL,
  failure TEXT
) STRICT;
