import { Database } from 'bun:sqlite'
import { join } from 'node:path'

/** The result of SQLite’s integrity check of the database `main`; `ok` without a fault. */
export function integrityOf(folder: string): string {
  using database = new Database(join(folder, 'databases', 'main', 'database.sqlite'), {
    readonly: true,
  })
  const rows = database.query<{ integrity_check: string }, []>('PRAGMA integrity_check').all()
  return rows.map((row) => row.integrity_check).join('; ')
}
