import { Database } from 'bun:sqlite'
import { drizzle } from 'drizzle-orm/bun-sqlite'
import { SatchelError } from '../domain/value/error'
import { type Durability, setDurability } from './durability'
import { keepPrivate } from './private-file'
import { keepStatements } from './statements'

/** The log keeps its file: writing over it is cheaper than to make it grow again. */
const WAL_KEPT = 48 * 1024 * 1024

export type Connection = ReturnType<typeof openConnection>

/** One SQLite connection with statements that are compiled once and kept. */
export function openConnection(file: string, mode: 'write' | 'read', durability: Durability) {
  if (mode === 'write') keepPrivate(file)
  const db = new Database(file, mode === 'read' ? { readonly: true } : { create: true })
  try {
    if (mode === 'write') configureWriter(db, durability)
    else configureReader(db)
  } catch (error) {
    db.close()
    throw error
  }
  const { prepare, finalize } = keepStatements(db)
  return {
    db,
    // drizzle asks its client for statements only, at every call: it gets the kept ones.
    orm: drizzle({ client: { prepare } as unknown as Database }),
    prepare,
    close() {
      finalize()
      db.close()
    },
  }
}

function configureWriter(db: Database, durability: Durability): void {
  db.run('PRAGMA busy_timeout = 5000')
  setDurability(db, durability)
  const journal = db.prepare<{ journal_mode: string }, []>('PRAGMA journal_mode = WAL')
  const mode = journal.get()?.journal_mode
  journal.finalize()
  if (mode !== 'wal') {
    throw new SatchelError('STORAGE_FAILED', 'This file system cannot hold a write-ahead log')
  }
  db.run('PRAGMA temp_store = MEMORY')
  db.run('PRAGMA wal_autocheckpoint = 0')
  db.run(`PRAGMA journal_size_limit = ${WAL_KEPT}`)
  db.run('PRAGMA cache_size = -16000')
}

function configureReader(db: Database): void {
  db.run('PRAGMA busy_timeout = 5000')
  db.run('PRAGMA temp_store = MEMORY')
  db.run('PRAGMA query_only = ON')
  db.run('PRAGMA cache_size = -32000')
}
