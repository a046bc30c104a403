import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import type { Database } from '../store/store'
import { parseStored } from '../value/value'
import { type ExportHead, type ExportPiece, type Selection, readHead } from './export-head'
import { type Row, findRealms, readRowsOfRealm } from './rows'
import type { Table } from '../store/tables'

/** The JSON import file of protocol.md §9.4, in which the global roles have their own section. */
export async function* exportSections(
  database: Database,
  selection: Selection,
): AsyncGenerator<ExportPiece> {
  const head = await readHead(database, selection)
  yield await writeHead(database, head)
  let last: Place | undefined
  for (const [realm, tables] of await tablesByRealm(database, head)) {
    for (const table of tables) {
      if (realm === PUBLIC_REALM_REF && table.name === 'roles') continue
      for await (const rows of readRowsOfRealm(database, table, realm)) {
        let text = ''
        for (const row of rows) {
          const place = { realm: row.realm, table: table.name }
          text += `${step(last, place)}\n${JSON.stringify(row.key)}:${row.value}`
          last = place
        }
        yield { text, values: rows.map(({ value }) => value) }
      }
    }
  }
  yield { text: `${last === undefined ? '' : '}}'}}}\n`, values: [] }
}

async function writeHead(database: Database, head: ExportHead): Promise<ExportPiece> {
  const { schema, idPrefixes, sealed, demoUsers } = head
  const roles = await readGlobalRoles(database, head)
  const sections = {
    $exportMeta: { idPrefixes },
    schema,
    sealed,
    ...(demoUsers === null ? {} : { demoUsers }),
    roles: Object.fromEntries(roles.map(roleOf)),
  }
  const texts = Object.entries(sections).map(
    ([name, value]) => `"${name}":${JSON.stringify(value)}`,
  )
  return { text: `{${texts.join(',\n')},\n"data":{`, values: roles.map(({ value }) => value) }
}

interface Place {
  readonly realm: string
  readonly table: string
}

/** What stands between two objects: brackets, names and commas. */
function step(from: Place | undefined, to: Place): string {
  const table = `${JSON.stringify(to.table)}:{`
  const realm = `\n${JSON.stringify(to.realm)}:{${table}`
  if (from === undefined) return realm
  if (from.realm !== to.realm) return `}},${realm}`
  return from.table === to.table ? ',' : `},\n${table}`
}

async function tablesByRealm(
  database: Database,
  { tables, realm }: ExportHead,
): Promise<Iterable<readonly [RealmRef, readonly Table[]]>> {
  return realm === undefined ? await findRealms(database, tables) : [[realm, tables]]
}

async function readGlobalRoles(
  database: Database,
  { tables, realm = PUBLIC_REALM_REF }: ExportHead,
): Promise<Row[]> {
  const table = tables.find(({ name }) => name === 'roles')
  if (table === undefined || realm !== PUBLIC_REALM_REF) return []
  const roles: Row[] = []
  for await (const rows of readRowsOfRealm(database, table, realm)) roles.push(...rows)
  return roles
}

/** A role without what its place in the file says. */
function roleOf({ value }: Row): [string, object] {
  const { name, realmId: _, owner, ...role } = parseStored(value)
  return [String(name), owner === null ? role : { ...role, owner }]
}
