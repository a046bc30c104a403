-- Users as their lists are sorted, searched and paged (spec.md §4.2), and settings of a database.

ALTER TABLE users RENAME TO users_before;

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
  -- The display name, and everything that a search looks at, folded. Null: not yet.
  name TEXT,
  search TEXT
) STRICT;

INSERT INTO users (id, type, created, updated, last_login, valid_until, eval_until, deactivated, data)
SELECT id, type, created, updated, last_login, valid_until,
  CASE type WHEN 'eval' THEN created + 30 * 86400000 END, deactivated, data
FROM users_before ORDER BY created, id;

DROP TABLE users_before;

-- Each holds what lists are narrowed by, so that passing over a user needs no look at the row.
CREATE INDEX users_by_id ON users (id, number, type, deactivated, search);
CREATE INDEX users_by_created ON users (created, number, type, deactivated, search);
CREATE INDEX users_by_updated ON users (updated, number, type, deactivated, search);
CREATE INDEX users_by_last_login
  ON users (ifnull(last_login, -9007199254740992), number, type, deactivated, search);
CREATE INDEX users_by_valid_until
  ON users (ifnull(valid_until, -9007199254740992), number, type, deactivated, search);
CREATE INDEX users_by_eval_until
  ON users (ifnull(eval_until, -9007199254740992), number, type, deactivated, search);
CREATE INDEX users_by_type ON users (type, number, deactivated, search);
CREATE INDEX users_by_name ON users (ifnull(name, ''), number, type, deactivated, search);
CREATE INDEX users_to_fold ON users (number) WHERE search IS NULL;

-- Three letters and more are looked up as a phrase, one or two as the beginning of a trigram.
CREATE VIRTUAL TABLE user_search USING fts5 (
  text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
);
CREATE VIRTUAL TABLE user_trigrams USING fts5vocab (user_search, instance);

-- Null for the tokens of a client itself.
ALTER TABLE refresh_tokens ADD COLUMN user_number INTEGER;

UPDATE refresh_tokens SET user_number = (
  SELECT number FROM users WHERE users.id = subject AND users.created <= refresh_tokens.created
) WHERE subject <> client_id;

DELETE FROM refresh_tokens WHERE subject <> client_id AND user_number IS NULL;

CREATE INDEX refresh_tokens_of_user ON refresh_tokens (user_number) WHERE user_number IS NOT NULL;

-- In this order whoever is deleted leaves their realms.
DROP INDEX memberships_of_user;
CREATE INDEX memberships_of_user ON memberships (user_id, realm) WHERE user_id IS NOT NULL;

CREATE TABLE settings (
  id TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT;
