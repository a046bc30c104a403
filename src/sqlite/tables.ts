import { eq } from 'drizzle-orm'
import type { TableReader, TableWriter } from '../domain/store'
import type { Table } from '../domain/table'
import { SatchelError } from '../domain/error'
import { createObjectTable } from './object-table'
import { indexes, tables } from './schema'
import { loadSealed, loadTables } from './state'
import type { Scope } from './tx'

export function tableReader(scope: Scope): TableReader {
  const known = (): ReadonlyMap<string, Table> => {
    const { connection, committed, unit } = scope
    return unit?.group.tablesTouched === true ? loadTables(connection) : committed.tables
  }
  return {
    find: (name) => known().get(name),
    list: () => [...known().values()],
    isSealed: () =>
      scope.unit?.group.tablesTouched === true
        ? loadSealed(scope.connection)
        : scope.committed.sealed,
  }
}

export function tableWriter(scope: Scope): TableWriter {
  const readerOf = tableReader(scope)
  const touch = () => {
    if (scope.unit !== undefined) {
      scope.unit.group.tablesTouched = true
      scope.unit.group.policyTouched = true
    }
  }
  return {
    ...readerOf,
    put(declaration) {
      const { orm } = scope.connection
      const { indexes: declared, ...fields } = declaration
      const existing = loadTables(scope.connection).get(fields.name)
      touch()
      let number = existing?.number
      if (number === undefined) {
        number = orm
          .insert(tables)
          .values({ ...fields, builtIn: false })
          .returning({ number: tables.number })
          .get().number
        createObjectTable(scope.connection, number)
      } else {
        orm.update(tables).set(fields).where(eq(tables.number, number)).run()
      }
      reconcileIndexes(scope, number, existing?.indexes ?? [], declared)
      const stored = loadTables(scope.connection).get(fields.name)
      if (stored === undefined) throw new SatchelError('INTERNAL', 'The table could not be stored')
      return stored
    },
    setIndexState(index, state) {
      touch()
      scope.connection.orm.update(indexes).set({ state }).where(eq(indexes.number, index)).run()
    },
    seal(sealed) {
      touch()
      scope.connection.prepare('UPDATE database SET sealed = ?').run(sealed ? 1 : 0)
    },
  }
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
