-- The shape of a database file. The meaning of every table: design.md §3. Where a flipped bit would give rights, show
-- wrong data or lose a write, `sum` is the checksum of the row: one that is written by hand is damaged until
-- satchel verify --accept.

CREATE TABLE database (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  id TEXT NOT NULL,
  epoch TEXT NOT NULL,
  revision INTEGER NOT NULL,
  -- Tombstones and criteria operations up to this revision may have been dropped.
  oldest_revision INTEGER NOT NULL,
  next_seq INTEGER NOT NULL,
  id_high_water INTEGER NOT NULL,
  -- How many there are, so that they need not be counted: objects, those of built-in tables apart, and users.
  objects INTEGER NOT NULL,
  users INTEGER NOT NULL,
  sealed INTEGER NOT NULL,
  created INTEGER NOT NULL,
  -- The latest time that expiry was judged by, ms: expired stays expired when the clock goes back.
  latest_time INTEGER NOT NULL,
  -- The revisions before and after the last commit, as fixed text: it tells which log belongs to the file.
  step TEXT NOT NULL
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
  -- An upper bound of the size of its values, in bytes.
  largest INTEGER NOT NULL DEFAULT 0,
  built_in INTEGER NOT NULL
) STRICT;

CREATE TABLE indexes (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  table_number INTEGER NOT NULL,
  name TEXT NOT NULL,
  multi INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('building', 'ready', 'dropped')),
  -- Of all columns but the state.
  sum INTEGER NOT NULL DEFAULT 0
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
  -- The SHA-256 of the id once the realm is erased.
  id TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('live', 'erasing', 'erased')),
  -- The revision in which this life of the id began.
  born INTEGER NOT NULL,
  -- The newest revision that touched it, apart from the moves that are still in realm_moves.
  head INTEGER NOT NULL,
  -- Of all columns but the head.
  sum INTEGER NOT NULL DEFAULT 0
) STRICT;

-- The realms that commits have touched, as JSON, until they are folded into their heads.
CREATE TABLE realm_moves (
  number INTEGER PRIMARY KEY,
  revision INTEGER NOT NULL,
  realms TEXT NOT NULL
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
  -- The sync client that removed the object; null for other writers.
  client INTEGER,
  -- The revision at which the object had come into being, or into the realm.
  entered INTEGER NOT NULL,
  PRIMARY KEY (table_number, key, realm)
) STRICT, WITHOUT ROWID;

CREATE INDEX tombstones_of_realm ON tombstones (realm, revision);
CREATE INDEX tombstones_by_time ON tombstones (at);

