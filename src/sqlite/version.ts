import { Database } from 'bun:sqlite'

let known: string | undefined

/** The version of SQLite in this process, such as `3.54.1`. */
export function sqliteVersion(): string {
  return (known ??= readVersion())
}

function readVersion(): string {
  using db = new Database(':memory:')
  using statement = db.prepare<{ version: string }, []>('SELECT sqlite_version() AS version')
  return statement.get()!.version
}
