import { type Access, mayRead } from '../access/access'
import { readStamps } from '../object/stamps'
import type { TimedObject } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { SatchelError, unprocessable } from '../value/error'
import { FIXED_LIMITS, mostOf } from '../value/fixed-limits'
import { parseStored } from '../value/value'
import type { Work } from '../value/work'
import type { RowState, Unseen } from './merge'

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
  unseen?: Unseen | undefined
  /** The values are those of the request, which may be executed again: copied before they change. */
  isShared: boolean
  /** Something was applied to it. */
  isTouched: boolean
  /** The earliest base of the operations on it; undefined when one is unknown. */
  base: number | undefined
}

/** The rows of one transaction. */
export type Overlay = ReturnType<typeof createOverlay>

/** Goes on in the unit, or the step of one, that is under way. */
interface InUnit {
  readonly tx: WriteTx
}

/** Keys that are looked up at once, and first, or where objects are large. */
const KEYS_PER_READ = 250
const KEYS_PER_FIRST_READ = 10
/** The size from which an object is large, in characters. */
const LARGE_CHARACTERS = 64 * 1024

/** `access`: what the actor could see before the transaction. */
export function createOverlay(access: Access) {
  const byTable = new Map<string, Map<string, Row>>()
  const tables: Table[] = []
  let [loaded, characters] = [0, 0]

  function rowsByKey(table: Table): Map<string, Row> {
    const known = byTable.get(table.name)
    if (known !== undefined) return known
    const made = new Map<string, Row>()
    byTable.set(table.name, made)
    tables.push(table)
    return made
  }

  function rowOf(tx: WriteTx, table: Table, key: string, found: TimedObject | undefined): Row {
    if (found !== undefined && isReadable(access, table, key, found.realm)) {
      return rowWith(table, key, stateOf(found), { before: found, latest: found.revision })
    }
    // An object that left a realm of the actor and was removed elsewhere has a newer one there.
    const isOfActor = (realm: RealmRef) => isReadable(access, table, key, realm)
    const tombstone = tx.objects.findTombstone(table, key, isOfActor)
    const isTaken = found !== undefined
    if (tombstone === undefined) return rowWith(table, key, ABSENT, { isTaken })
    const { revision, client, entered } = tombstone
    const state = { kind: 'dead', revision, client: client ?? undefined, entered } as const
    return rowWith(table, key, state, { isTaken, latest: revision })
  }

  return {
    get: (table: Pick<Table, 'name'>, key: string): Row | undefined =>
      byTable.get(table.name)?.get(key),
    /** Brings these keys in, unless they are. Throws `UNPROCESSABLE` when there is too much in all objects together. */
    *load(execution: InUnit, table: Table, keys: readonly string[]): Work {
      const rows = rowsByKey(table)
      const missing = keys.filter((key) => !rows.has(key))
      for (let start = 0; start < missing.length;) {
        if (start > 0) yield
        const isLarge = loaded === 0 || characters > loaded * LARGE_CHARACTERS
        const batch = missing.slice(start, start + (isLarge ? KEYS_PER_FIRST_READ : KEYS_PER_READ))
        start += batch.length
        const found = execution.tx.objects.findMany(table, batch)
        for (const key of batch) {
          if (!rows.has(key)) rows.set(key, rowOf(execution.tx, table, key, found.get(key)))
        }
        loaded += batch.length
        for (const { value } of found.values()) characters += value.length
        if (characters > FIXED_LIMITS.reachedCharacters.most) throw tooMuch()
      }
    },
    *rows(): Generator<Row> {
      for (const rows of byTable.values()) yield* rows.values()
    },
    /** Those to which something was applied. */
    touched(): readonly Row[] {
      const touched: Row[] = []
      for (const rows of byTable.values()) {
        for (const row of rows.values()) if (row.isTouched) touched.push(row)
      }
      return touched
    },
    /** The tables of all rows. */
    tables: (): readonly Table[] => tables,
    rowsOf: (table: Table): readonly Row[] => [...(byTable.get(table.name)?.values() ?? [])],
  }
}

function tooMuch(): SatchelError {
  return unprocessable(
    `A transaction changes objects of at most ${mostOf(FIXED_LIMITS.reachedCharacters)}: change fewer of them at once`,
    'changes',
  )
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

function stateOf({
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
