import type { Connection } from './connection'

/** The name of an application table's own table: our number, never a name from outside. */
export function objectTable(number: number): string {
  if (!Number.isSafeInteger(number)) throw new RangeError('a table number is an integer')
  return `o_${number}`
}

/** `seq` is given by the store and never reused: the order of creation (design.md §3). */
export function createObjectTable(connection: Connection, number: number): void {
  const name = objectTable(number)
  connection.db.run(`CREATE TABLE ${name} (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    realm INTEGER NOT NULL,
    owner TEXT,
    revision INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    stamps TEXT,
    value TEXT NOT NULL
  ) STRICT`)
  connection.db.run(`CREATE INDEX ${name}_realm ON ${name} (realm, revision)`)
}
