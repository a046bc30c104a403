import type {
  ChangePosition,
  Chunk,
  ChunkSize,
  IndexLookup,
  ObjectReader,
  Places,
  StoredObject,
  StoredRow,
  TimedObject,
  Tombstone,
} from '../domain/store/objects'
import { erasing } from './realms'
import { firstPositions, gather, mayWalk, fitsOneRead, locate } from './places'
import { COLUMNS, objectTable, TIMED_COLUMNS } from './tables'
import { changes } from './changes'
import type { TxContext } from './context'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

/** A class: every request makes one of these, and methods of a prototype cost nothing then. */
export class ObjectReads<Context extends TxContext = TxContext> implements ObjectReader {
  constructor(protected readonly context: Context) {}

  find(table: Table, key: string): StoredObject | undefined {
    return find(this.context, table, key)
  }

  findMany(table: Table, keys: readonly string[]): Map<string, StoredObject> {
    return byKey(keys, (key) => find(this.context, table, key))
  }

  findTimed(table: Table, keys: readonly string[]) {
    return byKey(keys, (key) => findTimed(this.context, table, key))
  }

  findTombstone(table: Table, key: string) {
    return findTombstone(this.context, table, key)
  }

  scan(table: Table, after: number, size: ChunkSize, realms?: ReadonlySet<RealmRef>) {
    return scan(this.context, table, after, size, realms)
  }

  scanText(table: Table, after: number, size: ChunkSize, realms?: ReadonlySet<RealmRef>) {
    return scanText(this.context, table, after, size, realms)
  }

  gather(table: Table, after: number, size: ChunkSize, by: Places) {
    return gather(this.context, table, after, size, by)
  }

  locate(table: Table, after: number, by: Places) {
    return locate(this.context, table, after, by)
  }

  mayWalk(lookup: IndexLookup) {
    return mayWalk(this.context, lookup)
  }

  walk(table: Table, after: number, size: ChunkSize, lookup: IndexLookup) {
    return walk(this.context, table, after, size, lookup)
  }

  load(table: Table, positions: Float64Array, size: ChunkSize) {
    return load(this.context, table, positions, size)
  }

  changes(
    realms: ReadonlySet<RealmRef>,
    after: number | ChangePosition,
    upTo: number,
    size: ChunkSize,
    tables?: ReadonlySet<string>,
  ) {
    return changes(this.context, realms, after, upTo, size, tables)
  }

  count(table: Table) {
    return count(this.context, table)
  }

  isRealmUsed(realmId: string) {
    return isRealmUsed(this.context, realmId)
  }
}

function find(context: TxContext, table: Table, key: string): StoredObject | undefined {
  const row = context.connection
    .prepare<StoredObject>(`SELECT ${COLUMNS} FROM ${objectTable(table.number)} WHERE key = ?`)
    .get(key)
  return row === null || erasing(context).has(row.realm) ? undefined : row
}

export function findTimed(context: TxContext, table: Table, key: string): TimedObject | undefined {
  const row = context.connection
    .prepare<TimedObject>(`SELECT ${TIMED_COLUMNS} FROM ${objectTable(table.number)} WHERE key = ?`)
    .get(key)
  return row === null || erasing(context).has(row.realm) ? undefined : row
}

function byKey<T>(keys: readonly string[], find: (key: string) => T | undefined): Map<string, T> {
  const found = new Map<string, T>()
  for (const key of keys) {
    const object = find(key)
    if (object !== undefined) found.set(key, object)
  }
  return found
}

function findTombstone(context: TxContext, table: Table, key: string): Tombstone | undefined {
  const { committed, unit } = context
  if (!committed.hasTombstones && unit?.group.flags.tombstones !== true) return undefined
  const rows = context.connection
    .prepare<Tombstone>(
      'SELECT realm, revision, client, entered FROM tombstones WHERE table_number = ? AND key = ?',
    )
    .all(table.number, key)
  const hidden = erasing(context)
  return rows
    .filter(({ realm }) => !hidden.has(realm))
    .toSorted((one, other) => other.revision - one.revision)[0]
}

