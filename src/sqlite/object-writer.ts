import { SQLiteError } from 'bun:sqlite'
import { SatchelError, quoted } from '../domain/value/error'
import type { RealmRef } from '../domain/store/realm'
import type { IndexEntry, ObjectPut, ObjectWriter, StoredObject } from '../domain/store/objects'
import type { Table } from '../domain/store/table'
import { putRefs, removeRefs } from './blob-refs'
import { erase } from './erase'
import { erasing } from './erasing'
import { highestOf } from './gather'
import { objectTable } from './object-table'
import { objectReader } from './objects'
import type { Unit } from './group'
import type { Scope, WriteScope } from './scope'

export function objectWriter(scope: WriteScope): ObjectWriter {
  const { unit } = scope
  return {
    ...objectReader(scope),
    put(table, puts, now) {
      if (table.builtIn) unit.group.policyTouched = true
      for (const put of puts) {
        measure(scope, unit, table, put.value)
        if (put.previous === undefined) insert(scope, unit, table, put, now)
        else update(scope, unit, table, put, put.previous, now)
      }
    },
    remove(table, removals, now) {
      if (table.builtIn) unit.group.policyTouched = true
      const statement = scope.connection.prepare(
        `DELETE FROM ${objectTable(table.number)} WHERE seq = ?`,
      )
      for (const { previous, entries, blobs } of removals) {
        statement.run(previous.seq)
        removeEntries(scope, previous.seq, entries)
        removeRefs(scope, previous.seq, { realm: previous.realm, blobs })
        bury(scope, unit, table, previous.key, previous.realm, now)
      }
    },
    addEntries(rows) {
      for (const { seq, entries } of rows) putEntries(scope, seq, entries)
    },
    dropEntries: (limit) => dropEntries(scope, limit),
    erase: (realm, limit, tracesOf) => erase(scope, realm, limit, tracesOf),
  }
}

/** Keeps the bound that `scanText` relies on; a UTF-16 unit takes at most three bytes. */
function measure(scope: WriteScope, { group }: Unit, { number }: Table, value: string): void {
  const known = group.largest.get(number) ?? scope.committed.largest.get(number) ?? 0
  const bytes = value.length * 3
  if (bytes > known) group.largest.set(number, bytes)
}

function insert(scope: WriteScope, unit: Unit, table: Table, put: ObjectPut, now: number): void {
  const statement = scope.connection.prepare(
    `INSERT INTO ${objectTable(table.number)} (seq, key, realm, owner, revision, updated_at, value) VALUES (?, ?, ?, ?, ?, ?, ?)`,
  )
  const seq = unit.group.counters.nextSeq
  unit.group.counters.nextSeq += 1
  const run = () =>
    statement.run(seq, put.key, put.realm, put.owner, unit.revision(), now, put.value)
  try {
    run()
  } catch (error) {
    if (!(error instanceof SQLiteError) || error.code !== 'SQLITE_CONSTRAINT_UNIQUE') throw error
    makeWay(scope, table, put.key)
    run()
  }
  putEntries(scope, seq, put.entries)
  putRefs(scope, table.number, seq, put)
  touchRealm(scope, unit, table, put)
}

/**
 * A row of a realm that is being erased still holds its key. It gets one that no object can have,
 * and the erasure finds it by its realm.
 */
function makeWay(scope: Scope, table: Table, key: string): void {
  const name = objectTable(table.number)
  const row = scope.connection
    .prepare<{ seq: number; realm: number }>(`SELECT seq, realm FROM ${name} WHERE key = ?`)
    .get(key)
  if (row === null || !erasing(scope).has(row.realm)) {
    throw new SatchelError('CONFLICT', `The key ${quoted(key)} is taken in ${quoted(table.name)}`)
  }
  scope.connection
    .prepare(`UPDATE ${name} SET key = ? WHERE seq = ?`)
    .run(`\u0001${row.seq}`, row.seq)
}

