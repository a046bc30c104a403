import { Database } from 'bun:sqlite'

/** The version of SQLite in this process, such as `3.54.1`. */
export function sqliteVersion(): string {
  using db = new Database(':memory:')
  using statement = db.prepare<{ version: string }, []>('SELECT sqlite_version() AS version')
  return statement.get()!.version
}
