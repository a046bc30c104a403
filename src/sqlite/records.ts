import { eq, getTableColumns, getTableName } from 'drizzle-orm'
import type { SQLiteUpdateSetSource } from 'drizzle-orm/sqlite-core'
import { clients, jobs, keys, origins, providers, settings } from './schema'
import type { TxContext, WriteContext } from './context'
import { fact, type FactKind, note } from './memo'
import { damaged, sumOfRow } from './sum'
import type { SatchelError } from '../domain/value/error'
import type { RecordWriter, Records } from '../domain/store/records'

type RecordTable =
  | typeof clients
  | typeof jobs
  | typeof keys
  | typeof origins
  | typeof providers
  | typeof settings

/** Records whose columns are the properties of the domain's type, one for one, and their sum. */
export function recordReader<T extends RecordTable>(
  context: TxContext,
  table: T,
): Records<RecordOf<T>> {
  // The compiler cannot infer the selection of a query over so many tables.
  type Row = T['$inferSelect']
  return {
    find(id) {
      if (table !== jobs) note(context, kindOf(table), id)
      const row = parsing(table, id, () =>
        context.connection.orm.select().from(table).where(eq(table.id, id)).get(),
      ) as Row | undefined
      return row && recordOf(table, row, id)
    },
    list() {
      if (table !== jobs) note(context, kindOf(table))
      const rows = parsing(table, '', () =>
        context.connection.orm.select().from(table).orderBy(table.id).all(),
      ) as Row[]
      return rows.map((row) => recordOf(table, row))
    },
  }
}

type RecordOf<T extends RecordTable> = Omit<T['$inferSelect'], 'sum'>

export function recordWriter<T extends RecordTable>(
  context: WriteContext,
  table: T,
): RecordWriter<RecordOf<T>> {
  return {
    ...recordReader(context, table),
    put(record) {
      const row = { ...record, sum: sumOfRecord(table, record) } as T['$inferInsert']
      context.connection.orm
        .insert(table)
        .values(row)
        .onConflictDoUpdate({ target: table.id, set: row as SQLiteUpdateSetSource<T> })
        .run()
      touch(context, table, record.id)
    },
    remove(id) {
      const removed = context.connection.orm
        .delete(table)
        .where(eq(table.id, id))
        .returning({ id: table.id })
        .all()
      if (removed.length > 0) touch(context, table, id)
      return removed.length > 0
    },
  }
}

/** The record of a row, which was found by this id. Throws `DAMAGED`. */
function recordOf<T extends RecordTable>(
  table: T,
  row: T['$inferSelect'],
  id = row.id,
): RecordOf<T> {
  const { sum, ...record } = row
  if (row.id !== id || sumOfRecord(table, record) !== sum) throw damagedRecord(table, id)
  return record
}

/** The rows of a query, whose damaged columns may be no JSON. Throws `DAMAGED`. */
function parsing<Rows>(table: RecordTable, id: string, query: () => Rows): Rows {
  try {
    return query()
  } catch (error) {
    throw error instanceof SyntaxError ? damagedRecord(table, id) : error
  }
}

function damagedRecord(table: RecordTable, id: string): SatchelError {
  return damaged(NOUNS[getTableName(table)] ?? '', id)
}

/** By the name of the table. */
export const RECORD_TABLES: Readonly<Record<string, RecordTable>> = {
  clients,
  jobs,
  keys,
  origins,
  providers,
  settings,
}

/** False when the record with this id is not as it was written. */
export function isRecordSound(context: TxContext, name: string, id: string): boolean {
  const row = rowOf(context, name, id)
  return row !== undefined && sumOfRecord(requireTable(name), row) === row.sum
}

/** Accepts a record that was written by hand. False when it is none. */
export function acceptRecord(context: WriteContext, name: string, id: string): boolean {
  const row = rowOf(context, name, id)
  if (row === undefined) return false
  const sum = sumOfRecord(requireTable(name), row)
  context.connection.prepare(`UPDATE ${name} SET sum = ? WHERE id = ?`).run(sum, id)
  return true
}

function requireTable(name: string): RecordTable {
  const table = RECORD_TABLES[name]
  if (table === undefined) throw new Error(`there are no records ${name}`)
  return table
}

/** Undefined when a column that has to be JSON is not. */
function rowOf({ connection }: TxContext, name: string, id: string) {
  const table = requireTable(name)
  try {
    return connection.orm.select().from(table).where(eq(table.id, id)).get() as
      | { readonly sum: number }
      | undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

function sumOfRecord(table: RecordTable, record: object): number {
  const values: Readonly<Record<string, unknown>> = { ...record }
  const names = Object.keys(getTableColumns(table)).filter((name) => name !== 'sum')
  return sumOfRow(names.map((name) => values[name]))
}

/** By the name of the table. */
const NOUNS: Readonly<Record<string, string>> = {
  clients: 'client',
  jobs: 'job',
  keys: 'signing key',
  origins: 'origin',
  providers: 'provider',
  settings: 'setting',
}

/** All of these but jobs are policy, or are remembered like it. */
function touch({ unit }: WriteContext, table: RecordTable, id: string): void {
  if (table === jobs) unit.group.flags.jobs = true
  else unit.touchPolicy([fact(kindOf(table)), fact(kindOf(table), id)])
}

function kindOf(table: RecordTable): FactKind {
  return getTableName(table) as FactKind
}