function update(
  scope: WriteScope,
  unit: Unit,
  table: Table,
  put: ObjectPut,
  previous: StoredObject,
  now: number,
): void {
  scope.connection
    .prepare(
      `UPDATE ${objectTable(table.number)} SET realm = ?, owner = ?, revision = ?, updated_at = ?, stamps = NULL, value = ? WHERE seq = ?`,
    )
    .run(put.realm, put.owner, unit.revision(), now, put.value, previous.seq)
  const { entries = [], blobs = [] } = put.previousTraces ?? {}
  removeEntries(scope, previous.seq, without(entries, put.entries))
  putEntries(scope, previous.seq, without(put.entries, entries))
  putRefs(scope, table.number, previous.seq, put, { realm: previous.realm, blobs })
  if (previous.realm !== put.realm) bury(scope, unit, table, put.key, previous.realm, now)
  touchRealm(scope, unit, table, put)
}

/** The entries that are not among the others; an array may have made thousands of either. */
function without(
  entries: readonly IndexEntry[],
  others: readonly IndexEntry[],
): readonly IndexEntry[] {
  if (entries.length === 0 || others.length === 0) return entries
  const known = new Set(others.map(nameOf))
  return entries.filter((entry) => !known.has(nameOf(entry)))
}

function nameOf({ index, key }: IndexEntry): string {
  return `${index} ${Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString('latin1')}`
}

function putEntries(scope: Scope, seq: number, entries: readonly IndexEntry[]): void {
  if (entries.length === 0) return
  const statement = scope.connection.prepare(
    'INSERT OR IGNORE INTO index_entries (index_number, key, seq) VALUES (?, ?, ?)',
  )
  for (const { index, key } of entries) {
    statement.run(index, key, seq)
    if ((key[0] ?? 0) > highestOf(scope, index)) scope.unit?.group.highest.set(index, key[0] ?? 0)
  }
}

function removeEntries(scope: Scope, seq: number, entries: readonly IndexEntry[]): void {
  if (entries.length === 0) return
  const statement = scope.connection.prepare(
    'DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?',
  )
  for (const { index, key } of entries) statement.run(index, key, seq)
}

/** The tombstone tells those who saw the object in this realm that it is gone from there. */
function bury(
  scope: Scope,
  unit: Unit,
  table: Table,
  key: string,
  realm: RealmRef,
  now: number,
): void {
  scope.connection
    .prepare(
      'INSERT OR REPLACE INTO tombstones (table_number, key, realm, revision, at) VALUES (?, ?, ?, ?, ?)',
    )
    .run(table.number, key, realm, unit.revision(), now)
  unit.group.realms.add(realm)
  unit.group.buried = true
}

/** The object is in this realm now: its head moves, and a tombstone of an earlier stay goes. */
function touchRealm(scope: Scope, unit: Unit, table: Table, put: ObjectPut): void {
  unit.group.realms.add(put.realm)
  if (!scope.committed.hasTombstones && !unit.group.buried) return
  scope.connection
    .prepare('DELETE FROM tombstones WHERE table_number = ? AND key = ? AND realm = ?')
    .run(table.number, put.key, put.realm)
}

function dropEntries(scope: Scope, limit: number): number {
  const dropped = scope.connection
    .prepare<{ number: number }>("SELECT number FROM indexes WHERE state = 'dropped' LIMIT 1")
    .get()
  if (dropped === null) return 0
  const { changes } = scope.connection
    .prepare(
      'DELETE FROM index_entries WHERE (index_number, key, seq) IN (SELECT index_number, key, seq FROM index_entries WHERE index_number = ? LIMIT ?)',
    )
    .run(dropped.number, limit)
  if (changes === 0) {
    scope.connection.prepare('DELETE FROM indexes WHERE number = ?').run(dropped.number)
  }
  return Math.max(changes, 1)
}
