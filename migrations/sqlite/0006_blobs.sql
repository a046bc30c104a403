-- What the blobs of a database are, who brought them and what references them (design.md §3, §5.9).

CREATE TABLE blobs (
  id TEXT PRIMARY KEY,
  -- SHA-256 of the content in hex: the name of its file.
  hash TEXT NOT NULL,
  size INTEGER NOT NULL,
  type TEXT NOT NULL,
  created INTEGER NOT NULL,
  -- Since when nothing references it, ms; null while something does.
  idle_since INTEGER,
  -- 1: everyone who brought it was erased, and it goes with the last place that references it.
  is_left INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX blobs_of_hash ON blobs (hash);
CREATE INDEX blobs_idle ON blobs (idle_since) WHERE idle_since IS NOT NULL;

-- The private realm of everyone who uploaded it: one life of a person, like every realm number.
CREATE TABLE blob_uploads (
  realm INTEGER NOT NULL,
  blob TEXT NOT NULL,
  PRIMARY KEY (realm, blob)
) STRICT, WITHOUT ROWID;

CREATE INDEX blob_uploads_of_blob ON blob_uploads (blob);

-- Of blobs that are not there, too: an import may bring them after what references them.
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

-- Files whose last blob is gone, until they are gone too.
CREATE TABLE spent_hashes (
  hash TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Tables whose objects have not been looked through for references.
CREATE TABLE unread_tables (
  number INTEGER PRIMARY KEY
) STRICT;

INSERT INTO unread_tables SELECT number FROM tables;
