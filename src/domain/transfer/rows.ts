import type { Chunk, ChunkSize, StoredRow } from '../store/objects'
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

/** The rows of a table in order of creation, `after` a position, read in chunks. */
export async function* readRows(database: Database, table: Table, after = 0): AsyncGenerator<Rows> {
  yield* scanTable(database, table, after)
}

/** The rows of a table that lie in one realm, in order of creation, read in chunks. */
export async function* readRowsOfRealm(
  database: Database,
  table: Table,
  realm: RealmRef,
): AsyncGenerator<Rows> {
  const realms = new Set([realm])
  const near = await database.read((tx) => tx.objects.scan(table, 0, CHUNK, realms))
  // Where the realm has a large part of the rows, they are passed over faster than located.
  if (near.rows.length === CHUNK.rows || near.next === undefined) {
    yield* scanTable(database, table, 0, realms)
    return
  }
  for (let after: number | undefined = 0; after !== undefined;) {
    const from: number = after
    const positions: Float64Array = await database.read((tx) =>
      tx.objects.locate(table, from, { realms }, MOST_LOCATED),
    )
    yield* loadPositions(database, table, positions, realms)
    after = positions.length === MOST_LOCATED ? positions.at(-1) : undefined
  }
}

/** Positions that are located at once. */
const MOST_LOCATED = 20_000

/** The tables in which each realm has objects. */
export async function findRealms(
  database: Database,
  tables: readonly Table[],
): Promise<Map<RealmRef, Table[]>> {
  const tablesByRealm = new Map<RealmRef, Table[]>()
  for (const table of tables) {
    for (let after: number | undefined = 0; after !== undefined;) {
      const from: number = after
      const { rows, next } = await database.read((tx) => tx.objects.scan(table, from, CHUNK))
      for (const { realm } of rows) {
        const found = tablesByRealm.get(realm)
        if (found === undefined) tablesByRealm.set(realm, [table])
        else if (found.at(-1) !== table) found.push(table)
      }
      after = next
      await nextTurn()
    }
  }
  return tablesByRealm
}

interface Reading extends Rows {
  readonly next: number | undefined
}

async function* scanTable(
  database: Database,
  table: Table,
  start: number,
  realms?: ReadonlySet<RealmRef>,
): AsyncGenerator<Reading> {
  for (let after: number | undefined = start; after !== undefined;) {
    const from: number = after
    const reading: Reading = await database.read((tx) =>
      readingOf(tx, table, tx.objects.scan(table, from, CHUNK, realms)),
    )
    yield reading
    after = reading.next
    await nextTurn()
  }
}

async function* loadPositions(
  database: Database,
  table: Table,
  positions: Float64Array,
  realms: ReadonlySet<RealmRef>,
): AsyncGenerator<Reading> {
  const isThere = ({ realm, isDamaged }: StoredRow) => isDamaged === true || realms.has(realm)
  for (let rest = positions; rest.length > 0;) {
    const group = rest.subarray(0, CHUNK.rows)
    const reading = await database.read((tx) => {
      const { rows, next } = tx.objects.load(table, group, CHUNK)
      // Some may have moved since they were located.
      return readingOf(tx, table, { rows: rows.filter(isThere), next })
    })
    yield reading
    const { next } = reading
    rest = rest.subarray(next === undefined ? group.length : group.indexOf(next) + 1)
    await nextTurn()
  }
}

function readingOf(tx: ReadTx, table: Table, chunk: Chunk): Reading {
  const rows: Row[] = []
  const damaged: DamagedObject[] = []
  for (const row of chunk.rows) {
    if (row.isDamaged === true) {
      damaged.push({ table: table.name, key: keyOfDamaged(row) })
      continue
    }
    const { seq, realm: ref, value } = row
    const realm = tx.realms.findByRef(ref)
    const key = keyOf(table, parseStored(value))
    if (realm !== undefined && key !== undefined) rows.push({ seq, realm: realm.id, key, value })
  }
  return { rows, damaged, next: chunk.next }
}

function keyOfDamaged(row: StoredRow): string {
  try {
    return row.value
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'DAMAGED') return error.reason ?? ''
    throw error
  }
}
