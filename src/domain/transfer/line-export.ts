import type { Database } from '../store/store'
import { type ExportPiece, type Selection, readHead } from './export-head'
import { type Row, readRows, readRowsOfRealm } from './rows'
import type { Table } from '../store/tables'

/** NDJSON: the schema, the demo users, then a line per object (design.md §6). */
export async function* exportLines(
  database: Database,
  selection: Selection,
): AsyncGenerator<ExportPiece> {
  const { schema, idPrefixes, sealed, demoUsers, tables, realm } = await readHead(
    database,
    selection,
  )
  yield line({ type: 'schema', tables: schema, idPrefixes, sealed })
  if (demoUsers !== null) yield line({ type: 'demoUsers', users: demoUsers })
  if (realm !== undefined) {
    for (const table of tables) {
      for await (const rows of readRowsOfRealm(database, table, realm)) yield piece(table, rows)
    }
    return
  }
  let lastRealm = 0
  for (const table of tables) {
    for await (const rows of readRows(database, table)) {
      if (table.name === 'realms') lastRealm = rows.at(-1)?.seq ?? lastRealm
      yield piece(table, rows)
    }
  }
  // Of what was exported since, some may lie in realms that are newer.
  const realms = tables.find(({ name }) => name === 'realms')
  if (realms === undefined) return
  for await (const rows of readRows(database, realms, lastRealm)) yield piece(realms, rows)
}

function line(value: object): ExportPiece {
  return { text: `${JSON.stringify(value)}\n`, values: [] }
}

function piece(table: Table, rows: readonly Row[]): ExportPiece {
  const name = JSON.stringify(table.name)
  const lines = rows.map(({ realm, key, value }) => {
    const id = JSON.stringify(key)
    return `{"realm":${JSON.stringify(realm)},"table":${name},"id":${id},"data":${value}}\n`
  })
  return { text: lines.join(''), values: rows.map(({ value }) => value) }
}
