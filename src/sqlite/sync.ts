import type { RealmRef } from '../domain/store/realms'
import type {
  AppliedReader,
  AppliedRejection,
  AppliedTransaction,
  AppliedWriter,
  CriteriaOperation,
  CriteriaOperationReader,
  CriteriaOperationWriter,
  RunReader,
  RunWriter,
  SyncClient,
  SyncClientReader,
  SyncClientWriter,
} from '../domain/store/sync'
import type { TxContext, WriteContext } from './context'
import { fact, note } from './memo'

export function runReader({ committed, unit }: TxContext): RunReader {
  return {
    list: () => unit?.group.runs ?? committed.runs,
    oldest: () => unit?.group.oldest ?? committed.oldest,
  }
}

export function runWriter(context: WriteContext): RunWriter {
  return { ...runReader(context), prune: (before, limit) => pruneHistory(context, before, limit) }
}

function pruneHistory(context: WriteContext, before: number, limit: number): number {
  const { connection, unit } = context
  const { group } = unit
  const tombstones = connection
    .prepare<{ revision: number }>(
      'DELETE FROM tombstones WHERE (table_number, key, realm) IN (SELECT table_number, key, realm FROM tombstones WHERE at < ? LIMIT ?) RETURNING revision',
    )
    .all(before, limit)
  const operations = connection
    .prepare<{ revision: number }>(
      'DELETE FROM criteria_ops WHERE (realm, table_number, revision, position) IN (SELECT realm, table_number, revision, position FROM criteria_ops WHERE at < ? LIMIT ?) RETURNING revision',
    )
    .all(before, limit)
  const dropped = [...tombstones, ...operations]
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

interface ClientRow extends Omit<SyncClient, 'tables'> {
  readonly tables: string
}

const SELECT_CLIENT =
  'SELECT number, identity, subject, tables, floor, rejected, seen FROM sync_clients WHERE subject = ? AND identity = ?'

export function syncClientReader(context: TxContext): SyncClientReader {
  return { find: (subject, identity) => findClient(context, subject, identity) }
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
          "INSERT INTO sync_clients (identity, subject, tables, floor, rejected, seen) VALUES (?, ?, '[]', 0, 0, ?) RETURNING number, identity, subject, tables, floor, rejected, seen",
        )
        .get(identity, subject, now)
      if (row === null) throw new Error('the client was not stored')
      touchClient(context)
      return toClient(row)
    },
    put({ number, tables, floor, rejected, seen }) {
      context.connection
        .prepare(
          'UPDATE sync_clients SET tables = ?, floor = ?, rejected = ?, seen = ? WHERE number = ?',
        )
        .run(JSON.stringify(tables), floor, rejected, seen, number)
      touchClient(context, number)
    },
    raiseFloor(client, floor) {
      context.connection
        .prepare('UPDATE sync_clients SET floor = ?1 WHERE number = ?2 AND floor < ?1')
        .run(floor, client)
      touchClient(context, client)
    },
    noteRejection(client) {
      const { connection, unit } = context
      connection
        .prepare('UPDATE sync_clients SET rejected = ? WHERE number = ?')
        .run(unit.revision(), client)
      touchClient(context, client)
    },
    removeOfSubject(subject) {
      const { connection } = context
      connection.prepare('DELETE FROM sync_clients WHERE subject = ?').run(subject)
      touchClient(context)
      connection.prepare('DELETE FROM applied WHERE subject = ?').run(subject)
      connection.prepare('DELETE FROM criteria_ops WHERE subject = ?').run(subject)
    },
    prune(before, limit) {
      const { connection } = context
      const removed = connection
        .prepare<{ number: number }>(
          'DELETE FROM sync_clients WHERE number IN (SELECT number FROM sync_clients WHERE seen < ? LIMIT ?) RETURNING number',
        )
        .all(before, limit)
      if (removed.length > 0) touchClient(context)
      for (const { number } of removed) {
        connection.prepare('DELETE FROM applied WHERE client = ?').run(number)
      }
      return removed.length
    },
  }
}

interface AppliedRecord extends Omit<AppliedTransaction, 'rejection'> {
  readonly rejection: string | null
}

export function appliedReader({ connection }: TxContext): AppliedReader {
  return {
    find(subject, txid) {
      const found = connection
        .prepare<AppliedRecord>(
          'SELECT client, revision, at, rejection FROM applied WHERE subject = ? AND txid = ?',
        )
        .get(subject, txid)
      if (found === null) return undefined
      const { rejection } = found
      return {
        ...found,
        rejection: rejection === null ? null : (JSON.parse(rejection) as AppliedRejection),
      }
    },
  }
}

export function appliedWriter(context: WriteContext): AppliedWriter {
  return {
    ...appliedReader(context),
    put(subject, txid, client, at, rejection) {
      const { connection, unit } = context
      connection
        .prepare(
          'INSERT OR REPLACE INTO applied (subject, txid, client, revision, at, rejection) VALUES (?, ?, ?, ?, ?, ?)',
        )
        .run(
          subject,
          txid,
          client,
          unit.takenRevision(),
          at,
          rejection === undefined ? null : JSON.stringify(rejection),
        )
    },
    prune(client, before, kept) {
      context.connection
        .prepare(
          'DELETE FROM applied WHERE client = ? AND at < ? AND txid NOT IN (SELECT value FROM json_each(?))',
        )
        .run(client, before, JSON.stringify([...kept]))
    },
  }
}

/** Drops operations on a realm that is being erased; how many it dropped. */
export function eraseOperations(
  { connection }: WriteContext,
  realm: RealmRef,
  limit: number,
): number {
  return connection
    .prepare(
      'DELETE FROM criteria_ops WHERE (realm, table_number, revision, position) IN (SELECT realm, table_number, revision, position FROM criteria_ops WHERE realm = ? LIMIT ?)',
    )
    .run(realm, limit).changes
}

/** In place of the realms of an operation that is kept for all of them. */
const EVERY_REALM = 0

export function criteriaOperationReader({
  connection,
  committed,
  unit,
}: TxContext): CriteriaOperationReader {
  return {
    since(table, realm, revision) {
      const newest = unit?.group.newestOperation ?? committed.newestOperation
      if (newest <= revision) return []
      const rows = [realm, EVERY_REALM].flatMap((place) =>
        connection
          .prepare<CriteriaOperation>(
            'SELECT revision, position, client, subject, email, kind, criteria, change, ts FROM criteria_ops WHERE realm = ? AND table_number = ? AND revision > ? ORDER BY revision, position',
          )
          .all(place, table, revision),
      )
      return rows.toSorted(
        (one, other) => one.revision - other.revision || one.position - other.position,
      )
    },
  }
}

export function criteriaOperationWriter(context: WriteContext): CriteriaOperationWriter {
  return {
    ...criteriaOperationReader(context),
    put(table, realms, operation, at) {
      const { connection, unit } = context
      const { client, subject, email, kind, criteria, change, ts } = operation
      const insert = connection.prepare(
        'INSERT INTO criteria_ops (realm, table_number, revision, position, client, subject, email, kind, criteria, change, ts, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      )
      const revision = unit.revision()
      unit.operations += 1
      unit.group.newestOperation = revision
      const insertFor = (realm: RealmRef) =>
        insert.run(
          realm,
          table,
          revision,
          unit.operations,
          client,
          subject,
          email,
          kind,
          criteria,
          change,
          ts,
          at,
        )
      for (const realm of realms ?? [EVERY_REALM]) insertFor(realm)
    },
  }
}
