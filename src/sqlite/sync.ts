import type {
  RunReader,
  SyncClient,
  SyncClientReader,
  SyncClientWriter,
} from '../domain/store/sync'
import { FIXED_LIMITS } from '../domain/value/fixed-limits'
import { removeApplied } from './applied'
import type { TxContext, WriteContext } from './context'
import { removeOperations } from './criteria-operations'
import { fact, note } from './memo'
import type { syncClients } from './schema'

export class RunReads implements RunReader {
  constructor(private readonly context: TxContext) {}

  list() {
    const { committed, unit } = this.context
    return unit?.group.runs ?? committed.runs
  }

  oldest() {
    const { committed, unit } = this.context
    return unit?.group.oldest ?? committed.oldest
  }
}

export function pruneHistory(context: WriteContext, before: number, limit: number): number {
  const { connection, unit } = context
  const { group } = unit
  const tombstones = connection
    .prepare<{ revision: number }>(
      'DELETE FROM tombstones WHERE (table_number, key, realm) IN (SELECT table_number, key, realm FROM tombstones WHERE at < ? LIMIT ?) RETURNING revision',
    )
    .all(before, limit)
  const operations = connection
    .prepare<{ revision: number }>(
      'DELETE FROM criteria_ops WHERE (subject, table_number, revision, position) IN (SELECT subject, table_number, revision, position FROM criteria_ops WHERE at < ? LIMIT ?) RETURNING revision',
    )
    .all(before, limit)
  const former = connection
    .prepare<{ revision: number }>(
      'DELETE FROM former_memberships WHERE (subject, key) IN (SELECT subject, key FROM former_memberships WHERE at < ? LIMIT ?) RETURNING revision',
    )
    .all(before, limit)
  const dropped = [...tombstones, ...operations, ...former]
  if (dropped.length === 0) return 0
  const known = group.oldest ?? context.committed.oldest
  const oldest = dropped.reduce((latest, { revision }) => Math.max(latest, revision), known)
  group.oldest = oldest
  connection.prepare('UPDATE database SET oldest_revision = ?').run(oldest)
  const runs = group.runs ?? context.committed.runs
  const kept = runs.filter((_, position) => (runs[position + 1]?.first ?? Infinity) >= oldest)
  for (const { id } of runs.slice(0, runs.length - kept.length)) {
    connection.prepare('DELETE FROM runs WHERE run = ?').run(id)
  }
  group.runs = kept
  return dropped.length
}

type ClientRow = typeof syncClients.$inferSelect

const SELECT_CLIENTS =
  'SELECT number, identity, subject, tables, texts, floor, rejected, privates, seen FROM sync_clients'
const SELECT_CLIENT = `${SELECT_CLIENTS} WHERE subject = ? AND identity = ?`

const { userClients } = FIXED_LIMITS

export function syncClientReader(context: TxContext): SyncClientReader {
  return {
    find: (subject, identity) => findClient(context, subject, identity),
    list: (after, limit, subject) => listClients(context, after, limit, subject),
  }
}

function listClients(
  context: TxContext,
  after: number,
  limit: number,
  subject?: string,
): SyncClient[] {
  const { connection } = context
  note(context, 'sync client')
  const rows =
    subject === undefined
      ? connection
          .prepare<ClientRow>(`${SELECT_CLIENTS} WHERE number > ? ORDER BY number LIMIT ?`)
          .all(after, limit)
      : connection
          .prepare<ClientRow>(
            `${SELECT_CLIENTS} INDEXED BY sync_clients_by_identity WHERE subject = ? AND number > ? ORDER BY number LIMIT ?`,
          )
          .all(subject, after, limit)
  for (const { number } of rows) note(context, 'sync client', number)
  return rows.map(toClient)
}

function findClient(context: TxContext, subject: string, identity: string): SyncClient | undefined {
  const row = context.connection.prepare<ClientRow>(SELECT_CLIENT).get(subject, identity)
  note(context, 'sync client')
  if (row === null) return undefined
  note(context, 'sync client', row.number)
  return toClient(row)
}

/** Without a number: clients were added or removed. */
function touchClient({ unit }: WriteContext, client?: number): void {
  unit.touchRemembered([fact('sync client', client)])
}

/** Notes the revision of the unit, which it takes for that. */
function noteRevision(
  context: WriteContext,
  client: number,
  column: 'rejected' | 'privates',
): void {
  const { connection, unit } = context
  connection
    .prepare(`UPDATE sync_clients SET ${column} = ? WHERE number = ?`)
    .run(unit.revision(), client)
  touchClient(context, client)
}

/** Removes the clients of a user beyond the limit that were seen longest ago, but not this one. */
function forgetOldest(context: WriteContext, subject: string, number: number): void {
  const { connection } = context
  const all = connection
    .prepare<{ number: number; seen: number }>(
      'SELECT number, seen FROM sync_clients WHERE subject = ?',
    )
    .all(subject)
  if (all.length <= userClients.most) return
  const oldest = all
    .filter((client) => client.number !== number)
    .toSorted((one, other) => one.seen - other.seen || one.number - other.number)
  const forgotten = oldest.slice(0, all.length - userClients.most)
  for (const client of forgotten) {
    connection.prepare('DELETE FROM sync_clients WHERE number = ?').run(client.number)
  }
  removeApplied(context, forgotten)
}

function toClient(row: ClientRow): SyncClient {
  return { ...row, tables: JSON.parse(row.tables) as string[] }
}

export function syncClientWriter(context: WriteContext): SyncClientWriter {
  return {
    ...syncClientReader(context),
    ensure(subject, identity, now) {
      const found = findClient(context, subject, identity)
      if (found !== undefined) return found
      const row = context.connection
        .prepare<ClientRow>(
          "INSERT INTO sync_clients (identity, subject, tables, texts, floor, rejected, privates, seen) VALUES (?, ?, '[]', '', 0, 0, 0, ?) RETURNING number, identity, subject, tables, texts, floor, rejected, privates, seen",
        )
        .get(identity, subject, now)
      if (row === null) throw new Error('the client was not stored')
      forgetOldest(context, subject, row.number)
      touchClient(context)
      return toClient(row)
    },
    put(client) {
      const { number, texts, floor, rejected, privates, seen } = client
      const tables = JSON.stringify(client.tables)
      context.connection
        .prepare(
          'UPDATE sync_clients SET tables = ?, texts = ?, floor = ?, rejected = ?, privates = ?, seen = ? WHERE number = ?',
        )
        .run(tables, texts, floor, rejected, privates, seen, number)
      touchClient(context, number)
    },
    noteCorrection: (client) => noteRevision(context, client, 'rejected'),
    notePrivates: (client) => noteRevision(context, client, 'privates'),
    removeOfSubject(subject) {
      const removed = context.connection
        .prepare<{ number: number }>('DELETE FROM sync_clients WHERE subject = ? RETURNING number')
        .all(subject)
      if (removed.length > 0) {
        touchClient(context)
        removeApplied(context, removed)
      }
      removeOperations(context, subject)
    },
  }
}

export function pruneClients(context: WriteContext, before: number, limit: number): number {
  const removed = context.connection
    .prepare<{ number: number }>(
      'DELETE FROM sync_clients WHERE number IN (SELECT number FROM sync_clients WHERE seen < ? LIMIT ?) RETURNING number',
    )
    .all(before, limit)
  if (removed.length > 0) {
    touchClient(context)
    removeApplied(context, removed)
  }
  return removed.length
}
