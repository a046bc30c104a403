import { type Access, mayRead } from '../access/access'
import { readStamps } from '../object/stamps'
import type { TimedObject } from '../store/objects'
import type { RealmRef } from '../store/realms'
import { andThen, type Awaitable } from '../store/records'
import type { WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { parseStored } from '../value/value'
import type { Unknown, RowState } from './merge'

/** A row that a transaction of a client names or reaches, as the transaction sees it. */
export interface Row {
  readonly table: Table
  readonly key: string
  /** As it was before the transaction; undefined when it was not there, or is invisible. */
  readonly before: TimedObject | undefined
  /** An object that the actor does not see has this key. */
  readonly isTaken: boolean
  /** The newest change before the transaction: of the object, or its removal; 0 for none. */
  readonly latest: number
  state: RowState
  /** What the client of the request does not know of it. */
  unknown?: Unknown | undefined
  /** Its values are those of the request, which may be executed again: copied before they change. */
  isShared: boolean
  /** Something was applied to it. */
  isTouched: boolean
  /** The earliest base of the operations on it; undefined when one is unknown. */
  base: number | undefined
}

/** The rows of one transaction. */
export interface Overlay {
  get(table: Pick<Table, 'name'>, key: string): Row | undefined
  /** Brings these keys in, unless they are. */
  load(tx: WriteTx, table: Table, keys: readonly string[]): Awaitable<void>
  rows(): IteratorObject<Row>
  rowsOf(table: Table): readonly Row[]
}

/** Keys that are looked up at once. */
const BATCH = 500

/** `access`: what the actor could see before the transaction. */
export function createOverlay(access: Access): Overlay {
  const byTable = new Map<string, Map<string, Row>>()

  function rowsByKey(table: Table): Map<string, Row> {
    const known = byTable.get(table.name)
    if (known !== undefined) return known
    const made = new Map<string, Row>()
    byTable.set(table.name, made)
    return made
  }

  /** At once where the store answers at once: a promise for each row would cost as much as the row. */
  function rowOf(
    tx: WriteTx,
    table: Table,
    key: string,
    found: TimedObject | undefined,
  ): Awaitable<Row> {
    if (found !== undefined && isReadable(access, table, key, found.realm)) {
      return rowWith(table, key, stateOf(found), { before: found, latest: found.revision })
    }
    // An object that left a realm of the actor and was removed elsewhere has a newer one there.
    const isOfActor = (realm: RealmRef) => isReadable(access, table, key, realm)
    return andThen(tx.objects.findTombstone(table, key, isOfActor), (tombstone) => {
      const isTaken = found !== undefined
      if (tombstone === undefined) return rowWith(table, key, ABSENT, { isTaken })
      const { revision, client, entered } = tombstone
      const state = { kind: 'dead', revision, client: client ?? undefined, entered } as const
      return rowWith(table, key, state, { isTaken, latest: revision })
    })
  }

  async function loadMissing(tx: WriteTx, table: Table, keys: readonly string[]): Promise<void> {
    const rows = rowsByKey(table)
    const missing = [...new Set(keys)].filter((key) => !rows.has(key))
    for (let start = 0; start < missing.length; start += BATCH) {
      const batch = missing.slice(start, start + BATCH)
      const found = await tx.objects.findMany(table, batch)
      for (const key of batch) {
        const row = rowOf(tx, table, key, found.get(key))
        rows.set(key, row instanceof Promise ? await row : row)
      }
      await tx.breathe()
    }
  }

  return {
    get: (table, key) => byTable.get(table.name)?.get(key),
    load(tx, table, keys) {
      const rows = rowsByKey(table)
      return keys.every((key) => rows.has(key)) ? undefined : loadMissing(tx, table, keys)
    },
    *rows() {
      for (const rows of byTable.values()) yield* rows.values()
    },
    rowsOf: (table) => [...(byTable.get(table.name)?.values() ?? [])],
  }
}

const ABSENT: RowState = { kind: 'absent' }

function rowWith(
  table: Table,
  key: string,
  state: RowState,
  { before, isTaken = false, latest = 0 }: Partial<Pick<Row, 'before' | 'isTaken' | 'latest'>>,
): Row {
  return {
    table,
    key,
    before,
    isTaken,
    latest,
    state,
    isShared: false,
    isTouched: false,
    base: Infinity,
  }
}

function isReadable(access: Access, table: Table, key: string, realm: RealmRef): boolean {
  return mayRead(access, table.name, realm, () => key)
}

export function stateOf({
  value,
  stamps,
  updated,
  revision,
  entered,
}: TimedObject): RowState & { kind: 'row' } {
  return {
    kind: 'row',
    object: parseStored(value),
    stamps: readStamps(stamps, updated, revision),
    entered,
  }
}