function scan(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): Chunk {
  const statement = context.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${objectTable(table.number)} WHERE seq > ? ORDER BY seq`,
  )
  const hidden = erasing(context)
  const rows: StoredRow[] = []
  // Skipped rows cost time too, so a chunk ends after this many visits.
  let visits = size.rows * 4
  let bytes = size.bytes
  for (const row of statement.iterate(after)) {
    if (!hidden.has(row.realm) && realms?.has(row.realm) !== false) {
      rows.push(row)
      bytes -= row.value.length
    }
    visits -= 1
    if (rows.length >= size.rows || bytes <= 0 || visits <= 0) return { rows, next: row.seq }
  }
  return { rows, next: undefined }
}

function scanText(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): { text: string; next: number | undefined } | undefined {
  if (realms !== undefined && realms.size !== 1) return undefined
  if (erasing(context).size > 0 || !fitsOneRead(context, table, size.rows)) return undefined
  const [realm] = realms ?? []
  const chosen = realm === undefined ? '' : 'FILTER (WHERE realm = ?3)'
  // The maximum of visited rows, in all realms: a read stays short.
  const row = context.connection
    .prepare<{ text: string | null; rows: number; last: number }>(
      `SELECT group_concat(value, ',') ${chosen} AS text, count(*) AS rows, max(seq) AS last FROM (SELECT seq, value${realm === undefined ? '' : ', realm'} FROM ${objectTable(table.number)} WHERE seq > ?1 ORDER BY seq LIMIT ?2)`,
    )
    .get(after, size.rows, ...(realm === undefined ? [] : [realm]))
  if (row === null) return undefined
  const isEnd = row.rows < size.rows || isLast(context, table, row.last)
  return { text: row.text ?? '', next: isEnd ? undefined : row.last }
}

/** A list that ends with its chunk is sent in one piece. */
function isLast(context: TxContext, table: Table, seq: number): boolean {
  const name = objectTable(table.number)
  return context.connection.prepare(`SELECT 1 FROM ${name} WHERE seq > ? LIMIT 1`).get(seq) === null
}

function walk(
  context: TxContext,
  table: Table,
  after: number,
  size: ChunkSize,
  lookup: IndexLookup,
): Chunk | undefined {
  if (!mayWalk(context, lookup)) return undefined
  const positions = firstPositions(context, lookup, after, size.rows + 1)
  const isEnd = positions.length <= size.rows
  const loaded = isEnd ? positions : positions.subarray(0, size.rows)
  const chunk = load(context, table, loaded, size)
  return isEnd || chunk.next !== undefined ? chunk : { ...chunk, next: loaded.at(-1) }
}

function load(context: TxContext, table: Table, positions: Float64Array, size: ChunkSize): Chunk {
  const statement = context.connection.prepare<StoredRow>(
    `SELECT seq, realm, value FROM ${objectTable(table.number)} WHERE seq = ?`,
  )
  const hidden = erasing(context)
  const rows: StoredRow[] = []
  let bytes = size.bytes
  // Positions without a row cost time too.
  let visits = size.rows * 4
  const last = positions.at(-1)
  for (const position of positions) {
    const row = statement.get(position)
    visits -= 1
    if (row !== null && !hidden.has(row.realm)) {
      rows.push(row)
      bytes -= row.value.length
    }
    if (position !== last && (rows.length >= size.rows || bytes <= 0 || visits <= 0)) {
      return { rows, next: position }
    }
  }
  return { rows, next: undefined }
}

function count(context: TxContext, table: Table): number {
  const name = objectTable(table.number)
  const total = (sql: string, ...parameters: number[]) =>
    context.connection.prepare<{ total: number }>(sql).get(...parameters)?.total ?? 0
  let visible = total(`SELECT count(*) AS total FROM ${name}`)
  for (const realm of erasing(context)) {
    visible -= total(`SELECT count(*) AS total FROM ${name} WHERE realm = ?`, realm)
  }
  return visible
}

function isRealmUsed(context: TxContext, realmId: string): boolean {
  const { connection } = context
  const incarnations = connection
    .prepare<{ number: number }>("SELECT number FROM realm_ids WHERE id = ? AND state <> 'erased'")
    .all(realmId)
  const tables = connection.prepare<{ number: number }>('SELECT number FROM tables').all()
  return incarnations.some(({ number: realm }) => {
    const has = (sql: string) => connection.prepare(sql).get(realm) !== null
    return (
      has('SELECT 1 FROM tombstones WHERE realm = ? LIMIT 1') ||
      tables.some(({ number }) =>
        has(`SELECT 1 FROM ${objectTable(number)} WHERE realm = ? LIMIT 1`),
      )
    )
  })
}
