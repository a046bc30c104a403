import { accessOf, followRealm, unitAccess, type UnitAccess } from '../access/access'
import { SatchelError } from '../value/error'
import { authorizePut, needsReadableRefs, requireReadableRefs } from './authorize'
import type { ObjectPut, TimedObject, Traces } from '../store/objects'
import { PUBLIC_REALM_REF } from '../store/realms'
import type { Draft } from './draft'
import { putObjects } from './discard'
import { place } from './placement'
import { replacedStamps } from './stamps'
import { replacementOf, tracesOf } from './traces'
import { parseStored } from '../value/value'
import { type Placement, type RowRules, type Writing, rulesOf } from './writing'

/** How much one step of a unit puts, at least one object: a few milliseconds. */
const STEP = { objects: 256, rows: 64, entries: 10_000, units: 2 ** 20 }
/** New objects that are inserted together, before the first is known to be new. */
const TOGETHER = 16

/**
 * Puts drafts into their table, each in its place, by the rules of the table and, for a writer
 * without `GLOBAL_WRITE`, of access (design.md §5). Returns the stored texts, in order. Throws
 * `UNKNOWN_REALM`, `CONFLICT`, `UNPROCESSABLE`, `BLOB_NOT_READABLE` naming the property, or
 * `NOT_AUTHORIZED` with the missing permission, and the errors of the rules of the table.
 */
export function putDrafts(writing: Writing, drafts: readonly Draft[]): string[] {
  const texts: string[] = []
  while (texts.length < drafts.length) texts.push(...putSome(writing, drafts, texts.length))
  return texts
}

/** `putDrafts` for the drafts from this place on that one step of a unit puts. */
export function putSome(given: Writing, drafts: readonly Draft[], from = 0): string[] {
  const rules = rulesOf(given.rulesByTable, given.table)
  if (rules !== undefined) return putRows(given, rules, drafts.slice(from, from + STEP.rows))
  const some = drafts.length === 1 ? drafts : takeSome(drafts, from)
  const writing = some.length > 1 ? { ...given, knownRealms: new Map() } : given
  const spent = { entries: 0 }
  const texts = insertFirst(writing, some, spent)
  if (texts.length < some.length && spent.entries < STEP.entries) {
    texts.push(...replaceSome(writing, some.slice(texts.length), spent))
  }
  return texts
}

/** The drafts of a step, and no key twice: the second one replaces the first. */
function takeSome(drafts: readonly Draft[], from: number): readonly Draft[] {
  const keys = new Set<string>()
  let units = 0
  let end = from
  while (end < drafts.length && end - from < STEP.objects && units < STEP.units) {
    const { key, text } = drafts[end]!
    if (key !== undefined && keys.has(key)) break
    if (key !== undefined) keys.add(key)
    units += text.length
    end += 1
  }
  return drafts.slice(from, end)
}

/** The index entries that a step has added and removed so far. */
interface Spent {
  entries: number
}

/**
 * Inserts drafts as new objects without looking for those that they would replace, because most are new: up to one
 * that needs a look. Returns their texts.
 */
function insertFirst(writing: Writing, drafts: readonly Draft[], spent: Spent): string[] {
  const { tx, table, now } = writing
  const texts: string[] = []
  while (texts.length < drafts.length && spent.entries < STEP.entries) {
    const puts = newPuts(writing, drafts, texts.length)
    const count = puts.length === 0 ? 0 : tx.objects.insert(table, puts, now)
    for (let at = 0; at < count; at += 1) {
      texts.push(puts[at]!.value)
      spent.entries += entriesIn(puts[at])
    }
    if (puts.length === 0 || count < puts.length) break
  }
  return texts
}

/** The puts of the next drafts, up to one that needs a look. */
function newPuts(writing: Writing, drafts: readonly Draft[], from: number): ObjectPut[] {
  const puts: ObjectPut[] = []
  for (let at = from; at < drafts.length && puts.length < TOGETHER; at += 1) {
    const put = newPut(writing, drafts[at]!)
    if (put === undefined) break
    puts.push(put)
  }
  return puts
}

/** The put of a draft as a new object; undefined where that needs a look at the one with its key. */
function newPut(writing: Writing, draft: Draft): ObjectPut | undefined {
  if (writing.offload !== undefined || writing.staged !== undefined) return undefined
  // Without a realm, that of the object there would count.
  if (draft.realmId === undefined && draft.key !== undefined) return undefined
  const placement = place(writing, draft, undefined)
  if (!writing.isGlobal && !mayInsert(writing, placement)) return undefined
  if (needsReadableRefs(writing, placement)) return undefined
  return putOf(writing, placement)
}

/** False as well where the owner of an object with this key may replace it. */
function mayInsert(writing: Writing, placement: Placement): boolean {
  try {
    authorizePut(writing, placement)
    return true
  } catch (error) {
    if (error instanceof SatchelError) return false
    throw error
  }
}

