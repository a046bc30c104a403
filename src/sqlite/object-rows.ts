import type { SQLQueryBindings } from 'bun:sqlite'
import type { ObjectPut, TimedObject } from '../domain/store/objects'
import type { Table } from '../domain/store/tables'
import { quoted, SatchelError } from '../domain/value/error'
import { putRefs } from './blobs'
import type { TxContext, WriteContext } from './context'
import { sweep } from './entries'
import { isTaken } from './failure'
import { erasing } from './realms'
import { type Summed, UNKNOWN_REALM } from './soundness'
import { isHeadSound, sumOfObject, withHead } from './sum'
import { objectTable, perTable, TIMED_COLUMNS } from './tables'
import type { Unit } from './unit'

/** Raises the bound that `textFrom` relies on; a UTF-16 unit takes at most three bytes. */
function noteLargest(
  context: WriteContext,
  { group }: Unit,
  { number }: Table,
  value: string,
): void {
  const known = group.largest.get(number) ?? context.committed.largest.get(number) ?? 0
  const bytes = value.length * 3
  if (bytes > known) group.largest.set(number, bytes)
}

/** Writes the row of a new object. Returns its position. Throws `CONFLICT` when its key is taken. */
export function insert(
  context: WriteContext,
  unit: Unit,
  table: Table,
  put: ObjectPut,
  now: number,
): number {
  let seq = insertRow(context, unit, table, put, now)
  if (seq === undefined) {
    freeKey(context, table, put.key)
    seq = insertRow(context, unit, table, put, now)
  }
  if (seq === undefined) throw new Error('a key was taken twice')
  return seq
}

const INSERTED = 'seq, key, realm, owner, revision, entered, updated_at, stamps, value, sum'
const ROW = '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

const insertInto = perTable(
  (name) => `INSERT INTO ${name} (${INSERTED}) VALUES ${ROW} ON CONFLICT (key) DO NOTHING`,
)

/** A statement with this many rows takes two thirds of the time of as many statements. */
export const ROWS_PER_STATEMENT = 16

/** Objects with longer values are inserted one by one. */
const SHORT_VALUE_LENGTH = 1_024

const insertRowsInto = perTable(
  (name) =>
    `INSERT INTO ${name} (${INSERTED}) VALUES ${Array(ROWS_PER_STATEMENT).fill(ROW).join(', ')}`,
)

/** Inserts rows up to the first whose key is taken, at consecutive positions. Returns how many. */
export function insertRows(
  context: WriteContext,
  unit: Unit,
  table: Table,
  puts: readonly ObjectPut[],
  now: number,
): number {
  let count = 0
  while (puts.length - count >= ROWS_PER_STATEMENT) {
    const some = puts.slice(count, count + ROWS_PER_STATEMENT)
    // The statement copies its values, and may keep the copies.
    if (some.some(({ value }) => value.length > SHORT_VALUE_LENGTH)) break
    if (!insertTogether(context, unit, table, some, now)) break
    count += ROWS_PER_STATEMENT
  }
  while (count < puts.length) {
    if (insertRow(context, unit, table, puts[count]!, now) === undefined) break
    count += 1
  }
  return count
}

/** Inserts `ROWS` rows. False, with nothing changed, when a key of them is taken. */
function insertTogether(
  context: WriteContext,
  unit: Unit,
  table: Table,
  puts: readonly ObjectPut[],
  now: number,
): boolean {
  const { counters } = unit.group
  const revision = unit.nextRevision()
  const values: SQLQueryBindings[] = []
  for (const [at, put] of puts.entries()) {
    addRow(values, counters.nextSeq + at, put, revision, now)
  }
  try {
    context.connection.prepare(insertRowsInto(table)).run(...values)
  } catch (error) {
    if (isTaken(error)) return false
    throw error
  }
  for (const put of puts) inserted(context, unit, table, counters.nextSeq, put)
  return true
}

/** Returns the position of the row; undefined, with nothing changed, when its key is taken. */
function insertRow(
  context: WriteContext,
  unit: Unit,
  table: Table,
  put: ObjectPut,
  now: number,
): number | undefined {
  const seq = unit.group.counters.nextSeq
  const revision = unit.nextRevision()
  const values: SQLQueryBindings[] = []
  addRow(values, seq, put, revision, now)
  const { changes } = context.connection.prepare(insertInto(table)).run(...values)
  if (changes === 0) return undefined
  inserted(context, unit, table, seq, put)
  return seq
}

