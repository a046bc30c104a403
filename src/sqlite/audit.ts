import type { SQLQueryBindings } from 'bun:sqlite'
import type { AuditLine, AuditReader, AuditWriter, NumberedLine } from '../domain/store/audit'
import type { TxContext, WriteContext } from './context'

/** The table of a database is that of a migration; `server.sqlite` makes its own. */
export const CREATE_AUDIT = `CREATE TABLE IF NOT EXISTS audit (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  at INTEGER NOT NULL,
  operation TEXT NOT NULL,
  result TEXT NOT NULL,
  door TEXT NOT NULL,
  uid INTEGER,
  client TEXT,
  user TEXT,
  address TEXT,
  session TEXT
) STRICT`

const SELECT_LINES =
  'SELECT seq, id, at, operation, result, door, uid, client, user, address, session FROM audit'

/** Parameters: the time and the number of the place, the most lines. */
export const LIST_AUDIT = `${SELECT_LINES} WHERE (at, seq) > (?, ?) ORDER BY at, seq LIMIT ?`

/** Parameters: the time and the number of the place, the first time, the most lines. */
export const LIST_NEWEST_AUDIT = `${SELECT_LINES} WHERE (at, seq) < (?, ?) AND at >= ? ORDER BY at DESC, seq DESC LIMIT ?`

/** Parameters: `auditValues`. */
export const PUT_AUDIT =
  'INSERT INTO audit (id, at, operation, result, door, uid, client, user, address, session) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET result = excluded.result'

/** Parameters: the id in the place of the user, the user. */
export const RENAME_AUDIT = 'UPDATE audit SET user = ?, address = NULL WHERE user = ?'

export function auditValues(line: AuditLine): SQLQueryBindings[] {
  const { id, at, operation, result, door, uid, client, user, address, session } = line
  return [id, at, operation, result, door, uid, client, user, address, session]
}

export function auditReader({ connection }: TxContext): AuditReader {
  return {
    list: ({ at, seq }, limit) => connection.prepare<NumberedLine>(LIST_AUDIT).all(at, seq, limit),
    listNewest: ({ at, seq }, since, limit) =>
      connection.prepare<NumberedLine>(LIST_NEWEST_AUDIT).all(at, seq, since, limit),
  }
}

export function auditWriter(context: WriteContext): AuditWriter {
  const { connection } = context
  return {
    ...auditReader(context),
    put(line) {
      connection.prepare(PUT_AUDIT).run(...auditValues(line))
    },
    rename(user, id) {
      connection.prepare(RENAME_AUDIT).run(id, user)
    },
  }
}
