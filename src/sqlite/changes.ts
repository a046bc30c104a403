import type {
  Change,
  ChangeChunk,
  ChangePosition,
  ChunkSize,
  TimedObject,
} from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { TxContext } from './context'
import { erasing } from './realms'
import { checkedTimed, type Summed } from './soundness'
import { knownTables, objectTable, TIMED_COLUMNS } from './tables'

/**
 * What changes are sorted by: the revision, then tombstones before objects, so that an object
 * that moved from one realm to another arrives after it left; then by realm and table.
 */
export interface SortKey {
  readonly revision: number
  readonly isObject: 0 | 1
  readonly realm: RealmRef
  readonly table: number
  /** The `seq` of an object, the key of a tombstone. */
  readonly row: number | string
}

/** `ObjectReader.changes`: sort keys first, from the indexes alone, then the objects of one chunk. */
export function changes(
  context: TxContext,
  realms: ReadonlySet<RealmRef>,
  after: number | ChangePosition,
  upTo: number,
  size: ChunkSize,
  only: ReadonlySet<string> | undefined,
): ChangeChunk {
  const start = sortKeyOf(after)
  const first = typeof after === 'number' ? after + 1 : start.revision
  const moved = movedRealms(context, realms, first)
  const wanted = { realms: moved, only, first, start, upTo, most: size.rows }
  const sortKeys = moved.length === 0 ? [] : findSortKeys(context, wanted)
  const tables = new Map(
    [...knownTables(context).values()].map(({ number, name }) => [number, name]),
  )
  const found: Change[] = []
  let bytes = size.bytes
  for (const sortKey of sortKeys.slice(0, size.rows)) {
    if (bytes <= 0) break
    const table = tables.get(sortKey.table) ?? ''
    const object = sortKey.isObject === 1 ? load(context, sortKey, table) : null
    const key = object?.key ?? String(sortKey.row)
    const { realm, revision } = sortKey
    found.push({ table, key, realm, revision, object })
    bytes -= key.length + sizeOf(object)
  }
  const last = sortKeys[found.length - 1]
  return {
    changes: found,
    next: found.length < sortKeys.length && last !== undefined ? positionOf(last) : undefined,
  }
}

function sizeOf(object: TimedObject | null): number {
  return object === null || object.isDamaged === true ? 0 : object.value.length
}

/** The living realms among these that changed in this revision or later. */
function movedRealms(
  context: TxContext,
  realms: ReadonlySet<RealmRef>,
  revision: number,
): RealmRef[] {
  const { connection, committed, unit } = context
  const moved = new Set(committed.heads.moved(connection, realms, revision))
  for (const changed of unit?.group.units ?? []) {
    for (const realm of changed.realms) if (realms.has(realm)) moved.add(realm)
  }
  const hidden = erasing(context)
  return [...moved].filter((realm) => !hidden.has(realm))
}

/** Tells the tables, by name, that may have changed in this revision or later. */
function movedSince({ committed, unit }: TxContext, revision: number): (table: string) => boolean {
  const own = new Set(unit?.group.units.flatMap(({ tables }) => tables))
  return (table) => committed.heads.mayHaveMoved(table, revision) || own.has(table)
}

function mayHaveTombstones({ committed, unit }: TxContext, revision: number): boolean {
  return committed.heads.mayHaveTombstones(revision) || unit?.group.flags.tombstones === true
}

interface Wanted {
  readonly realms: readonly RealmRef[]
  /** The names of the tables; undefined for all of them. */
  readonly only: ReadonlySet<string> | undefined
  /** The first revision that counts, and the sort key after which rows count. */
  readonly first: number
  readonly start: SortKey
  readonly upTo: number
  readonly most: number
}

/** The next sort keys in order: one more than `most` when there are more. */
function findSortKeys(context: TxContext, wanted: Wanted): SortKey[] {
  const { realms, only, first, start, upTo, most } = wanted
  const hasMoved = movedSince(context, first)
  const tables = [...knownTables(context).values()]
    .filter(({ name }) => only?.has(name) !== false && hasMoved(name))
    .map(({ number }) => number)
  if (tables.length === 0) return []
  const hasTombstones = mayHaveTombstones(context, first)
  const chosen = only && tables
  let sortKeys: SortKey[] = []
  let end = upTo
  const add = (found: readonly SortKey[]) => {
    sortKeys.push(...found)
    if (sortKeys.length <= 2 * (most + 1)) return
    sortKeys = sortKeys.toSorted(compare).slice(0, most + 1)
    // Later streams are read no further than this.
    end = sortKeys.at(-1)?.revision ?? end
  }
  if (hasTombstones) {
    for (const realm of realms) add(tombstonesOf(context, realm, chosen, start, end, most + 1))
  }
  for (const table of tables) {
    for (const realm of realmsSince(context, table, realms, start.revision)) {
      add(objectsOf(context, realm, table, start, end, most + 1))
    }
  }
  return sortKeys.toSorted(compare).slice(0, most + 1)
}

