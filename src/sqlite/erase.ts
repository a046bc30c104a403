import type { RealmRef } from '../domain/realm'
import type { IndexEntry } from '../domain/store'
import type { Table } from '../domain/table'
import { objectTable } from './object-table'
import { erasing } from './erasing'
import type { WriteScope } from './scope'
import { knownTables } from './tables'

/** One step of the erasure of a realm: rows of its objects first, then its tombstones, then its number. */
export function erase(
  scope: WriteScope,
  realm: RealmRef,
  limit: number,
  entriesOf: (table: Table, value: string) => readonly IndexEntry[],
): number {
  if (!erasing(scope).has(realm)) return 0
  for (const table of knownTables(scope).values()) {
    const erased = eraseRows(scope, table, realm, limit, entriesOf)
    if (erased > 0) return erased
  }
  const { changes } = scope.connection
    .prepare(
      'DELETE FROM tombstones WHERE (table_number, key, realm) IN (SELECT table_number, key, realm FROM tombstones WHERE realm = ? LIMIT ?)',
    )
    .run(realm, limit)
  if (changes === 0) finish(scope, realm)
  return changes
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
  entriesOf: (table: Table, value: string) => readonly IndexEntry[],
): number {
  const name = objectTable(table.number)
  const rows = scope.connection
    .prepare<{ seq: number; value: string }>(
      `SELECT seq, value FROM ${name} WHERE realm = ? LIMIT ?`,
    )
    .all(realm, limit)
  const removeRow = scope.connection.prepare(`DELETE FROM ${name} WHERE seq = ?`)
  const removeEntry = scope.connection.prepare(
    'DELETE FROM index_entries WHERE index_number = ? AND key = ? AND seq = ?',
  )
  for (const { seq, value } of rows) {
    for (const { index, key } of entriesOf(table, value)) removeEntry.run(index, key, seq)
    removeRow.run(seq)
  }
  return rows.length
}
