import type { Traces } from '../domain/store/objects'
import type { RealmRef } from '../domain/store/realms'
import type { Table } from '../domain/store/tables'
import { eraseUploads, removeIfLeft, removeRefs } from './blobs'
import type { WriteContext } from './context'
import { inTurns, removeEntries, sweep } from './entries'
import { type FoundRow, READ_BYTES, SMALL_VALUE, whole } from './places'
import { erasing } from './realms'
import { isContentSound } from './sum'
import { noteSum } from './summed'
import { eraseOperations } from './sync'
import { knownTables, objectTable } from './tables'

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

const NO_TRACES: Traces = { entries: [], blobs: [] }

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
