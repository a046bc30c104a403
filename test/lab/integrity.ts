import { Database } from 'bun:sqlite'
import { join } from 'node:path'

/** What SQLite says about the file of the database `main`; `ok` when all is well. */
export function integrityOf(folder: string): string {
  using database = new Database(join(folder, 'databases', 'main', 'database.sqlite'), {
    readonly: true,
  })
  const rows = database.query<{ integrity_check: string }, []>('PRAGMA integrity_check').all()
  return rows.map((row) => row.integrity_check).join('; ')
}
