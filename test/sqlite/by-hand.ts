import { Database } from 'bun:sqlite'
import { join } from 'node:path'

/** SQL on the file of the database `main` of a data folder, past the program. Returns the changed rows. */
export function byHand(folder: string, sql: string, ...parameters: (string | number)[]): number {
  using db = new Database(join(folder, 'databases', 'main', 'database.sqlite'), {
    readwrite: true,
  })
  db.run('PRAGMA busy_timeout = 5000')
  using statement = db.prepare(sql)
  return statement.run(...parameters).changes
}
