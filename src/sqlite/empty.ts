import type { Database } from 'bun:sqlite'
import { PUBLIC_REALM_REF } from '../domain/store/realms'
import { randomToken } from '../domain/value/id'
import { openFailure } from './failure'
import { openDatabaseFile } from './private-file'

/** The rows that stay: `Store.empty`. */
const KEPT = new Set([
  'migrations',
  'database',
  'tables',
  'indexes',
  'runs',
  'realm_ids',
  'clients',
  'keys',
  'providers',
  'origins',
  'settings',
])

/**
 * Empties the database in this file, which is not open. A run begins with the next revision: clients that
 * know an earlier one fetch everything anew.
 */
export function emptyFile(file: string): void {
  try {
    using db = openDatabaseFile(file, 'write')
    db.run('PRAGMA synchronous = OFF')
    db.transaction(() => {
      for (const table of tablesOf(db)) if (!KEPT.has(table)) db.run(`DELETE FROM "${table}"`)
      db.run('DELETE FROM realm_ids WHERE number <> ?', [PUBLIC_REALM_REF])
      db.run("DELETE FROM indexes WHERE state = 'dropped'")
      db.run("UPDATE indexes SET state = 'ready'")
      db.run('UPDATE tables SET largest = 0')
      db.run('UPDATE database SET oldest_revision = revision, objects = 0, users = 0')
      db.run('DELETE FROM runs')
      db.run('INSERT INTO runs (run, first) SELECT ?, revision FROM database', [randomToken(9)])
    })()
  } catch (error) {
    throw openFailure(error, file)
  }
}

function tablesOf(db: Database): string[] {
  using tables = db.prepare<{ name: string }, []>(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
  )
  return tables.all().map(({ name }) => name)
}
