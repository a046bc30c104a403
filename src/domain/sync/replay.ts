// Remembered operations reach rows that come after them: docs/merging.md, "Operations with
// criteria".

import { accessOf, mayRead } from '../access/access'
import { birthOf, hasCounted, noteCounted, type Stamps } from '../object/stamps'
import type { Writing } from '../object/writing'
import { judgeRemoval } from '../object/write'
import type { RealmRef } from '../store/realms'
import type { OperationOrder } from '../store/sync'
import type { Table } from '../store/tables'
import { parseStored, type WireObject } from '../value/value'
import { multiOfIn } from './candidates'
import { satisfies } from './criteria'
import { type Execution, noteGone, writingOf } from './transaction'
import { isRejection, judgeObject } from './judge'
import { type KeptOperation, keptOperations, type Place, stepsToApply } from './kept'
import { mergeChanges, withoutKey } from './merge'
import { copyOf } from './operations'
import type { Row } from './overlay'

/**
 * The operations with criteria of other clients that came after the base of a row are applied to it, when this transaction has created it or moved it to where they reach it: in their
 * order, under the rights of their actors, and into whatever realm they move it. What the row got later
 * than an operation stands. True when one of them changed it.
 */
export function replay(execution: Execution, row: Row): boolean {
  const { base, table } = row
  const { tx, replays } = execution
  if (base === undefined || replays.steps <= 0 || tx.criteriaOps.newest() <= base) return false
  const place = firstPlaceOf(execution, row)
  const operations = operationsIn(execution, table, place, base)
  return operations.length > 0 && replayAll(execution, row, base, { place, operations })
}

function replayAll(
  execution: Execution,
  row: Row,
  base: number,
  begun: { readonly place: Place; readonly operations: readonly KeptOperation[] },
): boolean {
  const { table, key, before } = row
  const { replays } = execution
  const multiOf = multiOfIn(table)
  const earlier: WireObject | undefined = before && parseStored(before.value)
  const sent = row.state.kind === 'row' ? row.state.object : {}
  let { place, operations } = begun
  let isChanged = false
  for (let at = 0; at < operations.length && replays.steps > 0; at += 1) {
    const operation = operations[at]
    if (operation === undefined || row.state.kind !== 'row') break
    const { criteria, stepsToTest } = operation
    replays.steps -= stepsToTest
    if (!satisfies(criteria, row.state.object, key, multiOf)) continue
    // The operations of the row's own client have met the row as it was sent.
    const isOwn = operation.kept.client === execution.push.client.number
    if (isOwn && (!isChanged || satisfies(criteria, sent, key, multiOf))) continue
    const wasThere = earlier !== undefined && satisfies(criteria, earlier, key, multiOf)
    if (wasThere && couldRead(execution, row, operation)) continue
    if (isOlder(operation, row.state.stamps)) continue
    const cost = stepsToApply(operation, valuesIn(row.state.object, replays.steps))
    if (cost > replays.steps) continue
    replays.steps -= cost
    if (!applyKept(execution, row, operation, place)) continue
    isChanged = true
    const next = placeOf(execution, row)
    if (next.id === place.id) continue
    // Later operations are those that concern its new realm.
    place = next
    const { kept } = operation
    operations = operationsIn(execution, table, place, base).filter((other) =>
      isAfter(other.kept, kept),
    )
    at = -1
  }
  return isChanged
}

/** How many values an object holds, counted up to `most`. */
function valuesIn(object: WireObject, most: number): number {
  const open: unknown[] = [object]
  let count = 0
  for (let value = open.pop(); value !== undefined && count <= most; value = open.pop()) {
    count += 1
    if (typeof value !== 'object' || value === null) continue
    for (const inner of Object.values(value)) open.push(inner)
  }
  return count
}

function isAfter(one: OperationOrder, other: OperationOrder): boolean {
  return (
    one.revision > other.revision ||
    (one.revision === other.revision && one.position > other.position)
  )
}

/** The client of the operation made the row later. */
function isOlder({ kept }: KeptOperation, { rest: [time, , client] }: Stamps): boolean {
  return client === kept.client && time > kept.ts
}

/** The operation reached the row in its former realm, when it was executed. */
function couldRead({ tx }: Execution, row: Row, { actor }: KeptOperation): boolean {
  const { before, table, key } = row
  return before !== undefined && mayRead(accessOf(tx, actor), table.name, before.realm, () => key)
}

function firstPlaceOf(execution: Execution, row: Row): Place {
  const { realms } = execution.access
  const { id, realm } = placeOf(execution, row)
  const isLost = realm !== undefined && !realms.has(realm)
  return { id, realm: isLost ? undefined : realm }
}

/** The place that the row names, or keeps; without either it is private. */
function placeOf({ tx, push }: Execution, { state, before }: Row): Place {
  const named = state.kind === 'row' ? state.object['realmId'] : undefined
  if (typeof named !== 'string' && before !== undefined) {
    const found = tx.realms.findByRef(before.realm)
    return { id: found?.id ?? '', realm: found?.ref }
  }
  const id = typeof named === 'string' ? named : push.actor.subject
  return { id, realm: tx.realms.find(id)?.ref }
}

function operationsIn(
  { tx, push, replays }: Execution,
  table: Table,
  place: Place,
  base: number,
): readonly KeptOperation[] {
  return keptOperations(tx, replays, table, { place, base, subject: push.actor.subject })
}

function applyKept(
  execution: Execution,
  row: Row,
  { kept, change, actor }: KeptOperation,
  { realm }: Place,
): boolean {
  const { table, state } = row
  if (state.kind !== 'row') return false
  const { revision } = execution
  const access = accessOf(execution.tx, actor)
  if (realm !== undefined && !mayRead(access, table.name, realm, () => row.key)) return false
  const writing: Writing = {
    ...writingOf(execution, table),
    actor,
    subject: kept.subject,
    isGlobal: false,
    access,
  }
  // In a realm that is gone nobody has rights: the actor needs them where the row ends.
  const stored = realm === undefined ? undefined : storedAs(row, state.object, realm)
  try {
    if (kept.kind === 'delete') {
      if (stored !== undefined) judgeRemoval(writing, stored)
      row.state = { kind: 'dead', revision, client: kept.client, entered: birthOf(state.stamps) }
      if (kept.client === execution.push.client.number) noteGone(execution, row)
      return true
    }
    const copy = copyOf(state)
    const isAgain = hasCounted(copy.stamps, kept)
    const changes = withoutKey(table.primaryKey ?? [], change).filter(
      ({ kind }) => kind !== 'modify' || !isAgain,
    )
    const { ts, client } = kept
    const by = { ts, base: kept.base ?? undefined, client, revision, isByCriteria: true }
    mergeChanges(copy, changes, by)
    if (change.some(({ kind }) => kind === 'modify')) noteCounted(copy.stamps, kept)
    if (stored !== undefined) {
      judgeObject(writing, { ...row, isTaken: false }, copy.object, stored)
    }
    row.state = copy
    row.isShared = false
    return true
  } catch (error) {
    if (!isRejection(error)) throw error
    return false
  }
}

/** The row as it would be if the transaction ended here. */
function storedAs({ key, before }: Row, object: WireObject, realm: RealmRef) {
  const { owner } = object
  return {
    seq: 0,
    updated: 0,
    stamps: null,
    entered: 0,
    revision: 0,
    ...before,
    key,
    realm,
    owner: typeof owner === 'string' ? owner : null,
    value: JSON.stringify(object),
  }
}