/** The realms in which a row of the table changed last in this revision or later. */
function realmsSince(
  { connection }: TxContext,
  table: number,
  realms: readonly RealmRef[],
  revision: number,
): readonly RealmRef[] {
  // One look for all of them costs as much as reading one.
  if (realms.length < 2) return realms
  const name = objectTable(table)
  const rows = connection
    .prepare(
      `SELECT wanted.value FROM json_each(?1) AS wanted WHERE EXISTS (SELECT 1 FROM ${name} INDEXED BY ${name}_realm WHERE realm = wanted.value AND revision >= ?2)`,
    )
    .values(JSON.stringify(realms), revision) as [RealmRef][]
  return rows.map(([realm]) => realm)
}

function tombstonesOf(
  { connection }: TxContext,
  realm: RealmRef,
  tables: readonly number[] | undefined,
  start: SortKey,
  upTo: number,
  most: number,
): SortKey[] {
  // The start is among the tombstones of this realm, or before or behind all of that revision.
  const order = start.isObject || start.realm - realm
  const [table, key] =
    order === 0 ? [start.table, String(start.row)] : [order < 0 ? -1 : Infinity, '']
  const among = tables === undefined ? '' : ' AND table_number IN (SELECT value FROM json_each(?7))'
  const chosen = tables === undefined ? [] : [JSON.stringify(tables)]
  return connection
    .prepare<{ revision: number; number: number; key: string }>(
      `SELECT revision, table_number AS number, key FROM tombstones INDEXED BY tombstones_of_realm WHERE realm = ?1 AND (revision, table_number, key) > (?2, ?3, ?4) AND revision <= ?5${among} ORDER BY revision, table_number, key LIMIT ?6`,
    )
    .all(realm, start.revision, table, key, upTo, most, ...chosen)
    .map((row) => ({
      revision: row.revision,
      isObject: 0,
      realm,
      table: row.number,
      row: row.key,
    }))
}

function objectsOf(
  { connection }: TxContext,
  realm: RealmRef,
  table: number,
  start: SortKey,
  upTo: number,
  most: number,
): SortKey[] {
  return rowsOf<{ revision: number; seq: number }>(
    (sql, ...parameters) => connection.prepare<never>(sql).all(...parameters),
    'revision, seq',
    { realm, table, start, upTo, most },
  ).map(({ revision, seq }) => ({ revision, isObject: 1, realm, table, row: seq }))
}

export interface Stretch {
  readonly realm: RealmRef
  readonly table: number
  readonly start: SortKey
  readonly upTo: number
  readonly most: number
}

/** The next rows of one table in one realm, in the order of the changes. */
export function rowsOf<Row>(
  select: (sql: string, ...parameters: number[]) => Row[],
  columns: string,
  stretch: Stretch,
): Row[] {
  let found: Row[] = []
  for (const { rows, parameters } of seeksOf(stretch, columns)) {
    const room = stretch.most - found.length
    if (room === 0) break
    const more = select(rows, ...parameters, room)
    found = found.length === 0 ? more : [...found, ...more]
  }
  return found
}

interface Seek {
  /** A statement whose last parameter is how many rows it gives at most. */
  readonly rows: string
  /** The others. */
  readonly parameters: readonly number[]
}

/** Two seeks, because one over both columns would skip all earlier rows of the revision. */
export function* seeksOf({ realm, table, start, upTo }: Stretch, columns: string): Generator<Seek> {
  const order = start.isObject - 1 || start.realm - realm || start.table - table
  const name = objectTable(table)
  const from = `SELECT ${columns} FROM ${name} INDEXED BY ${name}_realm WHERE realm = ?1`
  if (order <= 0 && start.revision <= upTo) {
    const seq = order === 0 ? Number(start.row) : 0
    yield {
      rows: `${from} AND revision = ?2 AND seq > ?3 ORDER BY seq LIMIT ?4`,
      parameters: [realm, start.revision, seq],
    }
  }
  yield {
    rows: `${from} AND revision > ?2 AND revision <= ?3 ORDER BY revision, seq LIMIT ?4`,
    parameters: [realm, start.revision, upTo],
  }
}

export function load(
  { connection }: TxContext,
  { table, row }: SortKey,
  name: string,
): TimedObject | null {
  const found = connection
    .prepare<Summed<TimedObject>>(
      `SELECT ${TIMED_COLUMNS} FROM ${objectTable(table)} WHERE seq = ?`,
    )
    .get(row)
  return found && checkedTimed(name, found)
}

/** Of two changes in one stream the order is that of the index: sorting keeps it. */
function compare(one: SortKey, other: SortKey): number {
  return (
    one.revision - other.revision ||
    one.isObject - other.isObject ||
    one.realm - other.realm ||
    one.table - other.table
  )
}

/** Everything up to a revision comes before its end. */
export function sortKeyOf(after: number | ChangePosition): SortKey {
  if (typeof after === 'number') {
    return { revision: after, isObject: 1, realm: Infinity, table: Infinity, row: Infinity }
  }
  const [isObject, realm, table, row] = JSON.parse(after.place) as [0 | 1, number, number, string]
  return { revision: after.revision, isObject, realm, table, row }
}

export function positionOf({ revision, isObject, realm, table, row }: SortKey): ChangePosition {
  return { revision, place: JSON.stringify([isObject, realm, table, row]) }
}
