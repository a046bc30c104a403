import { accessOf, followRealm, unitAccess, type UnitAccess } from '../access/access'
import type { ObjectPut, ObjectRemoval, TimedObject, Traces } from '../store/objects'
import { PUBLIC_REALM_REF, type Realm, type RealmRef } from '../store/realms'
import { authorizePut, authorizeRemoval, requireReadableRefs } from './authorize'
import type { Draft } from './draft'
import { place } from './placement'
import { birthOf, readStamps, replacedStamps } from './stamps'
import { type Readable, readableOf, replacementOf, tracesBefore, tracesOf } from './traces'
import { aboutRow, type Placement, type RowRules, type Writing, rulesOf } from './writing'

/** A row as it is and as it is to be: undefined where it is not there. */
export interface RowChange {
  readonly before: TimedObject | undefined
  readonly after: Draft | undefined
}

/** How many index entries rows may still add and remove: no row is begun where none is left. */
export interface EntryBudget {
  entries: number
}

/**
 * Writes rows of one table, each in its place, by the rules of the table and, for a writer without
 * `GLOBAL_WRITE`, of access (design.md §5). Rows with rules are taken one after the other: `changes` may look
 * them up meanwhile. Returns the texts of those that stay, in order, as far as there is room. Throws
 * `UNKNOWN_REALM`, `CONFLICT`, `UNPROCESSABLE`, `BLOB_NOT_READABLE` naming the property, or `NOT_AUTHORIZED`
 * with the missing permission, and the errors of the rules of the table.
 */
export function writeRows(
  writing: Writing,
  changes: Iterable<RowChange>,
  budget: EntryBudget = { entries: Infinity },
): string[] {
  const rules = rulesOf(writing.rulesByTable, writing.table)
  return rules === undefined
    ? writePlain(writing, changes, budget)
    : writeByRules(writing, rules, changes)
}

function writePlain(writing: Writing, changes: Iterable<RowChange>, budget: EntryBudget): string[] {
  const texts: string[] = []
  const puts: ObjectPut[] = []
  const removals: ObjectRemoval[] = []
  for (const { before, after } of changes) {
    if (budget.entries <= 0) break
    if (after === undefined) {
      if (before === undefined) continue
      judgeRemoval(writing, before)
      removals.push(removalOf(writing, before))
      continue
    }
    const placement = aboutRow(writing.table, after.key, () => placed(writing, after, before))
    texts.push(placement.draft.text)
    if (isStored(placement)) continue
    const put = putOf(writing, placement)
    puts.push(put)
    budget.entries -= entriesIn(put) + entriesIn(put.previousTraces)
  }
  store(writing, puts, removals)
  return texts
}

function placed(writing: Writing, after: Draft, before: TimedObject | undefined): Placement {
  const placement = place(writing, after, before)
  if (!writing.isGlobal) authorizePut(writing, placement)
  requireReadableRefs(writing, placement)
  return placement
}

/** Each row may change the permissions that the next one is checked against, in this step or in a later one. */
function writeByRules(given: Writing, rules: RowRules, changes: Iterable<RowChange>): string[] {
  const texts: string[] = []
  const { rights = { access: undefined } } = given
  let changed: readonly RealmRef[] = NONE
  const follow = () => {
    if (changed.length > 0 && !given.isGlobal) {
      rights.access = accessAfter(given, rights.access, new Set(changed))
    }
    changed = NONE
    return rights.access === undefined ? given : { ...given, access: rights.access }
  }
  for (const { before, after } of changes) {
    const writing = follow()
    if (after === undefined) {
      if (before === undefined) continue
      judgeRemoval(writing, before)
      const check = rules.guard(writing, before.realm, before)
      removeRow(writing, before)
      check?.(writing.tx)
      changed = [before.realm]
      continue
    }
    const allowed = aboutRow(writing.table, after.key, () => judgePut(writing, after, before))
    if (allowed === undefined) {
      texts.push(before?.value ?? after.text)
      continue
    }
    requireReadableRefs(writing, allowed)
    const placement = rules.complement?.(writing, allowed) ?? allowed
    texts.push(placement.draft.text)
    if (isStored(placement)) continue
    const { ref } = placement.realm
    const check = rules.guard(writing, before?.realm ?? ref, before)
    putRow(writing, placement)
    check?.(writing.tx)
    changed = [ref, before?.realm ?? ref]
  }
  if (given.rights !== undefined) follow()
  return texts
}

