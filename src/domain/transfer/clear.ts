import { UNIT_MS } from '../job/job-runner'
import { removeStored } from '../object/remove'
import { requireTable } from '../object/tables'
import { removeObjects } from '../object/discard'
import { tracesBefore } from '../object/traces'
import { requireOwnerRow } from '../rows/owner-row'
import type { ObjectRemoval, TimedObject } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { quoted, SatchelError } from '../value/error'
import { keyOf } from '../value/key'
import { parseStored } from '../value/value'
import { nextTurn } from '../value/turn'
import { writingOf } from './application'

/**
 * Deletes all objects of a table (protocol.md §9.3 `clear-table`) in many short units, which clients get as
 * deletions. When it is interrupted the rest is still there: repeat it. Damaged objects stay. Resolves to the
 * number of deleted objects. `now` in ms. Throws `UNKNOWN_TABLE`.
 */
export async function clearTable(database: Database, name: string, now: number): Promise<number> {
  const table = await database.read((tx) => requireTable(tx, name))
  return await clear(database, table, null, now)
}

/**
 * Deletes all objects and members of a realm (protocol.md §9.3 `clear-realm`) as `clearTable` does; the
 * realm itself, its roles and the member row of its owner stay. Throws `UNKNOWN_REALM`.
 */
export async function clearRealm(database: Database, id: string, now: number): Promise<number> {
  const { realm, tables } = await database.read((tx) => contentsOf(tx, id))
  let removed = 0
  for (const table of tables) removed += await clear(database, table, realm, now)
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

async function clear(
  database: Database,
  table: Table,
  realm: RealmRef | null,
  now: number,
): Promise<number> {
  let removed = 0
  for (let after: number | undefined = 0; after !== undefined;) {
    const from: number = after
    const step = await database.write((tx) => clearSome(tx, table, realm, from, now))
    removed += step.removed
    after = step.next
    await nextTurn()
  }
  return removed
}

/** Objects that are deleted at once. */
const BATCH = { rows: 50, bytes: 1024 * 1024 }

function clearSome(
  tx: WriteTx,
  table: Table,
  realm: RealmRef | null,
  from: number,
  now: number,
): { removed: number; next: number | undefined } {
  const end = performance.now() + UNIT_MS
  let removed = 0
  let next: number | undefined = from
  while (next !== undefined && performance.now() < end) {
    const found = keysAfter(tx, table, next, realm)
    if (found.keys.length > 0) removed += removeAll(tx, table, found.keys, now)
    next = found.next
  }
  return { removed, next }
}

function keysAfter(tx: WriteTx, table: Table, after: number, realm: RealmRef | null) {
  const read = () => {
    if (realm === null) return tx.objects.scan(table, after, BATCH)
    const realms = new Set([realm])
    const positions = tx.objects.locate(table, after, { realms }, BATCH.rows)
    const { rows, next } = tx.objects.load(table, positions, BATCH)
    const isMore = positions.length === BATCH.rows
    return { rows, next: next ?? (isMore ? positions.at(-1) : undefined) }
  }
  const { rows, next } = read()
  const keys = rows
    .filter(({ isDamaged }) => isDamaged !== true)
    .flatMap(({ value }) => keyOf(table, parseStored(value)) ?? [])
  return { keys, next }
}

function removeAll(tx: WriteTx, table: Table, keys: readonly string[], now: number): number {
  const found = [...tx.objects.findMany(table, keys).values()]
  if (!table.builtIn) {
    const removals: ObjectRemoval[] = []
    for (const previous of found) {
      removals.push({ previous, ...tracesBefore(table, previous) })
    }
    removeObjects(tx, table, removals, now)
    return removals.length
  }
  let removed = 0
  for (const previous of found) if (removeRow(tx, table, previous, now)) removed += 1
  return removed
}

/** False for the member row of an owner, which stays while they own the realm. */
function removeRow(tx: WriteTx, table: Table, previous: TimedObject, now: number): boolean {
  try {
    const { userId } = parseStored(previous.value)
    tx.attempt(() => {
      removeStored(writingOf(tx, table, now), previous)
      if (typeof userId === 'string') requireOwnerRow(tx, previous.realm, userId)
    })
    return true
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'CONFLICT') return false
    throw error
  }
}
