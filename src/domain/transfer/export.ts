import type { Database } from '../store/store'
import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import { BUILT_IN_TABLES, type Table } from '../store/tables'
import type { Choice } from '../object/choice'
import { requireTable } from '../object/tables'
import { listEveryUser } from '../user/list'
import {
  type DamagedObject,
  type Row,
  type Rows,
  findRealms,
  readRows,
  readRowsOfRealm,
} from './rows'
import { parseStored } from '../value/value'

export const EXPORT_FORMATS = ['ndjson', 'json', 'zip'] as const
export type ExportFormat = (typeof EXPORT_FORMATS)[number]
export type TextFormat = Exclude<ExportFormat, 'zip'>

/**
 * The schema, the demo users and all objects of a database, or the selected ones, as a file that
 * `importFile` reads (design.md §6, protocol.md §9.4); a zip is `exportArchive`. Each piece is a short read of its own: the
 * file has every object that existed throughout and is not damaged. Hidden tables and realms that are being erased are
 * left out. Throws `UNKNOWN_TABLE`.
 */
export function exportDatabase(
  database: Database,
  format: TextFormat,
  selection: Selection,
): AsyncGenerator<ExportPiece> {
  return format === 'json' ? exportSections(database, selection) : exportLines(database, selection)
}

/** The part of the database to export, when not all of it. */
export interface Selection {
  readonly realm: string | null
  readonly table: string | null
  /** Only these objects of the table; absent: all. */
  readonly choice?: Choice
}

/** A piece of an export as text, and the objects in it. */
export interface ExportPiece {
  readonly text: string
  /** The stored texts of the objects. */
  readonly values: readonly string[]
  /** The objects that are left out here, because they are damaged. */
  readonly damaged: readonly DamagedObject[]
}

/** True when not everything is exported. */
export function isPart({ realm, table }: Selection): boolean {
  return realm !== null || table !== null
}

/** The head of an export, before its objects, and the place of those. */
interface ExportHead {
  /** Stores text by table, without the built-in tables as every database has them. */
  readonly schema: Readonly<Record<string, string>>
  readonly idPrefixes: Readonly<Record<string, string>>
  readonly sealed: boolean
  /** Their data by id; null when only a part is exported. */
  readonly demoUsers: Readonly<Record<string, object>> | null
  /** The tables whose objects are exported, in order. */
  readonly tables: readonly Table[]
  /** The realm whose objects are exported; undefined for all. */
  readonly realm: RealmRef | undefined
}

/**
 * Hidden tables are left out. A realm that is not there has a schema but no objects. Throws
 * `UNKNOWN_TABLE`.
 */
function readHead(database: Database, selection: Selection): Promise<ExportHead> {
  return database.read((tx) => {
    const tables =
      selection.table === null ? inOrder(tx.tables.list()) : [requireTable(tx, selection.table)]
    const declared = tables.filter((table) => !isAsMade(table))
    const realm = selection.realm === null ? undefined : tx.realms.find(selection.realm)
    return {
      schema: Object.fromEntries(declared.map(({ name, stores }) => [name, stores])),
      idPrefixes: Object.fromEntries(
        declared.flatMap(({ name, generated, idPrefix }) => (generated ? [[name, idPrefix]] : [])),
      ),
      sealed: tx.tables.isSealed(),
      demoUsers: isPart(selection)
        ? null
        : Object.fromEntries(
            listEveryUser(tx, { type: 'demo' })
              .filter(({ id }) => id.endsWith('@demo.local'))
              .map(({ id, data }) => [id, data ?? {}]),
          ),
      tables: selection.realm !== null && realm === undefined ? [] : tables,
      realm: realm?.ref,
    }
  })
}

/** Roles and members come after the realms they are about, and all other objects after those. */
const FIRST = ['realms', 'roles', 'members']

/** In the order in which a reader of JSON will declare them again: `{"b":…,"1":…}` begins with 1. */
function inOrder(tables: readonly Table[]): Table[] {
  const rank = ({ name }: Table) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length)
  const shown = tables.filter(({ hidden, primaryKey }) => !hidden && primaryKey !== null)
  return Object.values(Object.fromEntries(shown.map((table) => [table.name, table]))).toSorted(
    (one, other) => rank(one) - rank(other),
  )
}

