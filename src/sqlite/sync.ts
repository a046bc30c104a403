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
import type { Summed } from './soundness'
import { damagedRow, isSound, noteSum, sumOf, withoutSum } from './summed'
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
  noteSum(connection, 'database', 1)
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
  'SELECT number, identity, subject, tables, floor, rejected, seen, sum FROM sync_clients WHERE subject = ? AND identity = ?'

const CLIENT_BY_NUMBER =
  'SELECT number, identity, subject, tables, floor, rejected, seen, sum FROM sync_clients WHERE number = ?'

export function syncClientReader(context: TxContext): SyncClientReader {
  return { find: (subject, identity) => findClient(context, subject, identity) }
}

/** A damaged client is unknown: it syncs as a new one. */
function findClient(context: TxContext, subject: string, identity: string): SyncClient | undefined {
  const row = context.connection.prepare<Summed<ClientRow>>(SELECT_CLIENT).get(subject, identity)
  note(context, 'sync client')
  if (row === null || !isSound('sync_clients', row)) return undefined
  note(context, 'sync client', row.number)
  return toClient(withoutSum(row))
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
          "INSERT OR REPLACE INTO sync_clients (identity, subject, tables, floor, rejected, seen) VALUES (?, ?, '[]', 0, 0, ?) RETURNING number, identity, subject, tables, floor, rejected, seen",
        )
        .get(identity, subject, now)
      if (row === null) throw new Error('the client was not stored')
      noteSum(context.connection, 'sync_clients', row.number)
      touchClient(context)
      return toClient(row)
    },
    put(client) {
      const { number, floor, rejected, seen } = client
      const tables = JSON.stringify(client.tables)
      context.connection
        .prepare(
          'UPDATE sync_clients SET tables = ?, floor = ?, rejected = ?, seen = ?, sum = ? WHERE number = ?',
        )
        .run(tables, floor, rejected, seen, sumOf('sync_clients', { ...client, tables }), number)
      touchClient(context, number)
    },
    noteRejection(client) {
      const { connection, unit } = context
      const row = connection.prepare<Summed<ClientRow>>(CLIENT_BY_NUMBER).get(client)
      const rejected = unit.revision()
      // A damaged row stays as it is: its sum is not to be right again.
      if (row !== null && isSound('sync_clients', row)) {
        connection
          .prepare('UPDATE sync_clients SET rejected = ?, sum = ? WHERE number = ?')
          .run(rejected, sumOf('sync_clients', { ...row, rejected }), client)
      }
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
  readonly subject: string
  readonly txid: string
  readonly rejection: string | null
}

export function appliedReader({ connection }: TxContext): AppliedReader {
  return {
    find(subject, txid) {
      const found = connection
        .prepare<Summed<AppliedRecord>>(
          'SELECT subject, txid, client, revision, at, rejection, steps, sum FROM applied WHERE subject = ? AND txid = ?',
        )
        .get(subject, txid)
      if (found === null) return undefined
      // It came before: it is not executed again, and its rows are sent as they are.
      if (!isSound('applied', found)) {
        return { client: 0, revision: 0, at: 0, rejection: null, steps: null }
      }
      const { client, revision, at, rejection, steps } = found
      const parsed = rejection === null ? null : (JSON.parse(rejection) as AppliedRejection)
      return { client, revision, at, rejection: parsed, steps }
    },
    keysOf(subject, txid, step) {
      const found = connection
        .prepare<Summed<{ readonly keys: string }>>(
          'SELECT subject, txid, step, keys, sum FROM step_keys WHERE subject = ? AND txid = ? AND step = ?',
        )
        .get(subject, txid, step)
      if (found === null) return undefined
      if (!isSound('step_keys', found)) throw damagedRow('step_keys')
      return JSON.parse(found.keys) as string[]
    },
  }
}

export function appliedWriter(context: WriteContext): AppliedWriter {
  function put(record: Omit<AppliedRecord, 'revision'>): void {
    const { connection, unit } = context
    const row = { ...record, revision: unit.takenRevision() }
    const { subject, txid, client, revision, at, rejection, steps } = row
    connection
      .prepare(
        'INSERT OR REPLACE INTO applied (subject, txid, client, revision, at, rejection, steps, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
      )
      .run(subject, txid, client, revision, at, rejection, steps, sumOf('applied', row))
  }

  return {
    ...appliedReader(context),
    put(subject, txid, client, at, rejection) {
      const refusal = rejection === undefined ? null : JSON.stringify(rejection)
      put({ subject, txid, client, at, rejection: refusal, steps: null })
    },
    putSteps(subject, txid, client, at, steps) {
      put({ subject, txid, client, at, rejection: null, steps })
    },
    putKeys(subject, txid, step, list) {
      const keys = JSON.stringify(list)
      context.connection
        .prepare('INSERT INTO step_keys (subject, txid, step, keys, sum) VALUES (?, ?, ?, ?, ?)')
        .run(subject, txid, step, keys, sumOf('step_keys', { subject, txid, step, keys }))
    },
    removeKeys(subject, txid) {
      context.connection
        .prepare('DELETE FROM step_keys WHERE subject = ? AND txid = ?')
        .run(subject, txid)
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
          .prepare<OperationRow>(
            'SELECT realm, table_number, revision, position, client, subject, email, kind, criteria, change, ts, at, sum FROM criteria_ops WHERE realm = ? AND table_number = ? AND revision > ? ORDER BY revision, position',
          )
          .all(place, table, revision)
          .map(soundOperation),
      )
      return rows.toSorted(
        (one, other) => one.revision - other.revision || one.position - other.position,
      )
    },
  }
}

type OperationRow = Summed<CriteriaOperation> & {
  readonly realm: RealmRef
  readonly table_number: number
  readonly at: number
}

/** Throws `DAMAGED`: without it rows that arrive would be as nobody wrote them. */
function soundOperation(row: OperationRow): CriteriaOperation {
  if (!isSound('criteria_ops', row)) throw damagedRow('criteria_ops')
  const { revision, position, client, subject, email, kind, criteria, change, ts } = row
  return { revision, position, client, subject, email, kind, criteria, change, ts }
}

export function criteriaOperationWriter(context: WriteContext): CriteriaOperationWriter {
  return {
    ...criteriaOperationReader(context),
    put(table, realms, operation, at) {
      const { connection, unit } = context
      const { client, subject, email, kind, criteria, change, ts } = operation
      const columns = { client, subject, email, kind, criteria, change, ts, at }
      const insert = connection.prepare(
        'INSERT INTO criteria_ops (realm, table_number, revision, position, client, subject, email, kind, criteria, change, ts, at, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
      )
      const revision = unit.revision()
      unit.operations += 1
      unit.group.newestOperation = revision
      const position = unit.operations
      const insertFor = (realm: RealmRef) =>
        insert.run(
          realm,
          table,
          revision,
          position,
          client,
          subject,
          email,
          kind,
          criteria,
          change,
          ts,
          at,
          sumOf('criteria_ops', { realm, table_number: table, revision, position, ...columns }),
        )
      for (const realm of realms ?? [EVERY_REALM]) insertFor(realm)
    },
  }
}
