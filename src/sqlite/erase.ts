import type { RealmRef } from '../domain/store/realm'
import type { Traces } from '../domain/store/objects'
import type { Table } from '../domain/store/table'
import { removeRefs } from './blob-refs'
import { eraseUploads, removeIfLeft } from './blob-rows'
import { erasing } from './erasing'
import { isLight } from './gather'
import { objectTable } from './object-table'
import type { WriteScope } from './scope'
import { knownTables } from './tables'

/**
 * One step of the erasure of a realm: rows of its objects first, then its tombstones and, where it is
 * somebody's private realm, their uploads, then its number.
 */
export function erase(
  scope: WriteScope,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
): number {
  if (!erasing(scope).has(realm)) return 0
  for (const table of knownTables(scope).values()) {
    const erased = eraseRows(scope, table, realm, limit, tracesOf)
    if (erased > 0) return erased
  }
  const erased = eraseTombstones(scope, realm, limit) || eraseUploads(scope, realm, limit)
  if (erased === 0) finish(scope, realm)
  return erased
}

function finish({ connection, unit: { group } }: WriteScope, realm: RealmRef): void {
  connection.prepare("UPDATE realm_ids SET state = 'erased' WHERE number = ?").run(realm)
  group.realmsTouched = true
  group.erasing = undefined
}

function eraseRows(
  scope: WriteScope,
  table: Table,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
): number {
  const name = objectTable(table.number)
  const rows = scope.connection
    .prepare<{ seq: number; value: string }>(
      `SELECT seq, value FROM ${name} WHERE realm = ? LIMIT ?`,
    )
    .all(realm, isLight(scope, table, limit) ? limit : 1)
  const removeRow = scope.connection.prepare(`DELETE FROM ${name} WHERE seq = ?`)
  const removeEntry = scope.connection.prepare(
    'DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?',
  )
  for (const { seq, value } of rows) {
    const { entries, blobs } = tracesOf(table, value)
    for (const { index, key } of entries) removeEntry.run(index, key, seq)
    removeRefs(scope, seq, { realm, blobs })
    for (const blob of blobs) removeIfLeft(scope, blob)
    removeRow.run(seq)
  }
  return rows.length
}

function eraseTombstones({ connection }: WriteScope, realm: RealmRef, limit: number): number {
  return connection
    .prepare(
      'DELETE FROM tombstones WHERE (table_number, key, realm) IN (SELECT table_number, key, realm FROM tombstones WHERE realm = ? LIMIT ?)',
    )
    .run(realm, limit).changes
}
