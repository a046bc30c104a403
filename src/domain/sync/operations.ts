import { birthOf, copyStamps, noteCounted } from '../object/stamps'
import { judgeRemoval } from '../object/write'
import type { CriteriaOperation, OperationOrder } from '../store/sync'
import type { Table } from '../store/tables'
import { FIXED_LIMITS } from '../value/fixed-limits'
import { getOwn, isAbsent, type WireObject } from '../value/value'
import { changedKeys, criteriaOf, multiOfIn } from './candidates'
import type { PropertyChange } from './change'
import { type Criteria, satisfies } from './criteria'
import {
  type Execution,
  forgetGone,
  isSeen,
  noteGone,
  authorshipOf,
  timeByCriteria,
  writingOf,
} from './transaction'
import { isRejection, judgeObject } from './judge'
import {
  type Merged,
  mergeChanges,
  mergeWhole,
  type Authorship,
  type RowState,
  withoutKey,
} from './merge'
import { DIVERGED, type NamedKey } from './named-keys'
import type { Row } from './overlay'
import type { Action, Operation } from './request'
import type { Work } from '../value/work'

/** An operation with the table and the stored keys that it names. */
export interface PlacedOperation {
  readonly operation: Operation
  readonly table: Table
  /** In the order of the operation's keys. */
  readonly keys: readonly string[]
}

/** Rows that are changed before others may get a turn. */
const ROWS = 100

/** Applies one operation of a transaction to the rows of its overlay. */
export function* applyOperation(execution: Execution, placed: PlacedOperation): Work {
  const { operation, table, keys } = placed
  yield* execution.overlay.load(execution, table, keys)
  const { action } = operation
  if (criteriaOf(action) !== undefined) return yield* applyByCriteria(execution, placed)
  const isLaterChunk = action.type === 'modify' || (action.type === 'delete' && isPartOf(action))
  for (const [position, key] of keys.entries()) {
    const row = execution.overlay.get(table, key)
    if (row === undefined) continue
    const isAsSent = !isLaterChunk && (yield* applyToRow(execution, row, operation, position))
    noteKey(execution, placed, position, row, isAsSent)
    if (position % ROWS === ROWS - 1) yield
  }
}

/** A chunk after the first: the criteria have been executed, the keys only name rows. */
function isPartOf({ query }: Action & { type: 'delete' }): boolean {
  return query !== undefined && !query.isFirstChunk && query.criteria.index !== null
}

/** True when the row is what the client has assumed, as far as this operation goes. */
function* applyToRow(
  execution: Execution,
  row: Row,
  operation: Operation,
  position: number,
): Work<boolean> {
  const { action } = operation
  switch (action.type) {
    case 'insert':
    case 'upsert': {
      const values = action.values[position] ?? {}
      const changes = action.changes?.[position]
      if (changes !== undefined && changes !== null && row.state.kind === 'row') {
        return yield* changeRow(execution, row, changes, operation)
      }
      const by = authorshipOf(execution, operation, row)
      const merged = mergeWhole(row.state, action.type, values, by)
      row.isShared = true
      return adopt(execution, row, merged, operation)
    }
    case 'update': {
      const changes = action.changes[position] ?? action.changes[0] ?? []
      return yield* changeRow(execution, row, changes, operation)
    }
    case 'delete':
      forgetGone(execution, row)
      if (row.state.kind !== 'row') return isAbsentThere(execution, row, operation)
      return adopt(execution, row, removalOf(execution, row, operation), operation)
    case 'modify':
      return false
  }
}

function* changeRow(
  execution: Execution,
  row: Row,
  changes: readonly PropertyChange[],
  operation: Operation,
): Work<boolean> {
  if (row.state.kind !== 'row') return isAbsentThere(execution, row, operation)
  unshare(row, changes)
  const kept = withoutKey(row.table.primaryKey ?? [], changes)
  const merged = yield* mergeSome(row.state, kept, authorshipOf(execution, operation, row))
  return adopt(execution, row, merged, operation)
}

/** Changes of a row that are made before others may get a turn. */
const CHANGES = 500