-- Each process that gives out revisions, with the revision it began after.
CREATE TABLE runs (
  run TEXT PRIMARY KEY,
  first INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Local databases of users that sync (protocol.md §4.2).
CREATE TABLE sync_clients (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  identity TEXT NOT NULL,
  subject TEXT NOT NULL,
  -- The tables that it declares, as JSON.
  tables TEXT NOT NULL,
  -- Its Y.Doc properties by table, as JSON; empty: none.
  texts TEXT NOT NULL,
  -- The latest time of its operations, ms: no later one gets an earlier time.
  floor INTEGER NOT NULL,
  -- The revision of its latest rejected transaction.
  rejected INTEGER NOT NULL,
  -- A revision after its latest answer with private rows as new ones.
  privates INTEGER NOT NULL,
  seen INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX sync_clients_by_identity ON sync_clients (subject, identity);
CREATE INDEX sync_clients_by_time ON sync_clients (seen);

-- Client transactions that were executed: a repetition is not executed again.
CREATE TABLE applied (
  client INTEGER NOT NULL,
  txid TEXT NOT NULL,
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- {name, message} as JSON when it was rejected.
  rejection TEXT,
  -- How many steps of a large operation were executed; null when nothing is left to do.
  steps INTEGER,
  sum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (client, txid)
) STRICT, WITHOUT ROWID;

-- The keys of the rows that each step of an operation with criteria changes.
CREATE TABLE step_keys (
  client INTEGER NOT NULL,
  txid TEXT NOT NULL,
  step INTEGER NOT NULL,
  -- A JSON array.
  keys TEXT NOT NULL,
  sum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE UNIQUE INDEX step_keys_by_step ON step_keys (client, txid, step);

CREATE TRIGGER applied_removed AFTER DELETE ON applied WHEN old.steps IS NOT NULL BEGIN
  DELETE FROM step_keys WHERE client = old.client AND txid = old.txid;
END;

-- Operations with criteria, for rows that arrive later but are based on an earlier revision.
CREATE TABLE criteria_ops (
  -- The author.
  subject TEXT NOT NULL,
  table_number INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  -- The order within a revision.
  position INTEGER NOT NULL,
  client INTEGER NOT NULL,
  email TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('modify', 'delete')),
  criteria TEXT NOT NULL,
  change TEXT,
  -- ms; between those of the other operations of its transaction.
  ts REAL NOT NULL,
  -- The revision that its client had seen; null when that is unknown.
  base INTEGER,
  at INTEGER NOT NULL,
  PRIMARY KEY (subject, table_number, revision, position)
) STRICT, WITHOUT ROWID;

CREATE INDEX criteria_ops_by_time ON criteria_ops (at);

CREATE TABLE memberships (
  source TEXT PRIMARY KEY,
  realm INTEGER NOT NULL,
  user_id TEXT,
  email TEXT,
  accepted INTEGER NOT NULL,
  rejected INTEGER NOT NULL,
  permissions TEXT NOT NULL,
  roles TEXT NOT NULL,
  -- The revision since which it is accepted, or open; rows that are derived anew begin anew.
  since INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A deleted user leaves their realms in this order.
CREATE INDEX memberships_of_user ON memberships (user_id, realm) WHERE user_id IS NOT NULL;
-- All rights of a user are read without looking at the memberships themselves.
CREATE INDEX memberships_rights_of_user
  ON memberships (user_id, accepted, realm, permissions, roles) WHERE user_id IS NOT NULL;
CREATE INDEX memberships_of_email ON memberships (email, realm)
  WHERE email IS NOT NULL AND user_id IS NULL;
CREATE INDEX memberships_of_realm ON memberships (realm);
-- The different rights in a realm are found without reading all of its members.
CREATE INDEX memberships_by_rights ON memberships (accepted, realm, permissions, roles);

-- Users and addresses that had a row of members until it was removed or given to somebody else. Their
-- clients may have a copy of it, and others are not told the key.
CREATE TABLE former_memberships (
  -- The SHA-256 of the user id, or of the address of a row without one.
  subject TEXT NOT NULL,
  key TEXT NOT NULL,
  realm INTEGER NOT NULL,
  -- The one in which they lost the row, and its time, ms.
  revision INTEGER NOT NULL,
  at INTEGER NOT NULL,
  sum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (subject, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX former_memberships_of_realm ON former_memberships (realm);
CREATE INDEX former_memberships_by_time ON former_memberships (at);

-- Users as their lists are sorted, searched and paged (spec.md §4.2).
CREATE TABLE users (
  -- One life of a user id: a number never comes back, the user may.
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL CHECK (type IN ('eval', 'prod', 'demo')),
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL,
  last_login INTEGER,
  valid_until INTEGER,
  eval_until INTEGER,
  deactivated INTEGER,
  data TEXT,
  -- The address in its compared form; null: none, or it is the id.
  email TEXT,
  -- The display name, and all text that a search looks at, folded.
  name TEXT,
  search TEXT NOT NULL,
  sum INTEGER NOT NULL DEFAULT 0
) STRICT;

-- A list looks at all users of a type, or at all, and sorts those that it keeps (spec.md §4.2).
CREATE INDEX users_listed ON users (
  type, number, deactivated, search, id, created, updated, last_login, valid_until, eval_until, name
);
CREATE INDEX users_by_email ON users (email) WHERE email IS NOT NULL;

-- The lives of users that were deleted, for restores of backups from before: no id is in it.
CREATE TABLE erased_users (
  number INTEGER PRIMARY KEY,
  -- When that life began, and ended.
  created INTEGER NOT NULL,
  at INTEGER NOT NULL
) STRICT;

CREATE INDEX erased_users_by_time ON erased_users (at);

CREATE TABLE clients (
  id TEXT PRIMARY KEY,
  secret_hash TEXT NOT NULL,
  scopes TEXT NOT NULL,
  name TEXT,
  created INTEGER NOT NULL,
  expires INTEGER,
  -- The person a client belongs to, who may log in as somebody else.
  email TEXT,
  sum INTEGER NOT NULL DEFAULT 0
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
  last_used INTEGER NOT NULL,
  -- Null for the tokens of a client itself.
  user_number INTEGER,
  login TEXT,
  sum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX refresh_tokens_of_client ON refresh_tokens (client_id);
CREATE INDEX refresh_tokens_idle ON refresh_tokens (last_used);
CREATE INDEX refresh_tokens_of_user ON refresh_tokens (user_number) WHERE user_number IS NOT NULL;
CREATE INDEX refresh_tokens_of_login ON refresh_tokens (login) WHERE login IS NOT NULL;

CREATE TABLE refresh_uses (
  hash TEXT NOT NULL,
  time_stamp INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (hash, time_stamp)
) STRICT, WITHOUT ROWID;

CREATE INDEX refresh_uses_old ON refresh_uses (used);

-- Codes that can be redeemed once.
CREATE TABLE codes (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL CHECK (kind IN ('otp', 'authorization')),
  -- The HMAC of a code that is short enough to be guessed; null where the id is the hash.
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
  -- The SHA-256 of the address: mails for a deleted user go with the user.
  recipient TEXT NOT NULL,
  -- Template, recipient and variables, encrypted: a copy of the file must not show the code in it.
  sealed TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  created INTEGER NOT NULL,
  due INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;

CREATE INDEX mails_by_due ON mails (due);
CREATE INDEX mails_of_recipient ON mails (recipient);

-- Invitations that were sent by mail: for their links, and for counting recent ones.
CREATE TABLE invitations (
  -- The hash of the secret in the link.
  id TEXT PRIMARY KEY,
  member TEXT NOT NULL,
  realm INTEGER NOT NULL,
  email TEXT NOT NULL,
  -- A hash: it is only counted by.
  inviter TEXT NOT NULL,
  -- The page that asked, and its name for people.
  origin TEXT,
  origin_name TEXT NOT NULL,
  sent INTEGER NOT NULL,
  expires INTEGER NOT NULL
) STRICT;

CREATE INDEX invitations_of_email ON invitations (email, sent);
CREATE INDEX invitations_of_inviter ON invitations (inviter, sent);
CREATE INDEX invitations_by_end ON invitations (expires);

-- Outside login providers.
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

-- OAuth states that were used: each is accepted once.
CREATE TABLE spent_states (
  id TEXT PRIMARY KEY,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX spent_states_by_end ON spent_states (expires);

-- Logins whose code was presented twice: their tokens are revoked.
CREATE TABLE revoked_logins (
  id TEXT PRIMARY KEY,
  expires INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX revoked_logins_by_end ON revoked_logins (expires);

CREATE TABLE origins (
  id TEXT PRIMARY KEY,
  created INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
  id TEXT PRIMARY KEY,
  value TEXT NOT NULL
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

-- Blobs, their uploaders and the objects that reference them (design.md §3, §5.9).
CREATE TABLE blobs (
  id TEXT PRIMARY KEY,
  -- SHA-256 of the content in hex.
  hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  type TEXT NOT NULL,
  created INTEGER NOT NULL,
  -- Since when nothing references it, ms; null while something does.
  idle_since INTEGER,
  -- 1: all its uploaders were erased, and it goes with the last object that references it.
  is_left INTEGER NOT NULL DEFAULT 0,
  -- The file in which the blob store has the bytes.
  file TEXT NOT NULL,
  -- Of id, hash, size, type, time and file.
  sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX blobs_by_file ON blobs (file);
CREATE INDEX blobs_idle ON blobs (idle_since) WHERE idle_since IS NOT NULL;

-- The private realm of each uploader: one life of a user, like every realm number.
CREATE TABLE blob_uploads (
  realm INTEGER NOT NULL,
  blob TEXT NOT NULL,
  sum INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (realm, blob)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_uploads_of_blob ON blob_uploads (blob);

-- Blobs that are not there are referenced too: an import may bring them after the objects.
CREATE TABLE blob_refs (
  blob TEXT NOT NULL,
  realm INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  table_number INTEGER NOT NULL,
  PRIMARY KEY (blob, realm, seq)
) STRICT, WITHOUT ROWID;

-- Bytes by uploader; realm 0 is the whole database.
CREATE TABLE blob_usage (
  realm INTEGER PRIMARY KEY,
  bytes INTEGER NOT NULL,
  blobs INTEGER NOT NULL
) STRICT;

-- Operations that changed something or showed a secret: kept a year, without values.
CREATE TABLE audit (
  seq INTEGER PRIMARY KEY,
  -- Random, of the operation.
  id TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  operation TEXT NOT NULL,
  result TEXT NOT NULL,
  door TEXT NOT NULL,
  -- Of the operating system.
  uid INTEGER,
  client TEXT,
  user TEXT,
  address TEXT,
  -- Of the page for administrators.
  session TEXT
) STRICT;

CREATE INDEX audit_by_time ON audit (at);
CREATE INDEX audit_of_user ON audit (user) WHERE user IS NOT NULL;
