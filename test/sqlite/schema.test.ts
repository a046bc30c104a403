import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { is } from 'drizzle-orm'
import { getTableConfig, SQLiteTable } from 'drizzle-orm/sqlite-core'
import { openConnection } from '../../src/sqlite/connection'
import { prepareFile } from '../../src/sqlite/prepare'
import { CLIENTS, JOBS, KEYS, ORIGINS, PROVIDERS, SETTINGS } from '../../src/sqlite/records'
import * as schema from '../../src/sqlite/schema'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

interface Column {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly isKey: boolean
}

test.each(Object.entries(schema))('%s is what the migrations make', (_, table) => {
  if (!is(table, SQLiteTable)) throw new Error('schema.ts exports something else')
  const { name, columns, primaryKeys } = getTableConfig(table)
  const keys = new Set(primaryKeys.flatMap((key) => key.columns.map((column) => column.name)))
  const declared = columns.map((column) => ({
    name: column.name,
    type: column.getSQLType().toUpperCase(),
    isRequired: column.notNull,
    isKey: column.primary || keys.has(column.name),
  }))
  expect(byName(declared)).toEqual(byName(migratedColumns(name)))
})

test.each([CLIENTS, JOBS, KEYS, ORIGINS, PROVIDERS, SETTINGS])(
  'records of $name have all columns of their table',
  ({ name: table, columns, isSummed }) => {
    const names = Object.values(columns).map(({ name }) => name)
    const all = isSummed === true ? [...names, 'sum'] : names
    const migrated = migratedColumns(table).map(({ name }) => name)
    expect(all.toSorted()).toEqual(migrated.toSorted())
  },
)

function migratedColumns(table: string): Column[] {
  using folder = temporaryFolder()
  const file = join(folder.path, 'database.sqlite')
  const connection = openConnection(file, 'write', 'none')
  try {
    prepareFile(connection, file, createTestClock())
    const rows = connection
      .prepare<{ name: string; type: string; notnull: number; pk: number }>(
        'SELECT name, type, "notnull", pk FROM pragma_table_info(?)',
      )
      .all(table)
    // SQLite does not call a key required, drizzle does.
    return rows.map(({ name, type, notnull, pk }) => {
      return { name, type, isRequired: notnull === 1 || pk > 0, isKey: pk > 0 }
    })
  } finally {
    connection.close()
  }
}

function byName(columns: readonly Column[]): Column[] {
  return columns.toSorted((one, other) => (one.name < other.name ? -1 : 1))
}
