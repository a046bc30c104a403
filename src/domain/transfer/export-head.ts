import type { RealmRef } from '../store/realms'
import type { Database } from '../store/store'
import { listEveryUser } from '../user/list'
import { requireTable } from '../object/tables'
import { BUILT_IN_TABLES, type Table } from '../store/tables'

/** What an export holds, when not everything. */
export interface Selection {
  readonly realm: string | null
  readonly table: string | null
}

/** A piece of an export as text, and the objects in it. */
export interface ExportPiece {
  readonly text: string
  /** The stored texts of the objects. */
  readonly values: readonly string[]
}

/** True when not everything is exported. */
export function isPart({ realm, table }: Selection): boolean {
  return realm !== null || table !== null
}

/** What stands before the objects of an export, and where those are. */
export interface ExportHead {
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
export function readHead(database: Database, selection: Selection): Promise<ExportHead> {
  return database.read(async (tx) => {
    const tables =
      selection.table === null
        ? inOrder(await tx.tables.list())
        : [await requireTable(tx, selection.table)]
    const declared = tables.filter((table) => !isAsMade(table))
    const realm = selection.realm === null ? undefined : await tx.realms.find(selection.realm)
    return {
      schema: Object.fromEntries(declared.map(({ name, stores }) => [name, stores])),
      idPrefixes: Object.fromEntries(
        declared.flatMap(({ name, generated, idPrefix }) => (generated ? [[name, idPrefix]] : [])),
      ),
      sealed: await tx.tables.isSealed(),
      demoUsers: isPart(selection)
        ? null
        : Object.fromEntries(
            (await listEveryUser(tx, { type: 'demo' }))
              .filter(({ id }) => id.endsWith('@demo.local'))
              .map(({ id, data }) => [id, data ?? {}]),
          ),
      tables: selection.realm !== null && realm === undefined ? [] : tables,
      realm: realm?.ref,
    }
  })
}

/** Roles and members come after the realms they are about, and all else after those. */
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
