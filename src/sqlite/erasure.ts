import type { Traces } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { hashSecret } from '../domain/value/secret'
import { eraseUploads, removeIfLeft, removeRefs } from './blobs'
import type { WriteContext } from './context'
import { removeEntries, sweep } from './entries'
import { type FoundRow, READ_BYTES, SMALL_VALUE, whole } from './located-rows'
import { erasing } from './realms'
import { isContentSound } from './sum'
import { noteSum } from './summed'
import { knownTables, objectTable } from './tables'

/**
 * One step of the erasure of a realm: rows of its objects first, then its tombstones and, where it is
 * a user's private realm, their uploads, then its number.
 */
export function erase(
  context: WriteContext,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
): number | undefined {
  if (!erasing(context).has(realm)) return undefined
  for (const table of knownTables(context).values()) {
    const count = eraseRows(context, table, realm, limit, tracesOf)
    if (count > 0) return count
  }
  const count =
    eraseTombstones(context, realm, limit) ||
    eraseFormer(context, realm, limit) ||
    eraseUploads(context, realm, limit)
  if (count > 0) return count
  finish(context, realm)
  return undefined
}

function finish({ connection, unit: { group } }: WriteContext, realm: RealmRef): void {
  const { prepare } = connection
  const { id } = prepare<{ id: string }>('SELECT id FROM realm_ids WHERE number = ?').get(realm)!
  // The id may be an address, or have the key of an object in it.
  prepare("UPDATE realm_ids SET state = 'erased', id = ? WHERE number = ?").run(
    hashSecret(id),
    realm,
  )
  noteSum(connection, 'realm_ids', realm)
  group.flags.realms = true
  group.flags.erased = true
  group.erasing = undefined
}

const NO_TRACES: Traces = { entries: [], blobs: [] }

/** One step erases no further row once it owes as many index entries. */
const MAX_ENTRIES = 20_000

/** How many rows it erased: 0 when the table has none of the realm. */
function eraseRows(
  context: WriteContext,
  table: Table,
  realm: RealmRef,
  limit: number,
  tracesOf: (table: Table, value: string) => Traces,
): number {
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
    removeEntries(context, [{ seq, entries }])
    removeRefs(context, seq, { realm, blobs })
    for (const blob of blobs) removeIfLeft(context, blob)
    context.connection.prepare(`DELETE FROM ${name} WHERE seq = ?`).run(seq)
    if (!table.builtIn) context.unit.group.counters.objects -= 1
    count += 1
    if (context.unit.owed.count >= MAX_ENTRIES) break
  }
  return count
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
