import type { SQLQueryBindings } from 'bun:sqlite'
import { noteSum } from './summed'
import type { Connection } from './connection'
import { fact, note } from './memo'
import type { TxContext, WriteContext } from './context'
import { loadSealed, loadTable, loadTables } from './state'
import type {
  IndexState,
  TableDeclaration,
  TableReader,
  TableWriter,
  Table,
} from '../domain/store/tables'

/** The tables as this transaction sees them, by name, in the order they were declared. */
export function knownTables({
  connection,
  committed,
  unit,
}: TxContext): ReadonlyMap<string, Table> {
  if (unit?.group.flags.tables !== true) return committed.tables
  unit.group.tables ??= loadTables(connection)
  return unit.group.tables
}

export class TableReads<Context extends TxContext = TxContext> implements TableReader {
  constructor(protected readonly context: Context) {}

  find(name: string) {
    note(this.context, 'table', name)
    return knownTables(this.context).get(name)
  }

  list() {
    note(this.context, 'table')
    return [...knownTables(this.context).values()]
  }

  isSealed() {
    note(this.context, 'table')
    const { connection, committed, unit } = this.context
    if (unit?.group.flags.tables !== true) return committed.sealed
    unit.group.sealed ??= loadSealed(connection)
    return unit.group.sealed
  }
}

export class TableWrites extends TableReads<WriteContext> implements TableWriter {
  put(declaration: TableDeclaration) {
    const { context } = this
    const tablesByName = ownTables(context, declaration.name)
    const { name, primaryKey, compound, generated, idPrefix, stores, hidden } = declaration
    const fields = { name, primaryKey, compound, generated, idPrefix, stores, hidden }
    const existing = tablesByName.get(name)
    const number = existing?.number ?? createTable(context, fields)
    if (existing !== undefined) {
      context.connection.prepare(UPDATE_TABLE).run(...valuesOf(fields), number)
    }
    reconcileIndexes(context, number, existing?.indexes ?? [], declaration.indexes)
    const stored = loadTable(context.connection, number)
    tablesByName.set(name, stored)
    return stored
  }

  setIndexState(index: number, state: IndexState) {
    const { context } = this
    const of = (table: Table) => table.indexes.some(({ number }) => number === index)
    const tablesByName = ownTables(context, [...knownTables(context).values()].find(of)?.name)
    const owner = context.connection
      .prepare<{ number: number }>(
        'UPDATE indexes SET state = ? WHERE number = ? RETURNING table_number AS number',
      )
      .get(state, index)
    if (owner === null) return
    const table = loadTable(context.connection, owner.number)
    tablesByName.set(table.name, table)
  }

  seal(sealed: boolean) {
    const { context } = this
    ownTables(context)
    context.connection.prepare('UPDATE database SET sealed = ?').run(sealed ? 1 : 0)
    context.unit.group.sealed = sealed
  }
}

/** The group's own view of the tables, updated with its changes, of which one is of this table. */
function ownTables(context: WriteContext, changed?: string): Map<string, Table> {
  const tablesByName = new Map(knownTables(context))
  const { group } = context.unit
  group.tables = tablesByName
  group.flags.tables = true
  const all = fact('table')
  context.unit.touchPolicy(changed === undefined ? [all] : [all, fact('table', changed)])
  return tablesByName
}

type TableFields = Omit<TableDeclaration, 'indexes'>

const UPDATE_TABLE =
  'UPDATE tables SET name = ?, primary_key = ?, compound = ?, generated = ?, id_prefix = ?, stores = ?, hidden = ? WHERE number = ?'
const INSERT_TABLE =
  'INSERT INTO tables (name, primary_key, compound, generated, id_prefix, stores, hidden, built_in) VALUES (?, ?, ?, ?, ?, ?, ?, 0) RETURNING number'

/** The values of both statements. */
function valuesOf(fields: TableFields): SQLQueryBindings[] {
  const { name, primaryKey, compound, generated, idPrefix, stores, hidden } = fields
  const key = primaryKey === null ? null : JSON.stringify(primaryKey)
  return [name, key, compound, generated, idPrefix, stores, hidden]
}

/** The number of the row that a statement inserts. */
function insertedBy(
  { prepare }: Connection,
  statement: string,
  ...values: SQLQueryBindings[]
): number {
  const row = prepare<{ number: number }>(statement).get(...values)
  if (row === null) throw new Error('nothing was inserted')
  return row.number
}

function createTable({ connection }: TxContext, fields: TableFields): number {
  const number = insertedBy(connection, INSERT_TABLE, ...valuesOf(fields))
  createObjectTable(connection, number)
  return number
}

const INSERT_INDEX =
  "INSERT INTO indexes (table_number, name, multi, state) VALUES (?, ?, ?, 'building') RETURNING number"

/** Keeps indexes that are still declared, drops the others, adds new ones as `building`. */
function reconcileIndexes(
  context: TxContext,
  tableNumber: number,
  existing: Table['indexes'],
  declared: readonly { readonly name: string; readonly multi: boolean }[],
): void {
  const { connection } = context
  const same = (a: { name: string; multi: boolean }, b: { name: string; multi: boolean }) =>
    a.name === b.name && a.multi === b.multi
  for (const index of existing) {
    if (declared.some((other) => same(index, other))) continue
    connection.prepare("UPDATE indexes SET state = 'dropped' WHERE number = ?").run(index.number)
  }
  for (const { name, multi } of declared) {
    if (existing.some((other) => same({ name, multi }, other))) continue
    const number = insertedBy(connection, INSERT_INDEX, tableNumber, name, multi)
    noteSum(connection, 'indexes', number)
  }
}

/** The name of an application table's own table: our number, never a name from outside. */
export function objectTable(number: number): string {
  if (!Number.isSafeInteger(number)) throw new RangeError('a table number is an integer')
  return `o_${number}`
}

/** A statement for each table: its text is made and hashed once, which takes as long as to bind a row. */
export function perTable(make: (name: string) => string): (table: { number: number }) => string {
  const texts: string[] = []
  return ({ number }) => (texts[number] ??= make(objectTable(number)))
}

/** The columns of a `StoredObject`, and of a `TimedObject`, with the sum. */
export const COLUMNS = 'seq, key, realm, owner, revision, value, sum'
export const TIMED_COLUMNS = `${COLUMNS}, entered, updated_at AS updated, stamps`

/**
 * `seq` is given by the store and never reused: the order of creation (design.md §3). The value comes
 * last, because SQLite reads all of a large one before the columns behind it.
 */
export function createObjectTable(connection: Connection, number: number): void {
  const name = objectTable(number)
  connection.db.run(`CREATE TABLE ${name} (
    seq INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    realm INTEGER NOT NULL,
    owner TEXT,
    revision INTEGER NOT NULL,
    entered INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    stamps TEXT,
    sum INTEGER NOT NULL DEFAULT 0,
    value TEXT NOT NULL
  ) STRICT`)
  connection.db.run(`CREATE INDEX ${name}_realm ON ${name} (realm, revision)`)
}
