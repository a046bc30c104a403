import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { getTableConfig } from 'drizzle-orm/sqlite-core'
import { openConnection } from '../../src/sqlite/connection'
import { prepareFile } from '../../src/sqlite/prepare'
import {
  CLIENTS,
  columnOf as columnNameOf,
  JOBS,
  KEYS,
  ORIGINS,
  PROVIDERS,
  SETTINGS,
} from '../../src/sqlite/records'
import * as schema from '../../src/sqlite/schema'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

interface Column {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly isKey: boolean
  readonly default: string | null
}

/** The tables of a new file with their columns. Those of objects have numbers, and one shape (`tables.ts`). */
const migrated = migratedTables()

test('the schema has all tables that are made for every database', () => {
  const declared = Object.values(schema).map((table) => getTableConfig(table).name)
  expect(declared.toSorted()).toEqual(Object.keys(migrated).toSorted())
})

test.each(Object.entries(schema))('%s is what the migrations make', (_, table) => {
  const { name, columns, primaryKeys } = getTableConfig(table)
  const keys = new Set(primaryKeys.flatMap((key) => key.columns.map((column) => column.name)))
  const declared = columns.map((column) => ({
    name: column.name,
    type: column.getSQLType().toUpperCase(),
    isRequired: column.notNull,
    isKey: column.primary || keys.has(column.name),
    default: column.default === undefined ? null : String(column.default),
  }))
  expect(declared).toEqual(migrated[name] ?? [])
})

test.each([CLIENTS, JOBS, KEYS, ORIGINS, PROVIDERS, SETTINGS])(
  'records of $name have all columns of their table',
  ({ name: table, properties, isSummed }) => {
    const names = properties.map(columnNameOf)
    const all = isSummed === true ? [...names, 'sum'] : names
    const expected = migrated[table]?.map(({ name }) => name) ?? []
    expect(all.toSorted()).toEqual(expected.toSorted())
  },
)

function migratedTables(): Readonly<Record<string, Column[]>> {
  using folder = temporaryFolder()
  const file = join(folder.path, 'database.sqlite')
  const connection = openConnection(file, 'write', 'none')
  try {
    prepareFile(connection, file, createTestClock())
    const rows = connection
      .prepare<Row & { of: string }>(
        `SELECT t.name AS "of", c.name, c.type, c."notnull", c.pk, c.dflt_value FROM pragma_table_list AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' AND t.name NOT GLOB 'sqlite_*' AND t.name NOT GLOB 'o_[0-9]*'`,
      )
      .all()
    return Object.fromEntries(
      [...Map.groupBy(rows, ({ of }) => of)].map(([of, columns]) => [of, columns.map(columnOf)]),
    )
  } finally {
    connection.close()
  }
}

interface Row {
  name: string
  type: string
  notnull: number
  pk: number
  dflt_value: string | null
}

/** SQLite does not call a key required, drizzle does. */
function columnOf({ name, type, notnull, pk, dflt_value }: Row): Column {
  return { name, type, isRequired: notnull === 1 || pk > 0, isKey: pk > 0, default: dflt_value }
}