/** Adds the columns of a row, as `INSERTED` names them. */
function addRow(
  values: SQLQueryBindings[],
  seq: number,
  put: ObjectPut,
  revision: number,
  updated: number,
): void {
  const { key, realm, owner, value, stamps = null } = put
  const entered = revision
  const sum = sumOfObject({ seq, key, realm, owner, revision, entered, updated, stamps, value })
  values.push(seq, key, realm, owner, revision, entered, updated, stamps, value, sum)
}

/** The rest of an insertion, once its row is there. */
function inserted(
  context: WriteContext,
  unit: Unit,
  table: Table,
  seq: number,
  put: ObjectPut,
): void {
  const { counters } = unit.group
  counters.nextSeq = seq + 1
  if (!table.builtIn) counters.objects += 1
  unit.revision()
  noteLargest(context, unit, table, put.value)
  putRefs(context, table.number, seq, put)
  touchRealm(context, unit, table, put)
}

/**
 * A row of a realm that is being erased still has its key, until it is needed; the erasure finds the row
 * by its realm.
 */
function freeKey(context: TxContext, table: Table, key: string): void {
  const name = objectTable(table.number)
  const row = context.connection
    .prepare<Summed<TimedObject>>(`SELECT ${TIMED_COLUMNS} FROM ${name} WHERE key = ?`)
    .get(key)
  if (row === null || !erasing(context).has(row.realm)) {
    throw new SatchelError(
      'CONFLICT',
      `The key ${quoted(key)} already exists in ${quoted(table.name)}: use another key`,
    )
  }
  // No object can have such a key.
  const freed = { ...row, key: `\u0001${row.seq}` }
  const sum = isHeadSound(row, row.sum) ? withHead(freed, row.sum) : row.sum
  context.connection
    .prepare(`UPDATE ${name} SET key = ?, sum = ? WHERE seq = ?`)
    .run(freed.key, sum, row.seq)
}

const updateOf = perTable(
  (name) =>
    `UPDATE ${name} SET realm = ?, owner = ?, revision = ?, entered = ?, updated_at = ?, stamps = ?, value = ?, sum = ? WHERE seq = ?`,
)

/** Rewrites the row of an object that is replaced. */
export function update(
  context: WriteContext,
  unit: Unit,
  table: Table,
  put: ObjectPut,
  previous: TimedObject,
  now: number,
): void {
  noteLargest(context, unit, table, put.value)
  const { seq } = previous
  const { key, realm, owner, value, stamps = null } = put
  const isMoved = previous.realm !== put.realm
  if (isMoved) writeTombstone(context, unit, table, previous, now)
  const revision = unit.revision()
  const entered = isMoved || previous.isDamaged === true ? revision : previous.entered
  const sum = sumOfObject({
    seq,
    key,
    realm,
    owner,
    revision,
    entered,
    updated: now,
    stamps,
    value,
  })
  context.connection
    .prepare(updateOf(table))
    .run(realm, owner, revision, entered, now, stamps, value, sum, seq)
  if (previous.isDamaged === true) sweep(context, table, seq)
  const blobs = put.previousTraces?.blobs ?? []
  putRefs(context, table.number, previous.seq, put, { realm: previous.realm, blobs })
  touchRealm(context, unit, table, put)
}

/** Tells clients that saw the object in its realm that it is gone from there. */
export function writeTombstone(
  context: TxContext,
  unit: Unit,
  table: Table,
  { key, realm, entered }: TimedObject,
  now: number,
): void {
  if (realm === UNKNOWN_REALM) return
  const { number } = table
  const { client } = unit
  const revision = unit.revision()
  context.connection
    .prepare(
      'INSERT OR REPLACE INTO tombstones (table_number, key, realm, revision, at, client, entered) VALUES (?, ?, ?, ?, ?, ?, ?)',
    )
    .run(number, key, realm, revision, now, client, entered)
  unit.touchRealm(realm, table.name)
  unit.group.flags.tombstones = true
}

/** Announces the object in its realm, and removes the tombstone of an earlier stay there. */
function touchRealm(context: TxContext, unit: Unit, table: Table, put: ObjectPut): void {
  unit.touchRealm(put.realm, table.name)
  if (!context.committed.hasTombstones && !unit.group.flags.tombstones) return
  context.connection
    .prepare('DELETE FROM tombstones WHERE table_number = ? AND key = ? AND realm = ?')
    .run(table.number, put.key, put.realm)
}
