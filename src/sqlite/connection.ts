import { Database, type SQLQueryBindings, type Statement } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'

export type Durability = 'full' | 'relaxed' | 'none'

const SYNCHRONOUS: Record<Durability, string> = { full: 'FULL', relaxed: 'NORMAL', none: 'OFF' }
/** The log keeps its file: writing over it is cheaper than to make it grow again. */
const WAL_KEPT = 48 * 1024 * 1024

export type Connection = ReturnType<typeof openConnection>

/** One SQLite connection with statements that are prepared once and kept (bun:sqlite keeps only 20). */
export function openConnection(file: string, mode: 'write' | 'read', durability: Durability) {
  const db = new Database(file, mode === 'read' ? { readonly: true } : { create: true })
  db.run('PRAGMA busy_timeout = 5000')
  db.run('PRAGMA temp_store = MEMORY')
  if (mode === 'write') {
    db.run('PRAGMA journal_mode = WAL')
    db.run(`PRAGMA synchronous = ${SYNCHRONOUS[durability]}`)
    db.run('PRAGMA fullfsync = ON')
    db.run('PRAGMA checkpoint_fullfsync = ON')
    db.run('PRAGMA wal_autocheckpoint = 0')
    db.run(`PRAGMA journal_size_limit = ${WAL_KEPT}`)
    db.run('PRAGMA cache_size = -16000')
  } else {
    db.run('PRAGMA query_only = ON')
    db.run('PRAGMA cache_size = -32000')
  }
  const statements = new Map<string, Statement>()
  return {
    db,
    orm: drizzle(db),
    prepare<Row = unknown>(sql: string): Statement<Row, SQLQueryBindings[]> {
      let statement = statements.get(sql)
      if (statement === undefined) {
        statement = db.prepare(sql)
        statements.set(sql, statement)
      }
      return statement as Statement<Row, SQLQueryBindings[]>
    },
    close() {
      for (const statement of statements.values()) statement.finalize()
      statements.clear()
      db.close()
    },
  }
}
