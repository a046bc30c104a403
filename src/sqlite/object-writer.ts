import type {
  IndexEntry,
  ObjectPut,
  ObjectRemoval,
  ObjectWriter,
  TimedObject,
  Traces,
} from '../domain/store/objects'
import { SatchelError, quoted } from '../domain/value/error'
import { fact } from './memo'
import { putRefs, removeRefs, eraseUploads, removeIfLeft } from './blobs'
import type { Unit } from './unit'
import { objectTable, knownTables, perTable, TIMED_COLUMNS } from './tables'
import { type Summed, UNKNOWN_REALM } from './soundness'
import { isContentSound, isHeadSound, sumOfObject, sumOfTombstone, withHead } from './sum'
import { findTimed, ObjectReads } from './objects'
import { type FoundRow, highestOf, READ_BYTES, SMALL_VALUE, whole } from './places'
import { erasing } from './realms'
import { noteSum } from './summed'
import { eraseOperations } from './sync'
import type { TxContext, WriteContext } from './context'
import { andThen, type Awaitable } from '../domain/store/records'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'

export class ObjectWrites extends ObjectReads<WriteContext> implements ObjectWriter {
  override find(table: Table, key: string, realms?: ReadonlySet<RealmRef>) {
    return findTimed(this.context, table, key, realms)
  }

  override findMany(table: Table, keys: readonly string[]) {
    return this.findTimed(table, keys)
  }

  put(table: Table, puts: readonly ObjectPut[], now: number) {
    const { context } = this
    const { unit } = context
    for (const { key, realm, previous } of table.builtIn ? puts : []) {
      touchRow(unit, table, key, [realm, previous?.realm ?? realm])
    }
    const removed: RowEntries[] = []
    const added: RowEntries[] = []
    const rows = inTurns(unit, puts, (put) => {
      const { previous, previousTraces, entries } = put
      const seq = previous?.seq ?? insert(context, unit, table, put, now)
      if (previous !== undefined) update(context, unit, table, put, previous, now)
      if (previousTraces !== undefined && !isNone(previousTraces.entries)) {
        removed.push({ seq, entries: previousTraces.entries })
      }
      if (!isNone(entries)) added.push({ seq, entries })
    })
    // In this order, because an entry of both is there afterwards.
    return andThen(rows, () =>
      andThen(removeEntries(context, removed), () => putEntries(context, added)),
    )
  }

  insert(table: Table, put: ObjectPut, now: number) {
    const { context } = this
    const { unit } = context
    const seq = insertRow(context, unit, table, put, now)
    if (seq === undefined) return false
    if (table.builtIn) touchRow(unit, table, put.key, [put.realm])
    const { entries } = put
    if (isNone(entries)) return true
    return andThen(putEntries(context, [{ seq, entries }]), () => true)
  }

  remove(table: Table, removals: readonly ObjectRemoval[], now: number) {
    const { context } = this
    const { unit } = context
    for (const { previous } of table.builtIn ? removals : []) {
      touchRow(unit, table, previous.key, [previous.realm])
    }
    return inTurns(unit, removals, ({ previous, entries, blobs }) => {
      writeTombstone(context, unit, table, previous, now)
      context.connection
        .prepare(`DELETE FROM ${objectTable(table.number)} WHERE seq = ?`)
        .run(previous.seq)
      if (previous.isDamaged === true) sweep(context, table, previous.seq)
      removeRefs(context, previous.seq, { realm: previous.realm, blobs })
      return removeEntries(context, [{ seq: previous.seq, entries }])
    })
  }

  addEntries(rows: readonly RowEntries[]) {
    return putEntries(this.context, rows)
  }

  dropEntries(limit: number) {
    return dropEntries(this.context, limit)
  }

  erase(realm: RealmRef, limit: number, tracesOf: (table: Table, value: string) => Traces) {
    return erase(this.context, realm, limit, tracesOf)
  }
}

/** Most objects are in no index: nothing is made for each of them. */
function isNone(entries: Iterable<IndexEntry>): boolean {
  return Array.isArray(entries) && entries.length === 0
}

/** Entries of the row at a position. */
interface RowEntries {
  readonly seq: number
  readonly entries: Iterable<IndexEntry>
}

/** A change of a row that values may have been loaded from. */
function touchRow(unit: Unit, { name }: Table, key: string, realms: readonly RealmRef[]): void {
  unit.touchPolicy(
    [fact('row', `${name} ${key}`), fact('rows', name)],
    name === 'roles' ? realms : [],
  )
}

/** The clock is read once for so many items. */
const ITEMS_PER_LOOK = 16

/**
 * Takes one item after the other. When the unit has run for a while, others get a turn between two
 * of them, and the unit may be ended there: `step` takes its connection from the context each time.
 */