/** `mergeChanges`, some at a time. */
function* mergeSome(
  state: RowState,
  changes: readonly PropertyChange[],
  by: Authorship,
): Work<Merged> {
  if (changes.length <= CHANGES) return mergeChanges(state, changes, by)
  let [isAsSent, latest] = [true, by.ts]
  for (let from = 0; from < changes.length; from += CHANGES) {
    const merged = mergeChanges(state, changes.slice(from, from + CHANGES), by)
    isAsSent &&= merged.isAsSent
    latest = Math.max(latest, merged.latest)
    yield
  }
  return { state, isAsSent, latest }
}

/**
 * True when the client has no such row either: nobody else has deleted it since the base of the operation.
 * True too for a row that the user does not see, whose existence must not show.
 */
function isAbsentThere({ push }: Execution, row: Row, operation: Operation): boolean {
  if (row.before !== undefined) return false
  const { state } = row
  if (state.kind !== 'dead' || state.client === push.client.number) return true
  const base = push.baseOf(operation)
  return base !== undefined && state.revision <= base
}

/** Copies values that the request shares: a change inside one must not reach into it. */
function unshare(row: Row, changes: readonly PropertyChange[]): void {
  const { state } = row
  if (!row.isShared || state.kind !== 'row' || changes.every(({ path }) => path.length === 1))
    return
  row.state = { ...state, object: structuredClone(state.object) }
  row.isShared = false
}

/** Takes over what was merged. True when it is as its client has assumed. */
function adopt(execution: Execution, row: Row, merged: Merged, operation: Operation): boolean {
  const isChanged = merged.state !== row.state || merged.state.kind === 'row'
  row.state = merged.state
  if (isChanged) touch(execution, row, merged, operation)
  return merged.isAsSent
}

function touch(
  { clock, push }: Execution,
  row: Row,
  { latest }: Merged,
  operation: Operation,
): void {
  const base = push.baseOf(operation)
  row.isTouched = true
  row.base = row.base === undefined || base === undefined ? undefined : Math.min(row.base, base)
  clock.floor = Math.max(clock.floor, latest)
  clock.latestGiven = Math.max(clock.latestGiven, operation.ts ?? 0)
}

function removalOf(execution: Execution, row: Row, operation: Operation): Merged {
  const { client, revision, ts } = authorshipOf(execution, operation, row)
  const entered = row.state.kind === 'row' ? birthOf(row.state.stamps) : revision
  const state = { kind: 'dead', revision, client, entered } as const
  return { state, isAsSent: true, latest: ts }
}

/**
 * Executes criteria once, on the rows that the actor sees now. Rows that the actor may not change are
 * skipped. The operation is kept for rows that arrive later (`replay`).
 */
function* applyByCriteria(execution: Execution, placed: PlacedOperation): Work {
  const { table, keys, operation } = placed
  const { action } = operation
  const criteria = criteriaOf(action)
  if (criteria === undefined || (action.type !== 'modify' && action.type !== 'delete')) return
  const changes = action.type === 'modify' ? action.change : undefined
  const kept = (execution.candidates?.isStep === true ? findKept : keepOperation)(execution, placed)
  const done = new Set<string>()
  const known = new Set(keys)
  for (const [at, row] of (yield* matchingRows(execution, table, criteria)).entries()) {
    if (yield* changeIfAllowed(execution, row, changes, operation, kept)) done.add(row.key)
    // The client did not reach it, so it may not have it, or as another one.
    if (!known.has(row.key)) {
      noteKey(execution, placed, -1, row, false)
      if (row.state.kind === 'dead') noteGone(execution, row)
    }
    if (at % ROWS === ROWS - 1) yield
  }
  for (const [position, key] of keys.entries()) {
    const row = execution.overlay.get(table, key)
    if (row === undefined) continue
    noteKey(execution, placed, position, row, done.has(key))
    if (action.type === 'delete') forgetGone(execution, row)
    done.delete(key)
  }
  // The client did not expect it to reach these.
  for (const row of execution.overlay.rowsOf(table))
    if (done.has(row.key)) markDiverged(execution, row)
}

