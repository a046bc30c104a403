import type { Erased, TimedObject, Traces } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { eraseUploads, removeIfLeft, removeRefs } from './blobs'
import type { WriteContext } from './context'
import { removeEntries, sweep } from './entries'
import { type FoundRow, READ_BYTES, shownRow, SMALL_VALUE, whole } from './places'
import { erasing } from './realms'
import { isContentSound, sumOfObject } from './sum'
import { noteSum } from './summed'
import { knownTables, objectTable } from './tables'

/** A key that no object can have, for a row that must not be found. */
export function freedKey(seq: number): string {
  return `\u0001${seq}`
}

/** Stores an object where nobody sees it; the position of its row. */
export function stage(
  { connection, unit }: WriteContext,
  table: Table,
  value: string,
  realm: RealmRef,
  now: number,
): number {
  const { counters } = unit.group
  const seq = counters.nextSeq
  const { revision } = counters
  const key = freedKey(seq)
  const times = { revision, entered: revision, updated: now, stamps: null }
  const sum = sumOfObject({ seq, key, realm, owner: null, ...times, value })
  connection
    .prepare(
      `INSERT INTO ${objectTable(table.number)} (seq, key, realm, owner, revision, entered, updated_at, stamps, value, sum) VALUES (?, ?, ?, NULL, ?, ?, ?, NULL, ?, ?)`,
    )
    .run(seq, key, realm, revision, revision, now, value, sum)
  counters.nextSeq += 1
  return seq
}

export function readStaged(context: WriteContext, table: Table, seq: number): string {
  const row = context.connection
    .prepare<FoundRow>(
      `SELECT seq, realm, value, sum FROM ${objectTable(table.number)} WHERE seq = ?`,
    )
    .get(seq)
  if (row === null) throw new Error('a staged object is gone')
  return shownRow(context, table, row).value
}

/** Moves the row of an object to a realm that is being erased; its entries go with it. */
export function discard(
  context: WriteContext,
  table: Table,
  previous: TimedObject,
  blobs: readonly string[],
  realm: RealmRef,
): void {
  const { seq } = previous
  removeRefs(context, seq, { realm: previous.realm, blobs })
  const row = { ...previous, key: freedKey(seq), realm, stamps: null }
  context.connection
    .prepare(
      `UPDATE ${objectTable(table.number)} SET key = ?, realm = ?, stamps = NULL, sum = ? WHERE seq = ?`,
    )
    .run(row.key, realm, sumOfObject(row), seq)
}

/**
 * One step of the erasure of a realm: rows of its objects first, then its tombstones and, where it is
 * a user's private realm, their uploads, then its number.
 */
export function erase(
  context: WriteContext,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
  place: string,
): Erased | undefined {
  if (!erasing(context).has(realm)) return undefined
  for (const table of knownTables(context).values()) {
    const erased = eraseRows(context, table, realm, limit, tracesOf, place)
    if (erased !== undefined) return erased
  }
  const count =
    eraseTombstones(context, realm, limit) ||
    eraseFormer(context, realm, limit) ||
    eraseUploads(context, realm, limit)
  if (count > 0) return { count, place: '' }
  finish(context, realm)
  return undefined
}

function finish({ connection, unit: { group } }: WriteContext, realm: RealmRef): void {
  connection.prepare("UPDATE realm_ids SET state = 'erased' WHERE number = ?").run(realm)
  noteSum(connection, 'realm_ids', realm)
  group.flags.realms = true
  group.erasing = undefined
}

const NO_TRACES: Traces = { entries: [], blobs: [] }

/** Index entries of one object that one step removes. */
const MOST_ENTRIES = 20_000

/** Undefined when the table has no row of the realm. */
function eraseRows(
  context: WriteContext,
  table: Table,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
  place: string,
): Erased | undefined {
  const name = objectTable(table.number)
  const found = context.connection
    .prepare<FoundRow & { bytes: number }>(
      `SELECT seq, realm, octet_length(value) AS bytes, ${SMALL_VALUE}, sum FROM ${name} WHERE realm = ? LIMIT ?`,
    )
    .all(realm, limit)
  let left = READ_BYTES
  const rows = found.filter(({ bytes }, at) => (left -= bytes) >= 0 || at === 0)
  let count = 0
  for (const row of rows) {
    const { seq, sum } = row
    const { value } = whole(context, table, row)
    const isSound = isContentSound(value, realm, sum)
    if (!isSound) sweep(context, table, seq)
    const { entries, blobs } = isSound ? tracesOf(table, value) : NO_TRACES
    const rest = eraseEntries(context, { table, seq, entries }, place)
    if (rest !== undefined) return { count, place: rest }
    removeRefs(context, seq, { realm, blobs })
    for (const blob of blobs) removeIfLeft(context, blob)
    context.connection.prepare(`DELETE FROM ${name} WHERE seq = ?`).run(seq)
    count += 1
  }
  return count === 0 ? undefined : { count, place: '' }
}

interface RowOfTable {
  readonly table: Table
  readonly seq: number
  readonly entries: Traces['entries']
}

/** Removes the index entries of a row. The place to go on at, when they are too many for one step. */
function eraseEntries(
  context: WriteContext,
  { table, seq, entries }: RowOfTable,
  place: string,
): string | undefined {
  if (!('part' in entries) || entries.count <= MOST_ENTRIES) {
    removeEntries(context, [{ seq, entries }])
    return undefined
  }
  // The values of other indexes are counted differently, and entries may be removed twice.
  const row = [table.number, seq, ...table.indexes.map(({ number }) => number)].join()
  const [known, position] = place.split(' ')
  const part = entries.part(known === row ? Number(position) : 0, MOST_ENTRIES)
  removeEntries(context, [{ seq, entries: part.entries }])
  return part.next === undefined ? undefined : `${row} ${part.next}`
}

function eraseFormer({ connection }: WriteContext, realm: RealmRef, limit: number): number {
  return connection
    .prepare(
      'DELETE FROM former_memberships WHERE (subject, key) IN (SELECT subject, key FROM former_memberships WHERE realm = ? LIMIT ?)',
    )
    .run(realm, limit).changes
}

function eraseTombstones({ connection }: WriteContext, realm: RealmRef, limit: number): number {
  return connection
    .prepare(
      'DELETE FROM tombstones WHERE (table_number, key, realm) IN (SELECT table_number, key, realm FROM tombstones WHERE realm = ? LIMIT ?)',
    )
    .run(realm, limit).changes
}
