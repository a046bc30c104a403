import {
  constants as sqlite,
  type Database,
  SQLiteError,
  type SQLQueryBindings,
  type Statement,
} from 'bun:sqlite'
import { isWritable } from '../disk'
import { SatchelError } from '../domain/value/error'
import { type Durability, setDurability } from './durability'
import { keepPrivate, type LogIndex, openDatabaseFile } from './private-file'

/** The log keeps this much of its file: overwriting is cheaper than growing it again. */
const KEPT_LOG_BYTES = 48 * 1024 * 1024

export type Connection = ReturnType<typeof openConnection>

/**
 * One SQLite connection with statements that are compiled once and kept. Throws the errors of SQLite, and
 * `STORAGE_FAILED` where the file system has no write-ahead logs, or a file that may be written was opened for
 * reading only.
 */
export function openConnection(
  file: string,
  mode: 'write' | 'read',
  durability: Durability,
  index: LogIndex = 'file',
) {
  if (mode === 'write') keepPrivate(file)
  const db = openDatabaseFile(file, mode === 'read' ? 'read' : 'create', index)
  try {
    if (mode === 'write') {
      configureWriter(db, durability)
      requireWritable(db, file)
    } else {
      configureReader(db)
    }
  } catch (error) {
    db.close()
    throw error
  }
  const { prepare, changing, finalize } = keepStatements(db)
  return {
    db,
    prepare,
    changing,
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
    throw new SatchelError(
      'STORAGE_FAILED',
      'This file system does not support write-ahead logs: choose a data folder on a local disk with --data',
    )
  }
  db.run('PRAGMA temp_store = MEMORY')
  db.run('PRAGMA wal_autocheckpoint = 0')
  db.run(`PRAGMA journal_size_limit = ${KEPT_LOG_BYTES}`)
  db.run('PRAGMA cache_size = -16000')
  // Deleted rows are overwritten: erased means erased (promises.md 57).
  db.run('PRAGMA secure_delete = ON')
}

/**
 * SQLite opens a file for reading only when it fails to open it for writing, for whatever reason, and a
 * passing failure would refuse all writes until the next start. A file that may not be written stays open.
 */
function requireWritable(db: Database, file: string): void {
  try {
    db.run('BEGIN')
    db.run('PRAGMA user_version = 0')
  } catch (error) {
    const isReadOnly = error instanceof SQLiteError && error.code?.startsWith('SQLITE_READONLY')
    if (!isReadOnly) throw error
    if (!isWritable(file) || !isWritable(`${file}-wal`)) return
    throw new SatchelError('STORAGE_FAILED', 'The file could not be opened for writing', {
      cause: error,
    })
  } finally {
    if (db.inTransaction) db.run('ROLLBACK')
  }
}

function configureReader(db: Database): void {
  db.run('PRAGMA busy_timeout = 5000')
  db.run('PRAGMA temp_store = MEMORY')
  db.run('PRAGMA query_only = ON')
  db.run('PRAGMA cache_size = -32000')
}

interface Statements {
  readonly prepare: <Row = unknown>(sql: string) => Statement<Row, SQLQueryBindings[]>
  /** How often a statement that is no SELECT was asked for. */
  readonly changing: () => number
  /** Frees them all: a database with a living statement stays open behind `close`. */
  readonly finalize: () => void
}

/** Bun's types leave out the flags of `sqlite3_prepare_v3`. */
type PrepareWithFlags = (sql: string, parameters: undefined, flags: number) => Statement

/**
 * Without the flag a kept statement occupies one of the few small buffers that running statements take
 * (lookaside): an insertion then asks the allocator nine times (sqlite.org/malloc.html §3.1).
 */
function preparePersistent(db: Database, sql: string): Statement {
  const prepare = db.prepare.bind(db) as unknown as PrepareWithFlags
  return prepare(sql, undefined, sqlite.SQLITE_PREPARE_PERSISTENT)
}

/** Statements take 4 to 40 KB each, with their last values; a database may have 500 tables, each with its own. */
const STATEMENTS_PER_GENERATION = 1_000

/**
 * Caches compiled statements (bun:sqlite caches 20). A statement that is not used while 1,000 others
 * are is freed.
 */
function keepStatements(db: Database): Statements {
  let changing = 0
  let young = new Map<string, Statement>()
  let old = new Map<string, Statement>()

  function find(sql: string): Statement {
    const statement = old.get(sql) ?? preparePersistent(db, sql)
    old.delete(sql)
    if (young.size >= STATEMENTS_PER_GENERATION) {
      free(old)
      old = young
      young = new Map()
    }
    young.set(sql, statement)
    return statement
  }

  function free(statements: ReadonlyMap<string, Statement>): void {
    for (const statement of statements.values()) statement.finalize()
  }

  return {
    prepare<Row>(sql: string) {
      if (!sql.startsWith('SELECT')) changing += 1
      return (young.get(sql) ?? find(sql)) as Statement<Row, SQLQueryBindings[]>
    },
    changing: () => changing,
    finalize() {
      free(young)
      free(old)
      young = new Map()
      old = new Map()
    },
  }
}
