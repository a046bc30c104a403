import { type Choice, filtersOf, searching } from '../object/choice'
import { indexedFilter, matches } from '../object/filter'
import type { ChunkSize, Page, PageEnd, PageQuery, StoredRow } from '../store/objects'
import { SatchelError } from '../value/error'
import { keyOf } from '../value/key'
import { parseStored } from '../value/value'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx } from '../store/store'
import { nextTurn } from '../value/turn'
import type { Table } from '../store/tables'

/** An object as it leaves. */
export interface Row {
  readonly seq: number
  readonly realm: string
  readonly key: string
  /** The stored text. */
  readonly value: string
}

/** Objects that an export leaves out, because their checksums are wrong. */
export interface DamagedObject {
  readonly table: string
  readonly key: string
}

/** Some objects of a table, or of a realm in it. */
export interface Rows {
  readonly rows: readonly Row[]
  readonly damaged: readonly DamagedObject[]
}

/** One short read (design.md §3 Lists). */
const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }

/** The rows of a table, or those of a choice, in order of creation, `after` a position, read in chunks. */
export function readRows(
  database: Database,
  table: Table,
  choice?: Choice,
  after = 0,
): AsyncGenerator<Rows> {
  return pagesOf(database, table, choosing(choice), { after: { seq: after }, choice })
}

/** The same of the rows that lie in one realm. */
export function readRowsOfRealm(
  database: Database,
  table: Table,
  realm: RealmRef,
  choice?: Choice,
): AsyncGenerator<Rows> {
  return pagesOf(database, table, choosing(choice), { realms: new Set([realm]), choice })
}

/** The tables in which each realm has objects. */
export async function findRealms(
  database: Database,
  tables: readonly Table[],
): Promise<Map<RealmRef, Table[]>> {
  const tablesByRealm = new Map<RealmRef, Table[]>()
  for (const table of tables) {
    for await (const rows of pagesOf(database, table, (_tx, _table, { rows }) => rows)) {
      for (const { realm } of rows) {
        const found = tablesByRealm.get(realm)
        if (found === undefined) tablesByRealm.set(realm, [table])
        else if (found.at(-1) !== table) found.push(table)
      }
    }
  }
  return tablesByRealm
}

/** The results of `use` for each page of a table, or of some realms in it, in the read of that page. */
export async function* pagesOf<T>(
  database: Database,
  table: Table,
  use: (tx: ReadTx, table: Table, page: Page) => T,
  { after: start, realms, choice, size = CHUNK }: Part = {},
): AsyncGenerator<T> {
  const filters = choice && filtersOf(choice)
  let after = start
  do {
    const { used, next } = await database.read((tx) => {
      // An index may have gone since the page before.
      const lookup = filters && indexedFilter(tx.tables.find(table.name) ?? table, filters)?.lookup
      const query: PageQuery = { after, size, realms, lookup }
      const page = tx.objects.page(table, query)
      return { used: use(tx, table, page), next: page.next }
    })
    yield used
    after = next
    await nextTurn()
  } while (after !== undefined)
}

/** The part of a table that is read. */
interface Part {
  readonly after?: PageEnd
  readonly realms?: ReadonlySet<RealmRef> | undefined
  readonly choice?: Choice | undefined
  readonly size?: ChunkSize
}

/** Takes the rows of a choice from a page. Throws `INVALID_REQUEST`. */
function choosing(choice: Choice | undefined) {
  if (choice === undefined) return rowsOf
  const [filters, hasText] = [filtersOf(choice), searching(choice.search)]
  const isChosen = (row: Row) =>
    row.key.startsWith(choice.prefix) &&
    hasText?.(row) !== false &&
    (filters.length === 0 || matches(filters, parseStored(row.value)))
  return (tx: ReadTx, table: Table, page: Page): Rows => {
    const { rows, damaged } = rowsOf(tx, table, page)
    return { rows: rows.filter(isChosen), damaged }
  }
}

function rowsOf(tx: ReadTx, table: Table, page: Page): Rows {
  const rows: Row[] = []
  const damaged: DamagedObject[] = []
  for (const row of page.rows) {
    if (row.isDamaged === true) {
      damaged.push({ table: table.name, key: keyOfDamaged(row) })
      continue
    }
    const { seq, realm: ref, value } = row
    const realm = tx.realms.findByRef(ref)
    const key = keyOf(table, parseStored(value))
    if (realm !== undefined && key !== undefined) rows.push({ seq, realm: realm.id, key, value })
  }
  return { rows, damaged }
}

function keyOfDamaged(row: StoredRow): string {
  try {
    return row.value
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'DAMAGED') return error.reason ?? ''
    throw error
  }
}