function* matchingRows(execution: Execution, table: Table, criteria: Criteria): Work<Row[]> {
  const { overlay, candidates } = execution
  if (candidates !== undefined) {
    yield* overlay.load(execution, table, candidates.keysByCriteria.get(criteria) ?? [])
    const changed = changedKeys(execution.tx, execution.push.actor, table, candidates.revision)
    yield* overlay.load(execution, table, changed)
  }
  const multiOf = multiOfIn(table)
  const matching: Row[] = []
  for (const [at, row] of overlay.rowsOf(table).entries()) {
    const { state, key } = row
    if (state.kind === 'row' && satisfies(criteria, state.object, key, multiOf)) matching.push(row)
    if (at % TESTED === TESTED - 1) yield
  }
  return matching
}

/** Rows that are tested before others may get a turn. */
const TESTED = 500

/** Changes the row, or removes it without `changes`. True when it now is as its client assumes. */
function* changeIfAllowed(
  execution: Execution,
  row: Row,
  changes: readonly PropertyChange[] | undefined,
  operation: Operation,
  { ts, kept }: Keeping,
): Work<boolean> {
  const { state, table, before } = row
  if (state.kind !== 'row') return false
  try {
    if (changes === undefined) {
      if (before !== undefined) judgeRemoval(writingOf(execution, table), before)
      return adopt(execution, row, removalOf(execution, row, operation), operation)
    }
    const copy = copyOf(state)
    const written = withoutKey(table.primaryKey ?? [], changes)
    const by = { ...authorshipOf(execution, operation, row), ts, isByCriteria: true }
    const merged = yield* mergeSome(copy, written, by)
    if (kept !== undefined && changes.some(({ kind }) => kind === 'modify')) {
      noteCounted(copy.stamps, kept)
    }
    judgeObject(writingOf(execution, table), row, copy.object, before)
    row.isShared = false
    return adopt(execution, row, merged, operation)
  } catch (error) {
    if (!isRejection(error)) throw error
    return false
  }
}

export function copyOf(state: RowState & { kind: 'row' }): RowState & { kind: 'row' } {
  return { ...state, object: structuredClone(state.object), stamps: copyStamps(state.stamps) }
}

/** The time of an operation with criteria, ms, and its place in the order of those that are kept. */
interface Keeping {
  readonly ts: number
  /** Undefined for one that is too long to be kept. */
  readonly kept: OperationOrder | undefined
}

/** Keeps an operation with criteria for rows that arrive later (`replay`). */
export function keepOperation(execution: Execution, placed: PlacedOperation): Keeping {
  const { tx, push } = execution
  const { table, operation } = placed
  const { actor, client, now } = push
  const ts = timeByCriteria(execution, operation)
  const text = textOf(operation)
  if (text === undefined) return { ts, kept: undefined }
  const base = push.baseOf(operation) ?? null
  const { subject, email } = actor
  const given = { ...text, client: client.number, subject, email, ts, base }
  return {
    ts,
    kept: tx.criteriaOps.put(table.number, given, now, FIXED_LIMITS.keptOperations.most),
  }
}

/** Finds for a later step the operation that `keepOperation` kept at the first. */
function findKept(execution: Execution, { table, operation }: PlacedOperation): Keeping {
  const { tx, push } = execution
  const { subject } = push.actor
  const text = textOf(operation)
  const all = tx.criteriaOps.list(table.number, { subject }, 0, FIXED_LIMITS.keptOperations.most)
  const kept = all.findLast(
    ({ client, criteria, change }) =>
      client === push.client.number && criteria === text?.criteria && change === text.change,
  )
  return { ts: kept?.ts ?? timeByCriteria(execution, operation), kept }
}

/** The part of an operation that is kept; undefined for one that is too long. */
function textOf({
  action,
}: Operation): Pick<CriteriaOperation, 'kind' | 'criteria' | 'change'> | undefined {
  if (action.type !== 'modify' && action.type !== 'delete') return undefined
  const criteria = JSON.stringify(action.query?.source)
  const change = action.type === 'modify' ? JSON.stringify(action.source) : null
  const length = criteria.length + (change?.length ?? 0)
  return length > FIXED_LIMITS.keptCharacters.most
    ? undefined
    : { kind: action.type, criteria, change }
}

