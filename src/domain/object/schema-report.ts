import { declareTables } from './declare'
import type { TableSchema } from '../value/schema'
import type { ReadTx, WriteTx } from '../store/store'
import type { Job } from '../store/records'
import type { Table } from '../store/tables'

/** An index that filters do not use yet. */
export interface BuildingIndex {
  readonly table: string
  readonly index: string
  /** Objects looked at, of how many. */
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

/** Names of the tables that a push touched. */
export interface SchemaChange {
  readonly created: readonly string[]
  readonly changed: readonly string[]
  readonly hidden: readonly string[]
}

/** Reports on the named tables, or on all but the built-in ones. */
export async function reportSchema(tx: ReadTx, names?: readonly string[]): Promise<SchemaReport> {
  const tables = (await tx.tables.list()).filter(
    ({ name, builtIn }) => names?.includes(name) ?? !builtIn,
  )
  const jobs = await indexJobs(tx, tables)
  const hidden = tables.filter((table) => table.hidden)
  return {
    schema: Object.fromEntries(
      tables.map((table) => [table.name, table.hidden ? null : table.stores]),
    ),
    hidden: Object.fromEntries(hidden.map(({ name, stores }) => [name, stores])),
    sealed: await tx.tables.isSealed(),
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

/** The jobs that build indexes of these tables, in the order in which they are worked off. */
export async function indexJobs(tx: ReadTx, tables: readonly Table[]): Promise<Job[]> {
  const numbers = new Set(tables.flatMap(({ indexes }) => indexes.map(({ number }) => number)))
  return (await tx.jobs.list())
    .filter(({ kind, state }) => kind === 'index' && numbers.has(Number(state['index'])))
    .toSorted((one, other) => one.created - other.created)
}

/** Declares tables and tells what that changed. `now` in ms. Throws what `declareTables` throws. */
export async function pushSchema(
  tx: WriteTx,
  schemas: ReadonlyMap<string, TableSchema | null>,
  now: number,
): Promise<SchemaChange> {
  const before = new Map((await tx.tables.list()).map((table) => [table.name, table]))
  await declareTables(tx, schemas, now)
  const after = await tx.tables.list()
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