function isAsMade({ name, stores }: Table): boolean {
  return BUILT_IN_TABLES.some((table) => table.name === name && table.stores === stores)
}

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
  const { choice } = selection
  if (realm !== undefined) {
    for (const table of tables) {
      for await (const rows of readRowsOfRealm(database, table, realm, choice))
        yield piece(table, rows)
    }
    return
  }
  let lastRealm = 0
  for (const table of tables) {
    for await (const rows of readRows(database, table, choice)) {
      if (table.name === 'realms') lastRealm = rows.rows.at(-1)?.seq ?? lastRealm
      yield piece(table, rows)
    }
  }
  // Objects that were exported since may belong to newer realms.
  const realms = tables.find(({ name }) => name === 'realms')
  if (realms === undefined) return
  for await (const rows of readRows(database, realms, choice, lastRealm)) yield piece(realms, rows)
}

/**
 * NDJSON as the public command line client reads it (protocol.md §9.4): the global roles are a line of
 * their own before the objects, and the last line says so when damaged objects are left out.
 */
export async function* exportStream(
  database: Database,
  selection: Selection,
): AsyncGenerator<ExportPiece> {
  const head = await readHead(database, selection)
  const { rows, damaged } = await readGlobalRoles(database, head, selection)
  let damage = damaged.length
  let isBegun = false
  for await (const part of exportLines(database, selection)) {
    yield part
    damage += part.damaged.length
    if (!isBegun) yield line({ type: 'roles', roles: Object.fromEntries(rows.map(roleOf)) })
    isBegun = true
  }
  if (damage === 0) return
  yield line({ type: 'error', message: 'Damaged objects are left out: satchel verify names them' })
}

function line(value: object): ExportPiece {
  return { text: `${JSON.stringify(value)}\n`, values: [], damaged: [] }
}

function piece(table: Table, { rows, damaged }: Rows): ExportPiece {
  const name = JSON.stringify(table.name)
  const lines = rows.map(({ realm, key, value }) => {
    const id = JSON.stringify(key)
    return `{"realm":${JSON.stringify(realm)},"table":${name},"id":${id},"data":${value}}\n`
  })
  return { text: lines.join(''), values: rows.map(({ value }) => value), damaged }
}

/** The JSON import file of protocol.md §9.4, in which the global roles have their own section. */
async function* exportSections(
  database: Database,
  selection: Selection,
): AsyncGenerator<ExportPiece> {
  const head = await readHead(database, selection)
  yield await writeHead(database, head, selection)
  let last: Section | undefined
  for (const [realm, tables] of await tablesByRealm(database, head)) {
    for (const table of tables) {
      if (realm === PUBLIC_REALM_REF && table.name === 'roles') continue
      const read = readRowsOfRealm(database, table, realm, selection.choice)
      for await (const { rows, damaged } of read) {
        let text = ''
        for (const row of rows) {
          const section = { realm: row.realm, table: table.name }
          text += `${step(last, section)}\n${JSON.stringify(row.key)}:${row.value}`
          last = section
        }
        yield { text, values: rows.map(({ value }) => value), damaged }
      }
    }
  }
  yield { text: `${last === undefined ? '' : '}}'}}}\n`, values: [], damaged: [] }
}

async function writeHead(
  database: Database,
  head: ExportHead,
  selection: Selection,
): Promise<ExportPiece> {
  const { schema, idPrefixes, sealed, demoUsers } = head
  const { rows: roles, damaged } = await readGlobalRoles(database, head, selection)
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
  const text = `{${texts.join(',\n')},\n"data":{`
  return { text, values: roles.map(({ value }) => value), damaged }
}

interface Section {
  readonly realm: string
  readonly table: string
}

/** The text between two objects: brackets, names and commas. */
function step(from: Section | undefined, to: Section): string {
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
  { choice }: Selection,
): Promise<Rows> {
  const table = tables.find(({ name }) => name === 'roles')
  const roles: Row[] = []
  const damaged: DamagedObject[] = []
  if (table === undefined || realm !== PUBLIC_REALM_REF) return { rows: roles, damaged }
  for await (const read of readRowsOfRealm(database, table, realm, choice)) {
    roles.push(...read.rows)
    damaged.push(...read.damaged)
  }
  return { rows: roles, damaged }
}

/** A role without what its place in the file says. */
function roleOf({ value }: Row): [string, object] {
  const { name, realmId: _, owner, ...role } = parseStored(value)
  return [String(name), owner === null ? role : { ...role, owner }]
}
