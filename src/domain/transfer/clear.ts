import { requireTable } from '../object/tables'
import { type RowChange, writeRows } from '../object/write'
import type { Writing } from '../object/writing'
import { requireOwnerRow } from '../rows/owner-row'
import type { ChunkSize, Page, TimedObject } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { quoted, SatchelError } from '../value/error'
import { keyOf } from '../value/key'
import { parseStored } from '../value/value'
import { writingOf } from './application'
import { pagesOf } from './rows'

/**
 * Deletes all objects of a table (protocol.md §9.3 `clear-table`) in many short units, which clients get as
 * deletions. When it is interrupted the rest is still there: repeat it. Damaged objects stay. Resolves to the
 * number of deleted objects. `now` in ms. Throws `UNKNOWN_TABLE`, and the reason of the signal, which interrupts it.
 */
export async function clearTable(
  database: Database,
  name: string,
  now: number,
  signal?: AbortSignal,
): Promise<number> {
  const table = await database.read((tx) => requireTable(tx, name))
  return await clear(database, table, { realm: null, now, signal })
}

/**
 * Deletes all objects and members of a realm (protocol.md §9.3 `clear-realm`) as `clearTable` does; the
 * realm itself, its roles and the member row of its owner stay. Throws `UNKNOWN_REALM`.
 */
export async function clearRealm(
  database: Database,
  id: string,
  now: number,
  signal?: AbortSignal,
): Promise<number> {
  const { realm, tables } = await database.read((tx) => contentsOf(tx, id))
  let removed = 0
  for (const table of tables) removed += await clear(database, table, { realm, now, signal })
  return removed
}

function contentsOf(tx: ReadTx, id: string) {
  const realm = tx.realms.find(id)
  if (realm === undefined) {
    throw new SatchelError('UNKNOWN_REALM', `There is no realm ${quoted(id)}`)
  }
  const tables: Table[] = []
  for (const table of tx.tables.list()) {
    const { size } = tx.objects.realmsWith(table, new Set([realm.ref]))
    if (size > 0 && !KEPT.has(table.name)) tables.push(table)
  }
  return { realm: realm.ref, tables }
}

const KEPT = new Set(['realms', 'roles'])

interface Clearing {
  readonly realm: RealmRef | null
  readonly now: number
  readonly signal: AbortSignal | undefined
}

async function clear(
  database: Database,
  table: Table,
  { realm, now, signal }: Clearing,
): Promise<number> {
  const realms = realm === null ? undefined : new Set([realm])
  let removed = 0
  for await (const keys of pagesOf(database, table, soundKeys, { realms, size: BATCH })) {
    signal?.throwIfAborted()
    if (keys.length > 0) {
      removed += await database.write((tx) => removeAll(tx, table, realm, keys, now))
    }
  }
  return removed
}

function soundKeys(_tx: ReadTx, table: Table, { rows }: Page): string[] {
  return rows
    .filter(({ isDamaged }) => isDamaged !== true)
    .flatMap(({ value }) => keyOf(table, parseStored(value)) ?? [])
}

/** Objects that are deleted at once. */
const BATCH: ChunkSize = { rows: 100, bytes: 1024 * 1024 }

/** Removes those of the objects that are still there. */
function removeAll(
  tx: WriteTx,
  table: Table,
  realm: RealmRef | null,
  keys: readonly string[],
  now: number,
): number {
  const found = [...tx.objects.findMany(table, keys).values()].filter(
    (object) => object.isDamaged !== true && (realm === null || object.realm === realm),
  )
  const writing = writingOf(tx, table, now)
  if (!table.builtIn) {
    writeRows(writing, found.map(goes))
    return found.length
  }
  return found.filter((before) => removeByRules(writing, before)).length
}

function goes(before: TimedObject): RowChange {
  return { before, after: undefined }
}

/** False for the member row of an owner, which stays while they own the realm. */
function removeByRules(writing: Writing, previous: TimedObject): boolean {
  const { tx } = writing
  try {
    const { userId } = parseStored(previous.value)
    tx.attempt(() => {
      writeRows(writing, [goes(previous)])
      if (typeof userId === 'string') requireOwnerRow(tx, previous.realm, userId)
    })
    return true
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'CONFLICT') return false
    throw error
  }
}