/** Looks objects up and replaces or inserts them. Returns the texts of those that the step has room for. */
function replaceSome(given: Writing, drafts: readonly Draft[], spent: Spent): string[] {
  const { tx, table, now } = given
  const keys = drafts.flatMap(({ key }) => (key === undefined ? [] : [key]))
  const existing = tx.objects.findMany(table, keys)
  const settled = drafts.map((draft) => settle(given, draft, existing))
  // An earlier put, or settling, may have created the writer's private realm.
  const writing = { ...given, access: accessOf(tx, given.actor) }
  const texts: string[] = []
  const puts: ObjectPut[] = []
  for (const draft of settled) {
    if (spent.entries >= STEP.entries) break
    const previous = draft.key === undefined ? undefined : existing.get(draft.key)
    const placement = place(writing, draft, previous)
    if (!writing.isGlobal) authorizePut(writing, placement)
    if (needsReadableRefs(writing, placement)) requireReadableRefs(writing, placement)
    texts.push(placement.draft.text)
    if (isStored(placement)) continue
    const put = putOf(writing, placement)
    puts.push(put)
    spent.entries += entriesIn(put) + entriesIn(put.previousTraces)
  }
  putObjects(tx, table, puts, now)
  return texts
}

/** The draft with its large values offloaded. */
function settle(writing: Writing, draft: Draft, existing: ReadonlyMap<string, TimedObject>): Draft {
  return writing.offload?.settle(writing, draft, existing.get(draft.key ?? '')) ?? draft
}

/** Each row may change the permissions that the next one is checked against, in this step or in a later one. */
function putRows(given: Writing, rules: RowRules, drafts: readonly Draft[]): string[] {
  const { tx, table, now } = given
  const texts: string[] = []
  let access = given.isGlobal ? undefined : (given.rights?.access ?? ownAccess(given))
  for (const draft of drafts) {
    const writing = access === undefined ? given : { ...given, access }
    const previous = draft.key === undefined ? undefined : tx.objects.find(table, draft.key)
    const candidate = place(writing, draft, previous)
    const allowed = writing.isGlobal ? candidate : rules.authorizePut(writing, candidate)
    if (allowed === undefined) {
      texts.push(previous?.value ?? draft.text)
      continue
    }
    if (needsReadableRefs(writing, allowed)) requireReadableRefs(writing, allowed)
    const placement = rules.complement?.(writing, allowed) ?? allowed
    texts.push(placement.draft.text)
    if (isStored(placement)) continue
    const check = rules.guard(writing, previous?.realm ?? placement.realm.ref, previous)
    putObjects(tx, table, [putOf(writing, placement)], now)
    rules.afterPut(writing, placement)
    check?.(tx)
    if (access !== undefined) access = accessAfterPut(writing, access, placement)
  }
  if (given.rights !== undefined) given.rights.access = access
  return texts
}

/** Rows say who may do what in their own realm; only a global role counts everywhere. */
function accessAfterPut(
  writing: Writing,
  access: UnitAccess,
  { realm, previous }: Placement,
): UnitAccess {
  const { tx, table } = writing
  for (const ref of new Set([realm.ref, previous?.realm ?? realm.ref])) {
    if (table.name === 'roles' && ref === PUBLIC_REALM_REF) return ownAccess(writing)
    followRealm(tx, access, ref)
  }
  return access
}

function ownAccess({ tx, actor }: Writing): UnitAccess {
  return unitAccess(accessOf(tx, actor))
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

/**
 * The put of a placement, whose writer wins over all that was written before (REST, imports). Throws
 * `UNPROCESSABLE` when the request replaces too many index entries.
 */
function putOf(writing: Writing, placement: Placement): ObjectPut {
  const { tx, table, now, removals, staged } = writing
  const { draft, key, realm, owner, previous } = placement
  if (staged !== undefined) return stagedPut(writing, staged, placement)
  const put = { key, realm: realm.ref, owner, value: draft.text }
  if (previous === undefined) return { ...put, ...tracesOf(table, draft) }
  if (previous.isDamaged === true) return { ...put, ...tracesOf(table, draft), previous }
  const before = parseStored(previous.value)
  const stored = { text: previous.value, object: before }
  const { entries, blobs, previousTraces, removed } = replacementOf(table, stored, draft)
  removals?.note(removed)
  const stamps = replacedStamps(previous, before, draft.object, now, tx.unitRevision())
  return { ...put, entries, blobs, stamps, previous, previousTraces }
}

/** The put of an object whose entries are there already. */
function stagedPut(
  { tx, now, table }: Writing,
  staged: number,
  { draft, key, realm, owner, previous }: Placement,
): ObjectPut {
  const { blobs } = tracesOf({ ...table, indexes: NONE }, draft)
  const put = { key, realm: realm.ref, owner, value: draft.text, entries: NONE, blobs, staged }
  if (previous === undefined) return put
  const before = parseStored(previous.value)
  const replaced = { text: previous.value, object: before }
  const previousTraces = tracesOf({ ...table, indexes: NONE }, replaced)
  const stamps = replacedStamps(previous, before, draft.object, now, tx.unitRevision())
  return { ...put, stamps, previous, previousTraces }
}

const NONE: readonly never[] = []

/** At most how many index entries these traces have. */
function entriesIn(traces: Traces | undefined): number {
  if (traces === undefined) return 0
  const { entries } = traces
  return 'count' in entries ? entries.count : entries.length
}