/** Rows say who may do what in their own realm; only a global role counts everywhere. */
function accessAfter(
  { tx, table, actor, access }: Writing,
  known: UnitAccess | undefined,
  realms: ReadonlySet<RealmRef>,
): UnitAccess {
  if (table.name === 'roles' && realms.has(PUBLIC_REALM_REF)) return unitAccess(accessOf(tx, actor))
  const followed = known ?? unitAccess(access)
  for (const ref of realms) followRealm(tx, followed, ref)
  return followed
}

/**
 * The place of a row that a writer may put, by the rules of its table and of access: undefined when the stored
 * row stands as it is. Throws as `writeRows`.
 */
export function judgePut(
  writing: Writing,
  after: Draft,
  before: TimedObject | undefined,
): Placement | undefined {
  const placement = place(writing, after, before)
  if (writing.isGlobal) return placement
  const rules = rulesOf(writing.rulesByTable, writing.table)
  if (rules !== undefined) return rules.authorizePut(writing, placement)
  authorizePut(writing, placement)
  return placement
}

/** Throws `NOT_AUTHORIZED` when the writer may not remove the row. */
export function judgeRemoval(writing: Writing, before: TimedObject): void {
  if (writing.isGlobal) return
  const rules = rulesOf(writing.rulesByTable, writing.table)
  if (rules === undefined) authorizeRemoval(writing, before)
  else rules.authorizeRemoval(writing, before)
}

/** Puts a row that was judged. `stamps` as in `putOf`. */
export function putRow(writing: Writing, placement: Placement, stamps?: string | null): void {
  store(writing, [putOf(writing, placement, stamps)])
  rulesOf(writing.rulesByTable, writing.table)?.afterPut(writing, placement)
}

/** Removes a row that was judged. */
export function removeRow(writing: Writing, before: TimedObject): void {
  const isDone = rulesOf(writing.rulesByTable, writing.table)?.remove(writing, before) === true
  if (!isDone) store(writing, NONE, [removalOf(writing, before)])
}

/** True when the put would change nothing: it takes no revision, and is not announced. */
function isStored({ draft, realm, owner, previous }: Placement): boolean {
  return (
    previous !== undefined &&
    previous.isDamaged !== true &&
    previous.value === draft.text &&
    previous.realm === realm.ref &&
    previous.owner === owner
  )
}

/** The part of `Writing` that counts for rows that were judged. */
type Storing = Pick<Writing, 'tx' | 'table' | 'now' | 'removals'>

/** A row as it is to be stored; a placement is one. */
interface Placed extends Pick<Placement, 'key' | 'owner' | 'previous'> {
  readonly draft: Readable
  readonly realm: Pick<Realm, 'ref'>
}

/**
 * The put of a row that was judged. Without `stamps` its writer wins over all that was written before (REST,
 * imports). Throws `UNPROCESSABLE` when the request replaces too many index entries.
 */
export function putOf(
  { tx, table, now, removals }: Storing,
  { draft, key, realm, owner, previous }: Placed,
  stamps?: string | null,
): ObjectPut {
  const put = { key, realm: realm.ref, owner, value: draft.text }
  if (previous === undefined || previous.isDamaged === true) {
    const { entries, blobs } = tracesOf(table, draft)
    const fresh = { ...put, entries, blobs, stamps: stamps ?? null }
    return previous === undefined ? fresh : { ...fresh, previous }
  }
  const before = readableOf(previous.value)
  const { entries, blobs, previousTraces, removed } = replacementOf(table, before, draft)
  removals?.note(removed)
  const own =
    stamps === undefined
      ? replacedStamps(previous, before.object, draft.object, now, tx.unitRevision())
      : stamps
  return { ...put, entries, blobs, stamps: own, previous, previousTraces }
}

/** The removal of a row that was judged. */
export function removalOf({ table }: Pick<Writing, 'table'>, previous: TimedObject): ObjectRemoval {
  const { entries, blobs } = tracesBefore(table, previous)
  const { stamps, isDamaged, revision } = previous
  if (stamps === null || isDamaged === true) return { previous, entries, blobs }
  // Only the stamps of an object that was moved know since when it is there.
  return { previous, entries, blobs, born: birthOf(readStamps(stamps, 0, revision)) }
}

/** Writes rows of one table. */
export function store(
  { tx, table, now }: Pick<Writing, 'tx' | 'table' | 'now'>,
  puts: readonly ObjectPut[],
  removals: readonly ObjectRemoval[] = NONE,
): void {
  if (puts.length > 0) tx.objects.put(table, puts, now)
  if (removals.length > 0) tx.objects.remove(table, removals, now)
}

/** At most how many index entries these traces have. */
export function entriesIn(traces: Pick<Traces, 'entries'> | undefined): number {
  if (traces === undefined) return 0
  const { entries } = traces
  return 'count' in entries ? entries.count : entries.length
}

const NONE: readonly never[] = []