/** Notes what the answer must know of a key that an operation names. */
function noteKey(
  execution: Execution,
  { operation, table }: PlacedOperation,
  position: number,
  row: Row,
  isAsSent: boolean,
): void {
  const { names, push } = execution
  const base = push.baseOf(operation)
  const { rejected, privates } = push.client
  const told = row.key.startsWith('#') ? Math.max(rejected, privates) : rejected
  const isRejected = told > (base ?? -1) && told > 0
  const isSeenNow = isSeen(execution, row, base)
  // A row of others that the client has never had, or one over their deletion, which it may have got.
  const isForeign = !isSeenNow && (row.before === undefined || row.before.entered > (base ?? 0))
  const isOwnerless = lacksOwner(operation, position, row)
  const named = propertiesOf(operation.action, position)
  const written = isOwnerless ? named?.union(OWNER) : named
  // Where the row was not moved, the client drops its copy with a realm that it loses.
  const mayBeLost = isForeign || (!isAsSent && written?.has('realmId') === true)
  const said: NamedKey = {
    base,
    isAsSent: isAsSent && isSeenNow && !isRejected && !isOwnerless,
    isRejected,
    revision: undefined,
    properties: mayBeLost ? undefined : written,
  }
  names.note(table.name, operation.keys[position] ?? row.key, said)
  noteAbsent(execution, row, !said.isAsSent || written?.has('realmId') === true)
}

/** True for a row without an owner that its client has given to its user. */
function lacksOwner({ action }: Operation, position: number, { state }: Row): boolean {
  if (state.kind !== 'row' || !mayOwn(action, position)) return false
  const owner = getOwn(state.object, 'owner')
  return typeof owner !== 'string' || owner === ''
}

/**
 * The add-on makes its user the owner of its copy of a row without one when it changes the row, and does
 * not send that, unless it sends the row as a whole (protocol.md Appendix C.30).
 */
function mayOwn(action: Action, position: number): boolean {
  if (action.type === 'upsert') return !isAbsent(action.changes?.[position])
  return action.type === 'update' || action.type === 'modify'
}

const OWNER: ReadonlySet<string> = new Set(['owner'])

/** `propertiesOf` for an operation of which the row is not looked at, which may have no owner. */
export function propertiesTold(action: Action, position: number): ReadonlySet<string> | undefined {
  const properties = propertiesOf(action, position)
  return mayOwn(action, position) ? properties?.union(OWNER) : properties
}

/** A key without a row is deleted by the answer, if it may be `pending` there. */
function noteAbsent(execution: Execution, { state }: Row, isPending: boolean): void {
  execution.mayDelete ||= isPending && state.kind !== 'row'
}

/** The row is not what its client has assumed, if it named that. */
export function markDiverged(execution: Execution, row: Row): void {
  const { names } = execution
  const { table, key, base } = row
  noteAbsent(execution, row, true)
  if (names.named.get(table.name)?.has(key) !== true) return
  names.note(table.name, key, { ...DIVERGED, base })
}

/** The top-level properties that an operation writes; undefined when it removes the row. */
function propertiesOf(action: Action, position: number): ReadonlySet<string> | undefined {
  switch (action.type) {
    case 'insert':
    case 'upsert':
      return action.values[position] && propertiesOfValues(action.values[position])
    case 'update':
      return topLevel(action.changes[position] ?? action.changes[0] ?? [])
    case 'modify':
      return topLevel(action.change)
    case 'delete':
      return undefined
  }
}

let lastNames: readonly string[] = []
let lastSet: ReadonlySet<string> = new Set()

/** The objects of a request mostly have the same properties: they share one set. */
export function propertiesOfValues(values: WireObject): ReadonlySet<string> {
  const names = Object.keys(values)
  let at = 0
  while (at < names.length && names[at] === lastNames[at]) at += 1
  if (at < names.length || at < lastNames.length) {
    lastNames = names
    lastSet = new Set(names)
  }
  return lastSet
}

function topLevel(changes: readonly PropertyChange[]): ReadonlySet<string> {
  return new Set(changes.map(({ path }) => path[0] ?? ''))
}
