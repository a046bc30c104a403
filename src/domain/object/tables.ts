import { SatchelError, quoted, unprocessable, conflict } from '../value/error'
import { FIXED_LIMITS } from '../value/fixed-limits'
import type { ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { idPrefixFor } from '../value/id'
import { startJob } from '../job/job'
import { type TableSchema, formatStores } from '../value/schema'
import type { Job } from '../store/records'

/** Throws `UNKNOWN_TABLE` for a table that was never declared or is hidden. */
export function requireTable(tx: ReadTx, name: string): Table {
  const table = tx.tables.find(name)
  if (table !== undefined && !table.hidden) return table
  throw new SatchelError(
    'UNKNOWN_TABLE',
    `There is no table ${quoted(name)}: declare it with satchel schema push, for example {${quoted(name)}: "@id"}`,
  )
}

/** One of the tables that every database has. */
export function builtInTable(tx: ReadTx, name: 'realms' | 'members' | 'roles'): Table {
  const table = tx.tables.find(name)
  if (table === undefined) throw new Error(`the table ${name} is missing`)
  return table
}

/**
 * Declares tables as a pushed schema says (design.md §6 schema text): new ones are made, known ones
 * changed, `null` hides without losing anything. New indexes of a table with rows are built by a
 * job. A new `@` table gets its prefix of `idPrefixes` unless another has it. `now` in ms. Throws
 * `CONFLICT` when a key path would change under existing rows, `UNPROCESSABLE` for an invalid
 * declaration.
 */
export function declareTables(
  tx: WriteTx,
  schemas: ReadonlyMap<string, TableSchema | null>,
  now: number,
  idPrefixes: ReadonlyMap<string, string> = new Map(),
): void {
  const named = [...schemas].filter(([, schema]) => schema !== null).map(([name]) => name)
  requireRoomFor(tx, named)
  for (const [name, schema] of schemas) {
    if (schema === null) hide(tx, name)
    else declare(tx, name, schema, { now, idPrefixes })
  }
}

/** Throws `UNPROCESSABLE` when a database with these tables too would have more than it may. */
export function requireRoomFor(tx: ReadTx, names: readonly string[]): void {
  const { most } = FIXED_LIMITS.tables
  const all = new Set([...tx.tables.list().map(({ name }) => name), ...names])
  if (all.size <= most) return
  throw unprocessable(
    `A database has at most ${most} tables, hidden ones included; this would make ${all.size}`,
  )
}

interface Declaring {
  readonly now: number
  readonly idPrefixes: ReadonlyMap<string, string>
}

function hide(tx: WriteTx, name: string): void {
  const table = tx.tables.find(name)
  if (table === undefined || table.hidden) return
  if (table.builtIn) {
    throw unprocessable(`The table ${quoted(name)} is built in and cannot be changed`)
  }
  tx.tables.put({ ...table, hidden: true })
}

function declare(
  tx: WriteTx,
  name: string,
  schema: TableSchema,
  { now, idPrefixes }: Declaring,
): void {
  if (schema.generated && schema.primaryKey[0]?.includes('.') === true) {
    throw unprocessable(
      `The generated key of ${quoted(name)} is a property of its own: declare it without dots`,
    )
  }
  const existing = tx.tables.find(name)
  if (existing !== undefined) requireSameKey(tx, existing, schema)
  const table = tx.tables.put({
    name,
    primaryKey: schema.primaryKey,
    compound: schema.compound,
    generated: schema.generated,
    idPrefix: existing?.idPrefix || (schema.generated ? prefixFor(tx, name, idPrefixes) : ''),
    stores: formatStores(schema),
    hidden: false,
    indexes: schema.indexes,
  })
  buildIndexes(tx, table, now)
  const isDropping = existing?.indexes.some(
    ({ number }) => !table.indexes.some((index) => index.number === number),
  )
  if (isDropping === true) startJob(tx, 'drop-index', {}, now)
}

function requireSameKey(tx: WriteTx, table: Table, schema: TableSchema): void {
  const isSame =
    table.primaryKey === null ||
    (table.compound === schema.compound &&
      table.primaryKey.join('\n') === schema.primaryKey.join('\n'))
  if (isSame || (!table.builtIn && tx.objects.count(table, 1) === 0)) return
  throw conflict(
    `The primary key of ${quoted(table.name)} is ${table.stores.split(',', 1)[0] ?? ''}: it cannot change while there are rows`,
  )
}

/** The prefix that is given for the table unless another one has it, else a free one. */
export function prefixFor(
  tx: ReadTx,
  name: string,
  idPrefixes: ReadonlyMap<string, string>,
): string {
  const taken = new Set(tx.tables.list().map(({ idPrefix }) => idPrefix))
  const given = idPrefixes.get(name)
  if (given !== undefined && !taken.has(given)) return given
  return idPrefixFor(name, taken.union(new Set(idPrefixes.values())))
}

/** Counting so many rows for the progress of a job takes about ten milliseconds. */
const MOST_COUNTED = 500_000

function buildIndexes(tx: WriteTx, table: Table, now: number): void {
  const building = table.indexes.filter(({ state }) => state === 'building')
  if (building.length === 0) return
  const total = tx.objects.count(table, MOST_COUNTED)
  const jobs = tx.jobs.list()
  for (const { number } of building) {
    if (total === 0) tx.tables.setIndexState(number, 'ready')
    else if (!jobs.some(({ kind, state }) => kind === 'index' && state['index'] === number)) {
      startJob(tx, 'index', { table: table.name, index: number, after: 0 }, now, total)
    }
  }
}

/** An index that filters do not use yet. */
export interface BuildingIndex {
  readonly table: string
  readonly index: string
  /** Objects indexed so far, and in all, which are counted up to half a million. */
  readonly done: number
  readonly total: number
}

export interface SchemaReport {
  /** Table name to stores text, null for a hidden table: a file that can be pushed. */
  readonly schema: Readonly<Record<string, string | null>>
  /** Table name to stores text of the hidden tables. */
  readonly hidden: Readonly<Record<string, string>>
  /** Clients cannot add tables. */
  readonly sealed: boolean
  readonly building: readonly BuildingIndex[]
}

/** Names of the tables that a push changed. */
export interface SchemaChange {
  readonly created: readonly string[]
  readonly changed: readonly string[]
  readonly hidden: readonly string[]
}

/** Reports on the named tables, or on all but the built-in ones. */
export function reportSchema(tx: ReadTx, names?: readonly string[]): SchemaReport {
  const tables = tx.tables.list().filter(({ name, builtIn }) => names?.includes(name) ?? !builtIn)
  const jobs = indexJobs(tx, tables)
  const hidden = tables.filter((table) => table.hidden)
  return {
    schema: Object.fromEntries(
      tables.map((table) => [table.name, table.hidden ? null : table.stores]),
    ),
    hidden: Object.fromEntries(hidden.map(({ name, stores }) => [name, stores])),
    sealed: tx.tables.isSealed(),
    building: tables.flatMap(({ name: table, indexes }) =>
      indexes
        .filter(({ state }) => state === 'building')
        .map(({ name: index, number }) => {
          const job = jobs.find(({ state }) => state['index'] === number)
          return { table, index, done: job?.done ?? 0, total: job?.total ?? 0 }
        }),
    ),
  }
}

/** The jobs that build indexes of these tables, in the order in which they run. */
export function indexJobs(tx: ReadTx, tables: readonly Table[]): Job[] {
  const numbers = new Set(tables.flatMap(({ indexes }) => indexes.map(({ number }) => number)))
  return tx.jobs
    .list()
    .filter(({ kind, state }) => kind === 'index' && numbers.has(Number(state['index'])))
    .toSorted((one, other) => one.created - other.created)
}

/** Declares tables and tells what that changed. `now` in ms. Throws what `declareTables` throws. */
export function pushSchema(
  tx: WriteTx,
  schemas: ReadonlyMap<string, TableSchema | null>,
  now: number,
): SchemaChange {
  const before = new Map(tx.tables.list().map((table) => [table.name, table]))
  declareTables(tx, schemas, now)
  const after = tx.tables.list()
  const namesOf = (isMeant: (table: Table, earlier: Table | undefined) => boolean) =>
    after.filter((table) => isMeant(table, before.get(table.name))).map(({ name }) => name)
  return {
    created: namesOf((_, earlier) => earlier === undefined),
    changed: namesOf(
      (table, earlier) =>
        earlier !== undefined &&
        !table.hidden &&
        (earlier.hidden || earlier.stores !== table.stores),
    ),
    hidden: namesOf((table, earlier) => table.hidden && earlier?.hidden === false),
  }
}
