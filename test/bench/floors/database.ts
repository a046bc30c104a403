import { Database } from 'bun:sqlite'

/** The tables of a floor's database, by the number of the application table (design.md §3). */
export const tables = { items: 1, thousand: 2 }

/**
 * Opens a floor's database, made when it is new: the tables and indexes of design.md §3 and
 * nothing else, in WAL mode, every commit synced to disk. The log may grow to 32 MB as Satchel's:
 * with SQLite's 4 MB a batch of indexed objects would end in a checkpoint each time.
 */
export function openDatabase(file: string): Database {
  const database = new Database(file, { create: true })
  database.run('PRAGMA journal_mode = WAL')
  database.run('PRAGMA synchronous = FULL')
  database.run('PRAGMA wal_autocheckpoint = 8192')
  for (const number of Object.values(tables)) {
    database.run(`CREATE TABLE IF NOT EXISTS o_${number} (
      seq INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, realm INTEGER NOT NULL, owner TEXT,
      revision INTEGER NOT NULL, entered INTEGER NOT NULL, updated_at INTEGER NOT NULL, stamps TEXT,
      value TEXT NOT NULL)`)
    database.run(`CREATE INDEX IF NOT EXISTS o_${number}_realm ON o_${number} (realm, revision)`)
  }
  database.run(`CREATE TABLE IF NOT EXISTS index_entries (
    index_id INTEGER, key BLOB, seq INTEGER, PRIMARY KEY (index_id, key, seq)) WITHOUT ROWID`)
  database.run('CREATE TABLE IF NOT EXISTS realm_ids (number INTEGER PRIMARY KEY, id TEXT UNIQUE)')
  return database
}

const utf8 = new TextEncoder()

/** A binary key that sorts numbers before text (design.md §3). */
export function indexKey(value: unknown): Uint8Array {
  if (typeof value === 'number') {
    const key = new DataView(new ArrayBuffer(9))
    key.setUint8(0, 3)
    key.setFloat64(1, value)
    return new Uint8Array(key.buffer)
  }
  return utf8.encode(`\u0005${String(value)}\u0000`)
}
