import { eq } from 'drizzle-orm'
import type { TableDeclaration, TableReader, TableWriter } from '../domain/store/store'
import type { Table } from '../domain/store/table'
import { createObjectTable } from './object-table'
import { indexes, tables } from './schema'
import { loadSealed, loadTable, loadTables } from './state'
import type { Scope, WriteScope } from './scope'

/** The tables as this transaction sees them, by name, in the order they were declared. */
export function knownTables({ connection, committed, unit }: Scope): ReadonlyMap<string, Table> {
  if (unit?.group.tablesTouched !== true) return committed.tables
  unit.group.tables ??= loadTables(connection)
  return unit.group.tables
}

export function tableReader(scope: Scope): TableReader {
  return {
    find: (name) => knownTables(scope).get(name),
    list: () => [...knownTables(scope).values()],
    isSealed() {
      const { connection, committed, unit } = scope
      if (unit?.group.tablesTouched !== true) return committed.sealed
      unit.group.sealed ??= loadSealed(connection)
      return unit.group.sealed
    },
  }
}

export function tableWriter(scope: WriteScope): TableWriter {
  return {
    ...tableReader(scope),
    put(declaration) {
      const tablesByName = ownTables(scope)
      const { name, primaryKey, compound, generated, idPrefix, stores, hidden } = declaration
      const fields = { name, primaryKey, compound, generated, idPrefix, stores, hidden }
      const existing = tablesByName.get(name)
      const number = existing?.number ?? createTable(scope, fields)
      if (existing !== undefined) {
        scope.connection.orm.update(tables).set(fields).where(eq(tables.number, number)).run()
      }
      reconcileIndexes(scope, number, existing?.indexes ?? [], declaration.indexes)
      const stored = loadTable(scope.connection, number)
      tablesByName.set(name, stored)
      return stored
    },
    setIndexState(index, state) {
      const tablesByName = ownTables(scope)
      const owner = scope.connection.orm
        .update(indexes)
        .set({ state })
        .where(eq(indexes.number, index))
        .returning({ number: indexes.tableNumber })
        .get()
      if (owner === undefined) return
      const table = loadTable(scope.connection, owner.number)
      tablesByName.set(table.name, table)
    },
    seal(sealed) {
      ownTables(scope)
      scope.connection.prepare('UPDATE database SET sealed = ?').run(sealed ? 1 : 0)
      scope.unit.group.sealed = sealed
    },
  }
}

/** The group's own view of the tables, which is kept up with what it does to them. */
function ownTables(scope: WriteScope): Map<string, Table> {
  const tablesByName = new Map(knownTables(scope))
  const { group } = scope.unit
  group.tables = tablesByName
  group.tablesTouched = true
  group.policyTouched = true
  return tablesByName
}

function createTable({ connection }: Scope, fields: Omit<TableDeclaration, 'indexes'>): number {
  const { number } = connection.orm
    .insert(tables)
    .values({ ...fields, builtIn: false })
    .returning({ number: tables.number })
    .get()
  createObjectTable(connection, number)
  return number
}

/** Keeps indexes that are still declared, drops the others, adds new ones as `building`. */
function reconcileIndexes(
  scope: Scope,
  tableNumber: number,
  existing: Table['indexes'],
  declared: readonly { readonly name: string; readonly multi: boolean }[],
): void {
  const { orm } = scope.connection
  const same = (a: { name: string; multi: boolean }, b: { name: string; multi: boolean }) =>
    a.name === b.name && a.multi === b.multi
  for (const index of existing) {
    if (declared.some((other) => same(index, other))) continue
    orm.update(indexes).set({ state: 'dropped' }).where(eq(indexes.number, index.number)).run()
  }
  for (const { name, multi } of declared) {
    if (existing.some((other) => same({ name, multi }, other))) continue
    orm.insert(indexes).values({ tableNumber, name, multi, state: 'building' }).run()
  }
}
