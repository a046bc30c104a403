import type { Database } from 'bun:sqlite'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { SatchelError } from '../domain/value/error'
import { AUDIT_KEPT_MS, type NumberedLine, type ServerAudit } from '../domain/store/audit'
import { randomToken } from '../domain/value/id'
import {
  auditValues,
  CREATE_AUDIT,
  LIST_AUDIT,
  LIST_NEWEST_AUDIT,
  PUT_AUDIT,
  RENAME_AUDIT,
} from './audit'
import { type Durability, setDurability } from './durability'
import { openFailure } from './failure'
import { keepPrivate, openDatabaseFile } from './private-file'

/**
 * Opens `<folder>/server.sqlite` (design.md §2) with the folder of each database by its id, so that two folders
 * never serve one database; `fileOf` is the database file in a folder. The caller holds the lock of the data folder.
 * Throws like `openDatabase`.
 */
export function openRegistry(
  folder: string,
  durability: Durability,
  fileOf: (name: string) => string,
) {
  const file = join(folder, 'server.sqlite')
  const db = openFile(file, durability)
  const namesById = new Map(listFolders(db))

  return {
    /** The id of the database that was last served from this folder. */
    idIn: (name: string) => namesById.entries().find(([, known]) => known === name)?.[0],
    /**
     * Records that the database `id` is in the folder `name`: a new one, the same as before, or one
     * whose folder was renamed. Throws `COPIED_DATABASE` while its recorded folder still has it.
     */
    claim(id: string, name: string): void {
      const known = namesById.get(id)
      if (known === name) return
      if (known !== undefined && mayHold(fileOf(known), id)) throw copied(name, known)
      change(() => {
        db.run('DELETE FROM folders WHERE name = ?', [name])
        db.run('INSERT OR REPLACE INTO folders (id, name) VALUES (?, ?)', [id, name])
      })
      drop(name)
      namesById.set(id, name)
    },
    /** Called when the folder `name` was removed. */
    forget(name: string): void {
      change(() => db.run('DELETE FROM folders WHERE name = ?', [name]))
      drop(name)
    },
    /** The lines about operations of the server. */
    audit: {
      list({ at, seq }, limit) {
        using lines = db.prepare<NumberedLine, number[]>(LIST_AUDIT)
        return lines.all(at, seq, limit)
      },
      listNewest({ at, seq }, since, limit) {
        using lines = db.prepare<NumberedLine, number[]>(LIST_NEWEST_AUDIT)
        return lines.all(at, seq, since, limit)
      },
      put: (line) =>
        change(() => {
          db.run('DELETE FROM audit WHERE at < ?', [line.at - AUDIT_KEPT_MS])
          db.run(PUT_AUDIT, auditValues(line))
        }),
      rename: (user, id) => change(() => db.run(RENAME_AUDIT, [id, user])),
    } satisfies ServerAudit,
    /** The bytes of the file, which is small. */
    image: () => db.serialize(),
    /** Writes the file anew, without what was removed from it. Throws like `openDatabase`. */
    compact(): void {
      try {
        db.run('VACUUM')
      } catch (error) {
        throw openFailure(error, file)
      }
    },
    [Symbol.dispose]: () => db.close(),
  }

  function change(work: () => void): void {
    try {
      db.transaction(work)()
    } catch (error) {
      throw openFailure(error, file)
    }
  }

  function drop(name: string): void {
    for (const [id, its] of namesById) if (its === name) namesById.delete(id)
  }
}

function openFile(file: string, durability: Durability): Database {
  let db: Database | undefined
  try {
    keepPrivate(file)
    db = openDatabaseFile(file, 'create')
    setDurability(db, durability)
    db.run('PRAGMA secure_delete = ON')
    db.run('CREATE TABLE IF NOT EXISTS folders (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT')
    db.run(CREATE_AUDIT)
    db.run('CREATE INDEX IF NOT EXISTS audit_by_time ON audit (at)')
    return db
  } catch (error) {
    db?.close()
    throw openFailure(error, file)
  }
}

function listFolders(db: Database): [string, string][] {
  using folders = db.prepare<{ id: string; name: string }, []>('SELECT id, name FROM folders')
  return folders.all().map(({ id, name }) => [id, name])
}

/**
 * When the latest operation with one of these names that was done began, of those that `<folder>/server.sqlite` has lines about,
 * in ms. Nothing is locked. Null when there is none, and when the file cannot be read.
 */
export function lastDoneIn(folder: string, operations: readonly string[]): number | null {
  const file = join(folder, 'server.sqlite')
  if (!existsSync(file)) return null
  try {
    using db = openDatabaseFile(file, 'read')
    using line = db.prepare<{ at: number }, string[]>(
      "SELECT at FROM audit WHERE operation IN (SELECT value FROM json_each(?)) AND result = 'done' ORDER BY at DESC LIMIT 1",
    )
    return line.get(JSON.stringify(operations))?.at ?? null
  } catch {
    return null
  }
}

/** True unless the file is gone or belongs to another database: a damaged one may be repaired. */
function mayHold(file: string, id: string): boolean {
  if (!existsSync(file)) return false
  try {
    using db = openDatabaseFile(file, 'write')
    using row = db.prepare<{ id: string }, []>('SELECT id FROM database')
    return (row.get()?.id ?? id) === id
  } catch {
    return true
  }
}

function copied(name: string, original: string): SatchelError {
  return new SatchelError(
    'COPIED_DATABASE',
    `The database ${name} is a copy of the database ${original}, so tokens of one would open the other: make it a database of its own with satchel db adopt ${name}, or remove one of the two folders`,
  )
}

/**
 * Gives the database in this file, which is not open, a new identity: no token, login or code of the
 * original is valid for it, and no queued mail is sent twice. Clients keep their secrets.
 */
export function renewIdentity(file: string): void {
  try {
    using db = openDatabaseFile(file, 'write')
    setDurability(db, 'full')
    db.transaction(() => {
      db.run('UPDATE database SET id = ?, epoch = ?', [randomToken(16), randomToken(6)])
      for (const table of TIED_TO_IDENTITY) db.run(`DELETE FROM ${table}`)
    })()
  } catch (error) {
    throw openFailure(error, file)
  }
}

const TIED_TO_IDENTITY = [
  'keys',
  'refresh_tokens',
  'refresh_uses',
  'codes',
  'mails',
  'spent_states',
  'revoked_logins',
  'sync_clients',
  'applied',
  'step_keys',
  'criteria_ops',
]