function inTurns<T>(
  unit: Unit,
  items: Iterable<T>,
  step: (item: T) => Awaitable<void>,
): Awaitable<void> {
  if (Array.isArray(items) && items.length === 0) return
  const rest = items[Symbol.iterator]()
  let count = 0

  function go(): Awaitable<void> {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      count += 1
      const pause = step(next.value) ?? (count % ITEMS_PER_LOOK === 0 ? unit.breathe() : undefined)
      if (pause !== undefined) return pause.then(go)
    }
  }

  return go()
}

/** Raises the bound that `scanText` relies on; a UTF-16 unit takes at most three bytes. */
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

function insert(
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

const insertInto = perTable(
  (name) =>
    `INSERT INTO ${name} (seq, key, realm, owner, revision, entered, updated_at, stamps, value, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (key) DO NOTHING`,
)

/** Returns the position of the row; undefined, with nothing changed, when its key is taken. */
function insertRow(
  context: WriteContext,
  unit: Unit,
  table: Table,
  put: ObjectPut,
  now: number,
): number | undefined {
  const { counters } = unit.group
  const seq = counters.nextSeq
  const { key, realm, owner, value, stamps = null } = put
  const revision = unit.nextRevision()
  const sum = sumOfObject({
    seq,
    key,
    realm,
    owner,
    revision,
    entered: revision,
    updated: now,
    stamps,
    value,
  })
  const { changes } = context.connection
    .prepare(insertInto(table))
    .run(seq, key, realm, owner, revision, now, stamps, value, sum)
  if (changes === 0) return undefined
  counters.nextSeq += 1
  unit.revision()
  noteLargest(context, unit, table, put.value)
  putRefs(context, table.number, seq, put)
  touchRealm(context, unit, table, put)
  return seq
}

/**
 * A row of a realm that is being erased still has its key. It gets one that no object can have; the
 * erasure finds it by its realm.
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
  const freed = { ...row, key: `\u0001${row.seq}` }
  const sum = isHeadSound(row, row.sum) ? withHead(freed, row.sum) : row.sum
  context.connection
    .prepare(`UPDATE ${name} SET key = ?, sum = ? WHERE seq = ?`)
    .run(freed.key, sum, row.seq)
}

function update(
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
    .prepare(
      `UPDATE ${objectTable(table.number)} SET realm = ?, owner = ?, revision = ?, entered = ?, updated_at = ?, stamps = ?, value = ?, sum = ? WHERE seq = ?`,
    )
    .run(realm, owner, revision, entered, now, stamps, value, sum, seq)
  if (previous.isDamaged === true) sweep(context, table, seq)
  const blobs = put.previousTraces?.blobs ?? []
  putRefs(context, table.number, previous.seq, put, { realm: previous.realm, blobs })
  touchRealm(context, unit, table, put)
}

const NO_TRACES: Traces = { entries: [], blobs: [] }

/** Removes the traces of a damaged object, which are not known: indexes and references are read whole. */
function sweep(context: WriteContext, table: Table, seq: number): void {
  const { prepare } = context.connection
  for (const { number } of table.indexes) {
    prepare('DELETE FROM index_entries WHERE index_number = ? AND seq = ?').run(number, seq)
  }
  const refs = prepare<{ blob: string; realm: RealmRef }>(
    'SELECT blob, realm FROM blob_refs WHERE seq = ? AND table_number = ?',
  ).all(seq, table.number)
  for (const { blob, realm } of refs) removeRefs(context, seq, { realm, blobs: [blob] })
}

function putEntries(context: WriteContext, rows: readonly RowEntries[]): Awaitable<void> {
  return inKeyOrder(context.unit, rows, (index, key, seq) => {
    context.connection
      .prepare('INSERT OR IGNORE INTO index_entries (index_number, key, seq) VALUES (?, ?, ?)')
      .run(index, key, seq)
    if ((key[0] ?? 0) > highestOf(context, index))
      context.unit.group.highest.set(index, key[0] ?? 0)
  })
}

function removeEntries(context: WriteContext, rows: readonly RowEntries[]): Awaitable<void> {
  return inKeyOrder(context.unit, rows, (index, key, seq) => {
    context.connection
      .prepare('DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?')
      .run(index, key, seq)
  })
}

/** So few entries are taken in the order in which they come. */
const FEW = 100

/**
 * Takes the entries of rows, those with the same key one after the other: neighbours in the index take
 * half as long. Entries that are made while they are taken follow row by row.
 */
function inKeyOrder(
  unit: Unit,
  rows: readonly RowEntries[],
  step: (index: number, key: Uint8Array, seq: number) => void,
): Awaitable<void> {
  let count = 0
  for (const { entries } of rows) if (Array.isArray(entries)) count += entries.length
  const isSimple = rows.length < 2 || count < FEW
  const groups = isSimple ? [] : groupByKey(rows)
  const others = isSimple ? rows : rows.filter(({ entries }) => !Array.isArray(entries))
  return andThen(
    inTurns(unit, groups, ({ index, key, seqs }) =>
      inTurns(unit, seqs, (seq) => step(index, key, seq)),
    ),
    () =>
      inTurns(unit, others, ({ seq, entries }) =>
        inTurns(unit, entries, ({ index, key }) => step(index, key, seq)),
      ),
  )
}

interface KeyGroup extends IndexEntry {
  readonly seqs: number[]
}

/** By the identity of keys: only equal values of one batch have the same one. */
function groupByKey(rows: readonly RowEntries[]): Iterable<KeyGroup> {
  const byIndex = new Map<number, Map<Uint8Array, KeyGroup>>()
  for (const { seq, entries } of rows) {
    if (!Array.isArray(entries)) continue
    for (const { index, key } of entries as readonly IndexEntry[]) {
      let byKey = byIndex.get(index)
      if (byKey === undefined) byIndex.set(index, (byKey = new Map<Uint8Array, KeyGroup>()))
      const group = byKey.get(key)
      if (group === undefined) byKey.set(key, { index, key, seqs: [seq] })
      else group.seqs.push(seq)
    }
  }
  return byIndex.values().flatMap((byKey) => byKey.values())
}

/** Tells clients that saw the object in its realm that it is gone from there. */
function writeTombstone(
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
  const sum = sumOfTombstone({ number, key, realm, revision, at: now, client, entered })
  context.connection
    .prepare(
      'INSERT OR REPLACE INTO tombstones (table_number, key, realm, revision, at, client, entered, sum) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    .run(number, key, realm, revision, now, client, entered, sum)
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

function dropEntries(context: TxContext, limit: number): number {
  const dropped = context.connection
    .prepare<{ number: number }>("SELECT number FROM indexes WHERE state = 'dropped' LIMIT 1")
    .get()
  if (dropped === null) return 0
  const { changes } = context.connection
    .prepare(
      'DELETE FROM index_entries WHERE (index_number, key, seq) IN (SELECT index_number, key, seq FROM index_entries WHERE index_number = ? LIMIT ?)',
    )
    .run(dropped.number, limit)
  if (changes === 0) {
    context.connection.prepare('DELETE FROM indexes WHERE number = ?').run(dropped.number)
  }
  return Math.max(changes, 1)
}

/**
 * One step of the erasure of a realm: rows of its objects first, then its tombstones and, where it is
 * a user’s private realm, their uploads, then its number.
 */
export async function erase(
  context: WriteContext,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
): Promise<number> {
  if (!erasing(context).has(realm)) return 0
  for (const table of knownTables(context).values()) {
    const erased = await eraseRows(context, table, realm, limit, tracesOf)
    if (erased > 0) return erased
  }
  const erased =
    eraseTombstones(context, realm, limit) ||
    eraseUploads(context, realm, limit) ||
    eraseOperations(context, realm, limit)
  if (erased === 0) finish(context, realm)
  return erased
}

function finish({ connection, unit: { group } }: WriteContext, realm: RealmRef): void {
  connection.prepare("UPDATE realm_ids SET state = 'erased' WHERE number = ?").run(realm)
  noteSum(connection, 'realm_ids', realm)
  group.flags.realms = true
  group.erasing = undefined
}

async function eraseRows(
  context: WriteContext,
  table: Table,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
): Promise<number> {
  const name = objectTable(table.number)
  const found = context.connection
    .prepare<FoundRow & { bytes: number }>(
      `SELECT seq, realm, octet_length(value) AS bytes, ${SMALL_VALUE}, sum FROM ${name} WHERE realm = ? LIMIT ?`,
    )
    .all(realm, limit)
  let left = READ_BYTES
  const rows = found.filter(({ bytes }, at) => (left -= bytes) >= 0 || at === 0)
  await inTurns(context.unit, rows, (row) => {
    const { seq, sum } = row
    const { value } = whole(context, table, row)
    const isSound = isContentSound(value, realm, sum)
    if (!isSound) sweep(context, table, seq)
    const { entries, blobs } = isSound ? tracesOf(table, value) : NO_TRACES
    removeRefs(context, seq, { realm, blobs })
    for (const blob of blobs) removeIfLeft(context, blob)
    context.connection.prepare(`DELETE FROM ${name} WHERE seq = ?`).run(seq)
    return removeEntries(context, [{ seq, entries }])
  })
  return rows.length
}

function eraseTombstones({ connection }: WriteContext, realm: RealmRef, limit: number): number {
  return connection
    .prepare(
      'DELETE FROM tombstones WHERE (table_number, key, realm) IN (SELECT table_number, key, realm FROM tombstones WHERE realm = ? LIMIT ?)',
    )
    .run(realm, limit).changes
}
