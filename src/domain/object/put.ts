import { accessOf, followRealm, unitAccess, type UnitAccess } from '../access/access'
import { authorizePut, needsReadableRefs, requireReadableRefs } from './authorize'
import type { ObjectPut, TimedObject, Traces } from '../store/objects'
import { PUBLIC_REALM_REF } from '../store/realms'
import type { Draft } from './draft'
import { putObjects } from './discard'
import { place } from './placement'
import { andThen, type Awaitable } from '../store/records'
import { replacedStamps } from './stamps'
import { type Breath, readStored, replacementOf, tracesOf } from './traces'
import { parseStored, type WireObject } from '../value/value'
import { type Placement, type RowRules, type Writing, rulesOf } from './writing'

/** Objects of ordinary tables are looked up and written this many at a time. */
const BATCH = 500
/** A batch that changes this many index entries is written early, because they take memory. */
const BATCH_ENTRIES = 50_000
/** How many new objects are written at once, before others may get a turn. */
const PUTS_AT_ONCE = 16
/** An object with a longer text is the last of them: the store copies them all, and may keep the copies. */
const LONG = 1_024
/** An object with more index entries is written in a batch. */
const FEW_ENTRIES = 16

/**
 * Puts drafts into their table, each in its place, by the rules of the table and, for a writer
 * without `GLOBAL_WRITE`, of access (design.md §5). Resolves to the stored texts, in order. Throws
 * `UNKNOWN_REALM`, `CONFLICT`, `UNPROCESSABLE`, `BLOB_NOT_READABLE` naming the property, or
 * `NOT_AUTHORIZED` with the missing permission, and the errors of the rules of the table.
 */
export function putDrafts(writing: Writing, drafts: readonly Draft[]): Awaitable<string[]> {
  const rules = rulesOf(writing.rulesByTable, writing.table)
  if (rules !== undefined) return putRows(writing, rules, drafts)
  return putAll(drafts.length > 1 ? { ...writing, knownRealms: new Map() } : writing, drafts)
}

/**
 * The put of a draft as a new object, without looking for one that it would replace. Undefined where that
 * needs a look: `replaceSome` decides then.
 */
function newPut(writing: Writing, draft: Draft): Awaitable<ObjectPut | undefined> {
  if (writing.offload !== undefined || writing.staged !== undefined) return undefined
  // Without a realm, that of the object there would count.
  if (draft.realmId === undefined && draft.key !== undefined) return undefined
  return andThen(place(writing, draft, undefined), newPutAt, writing)
}

function newPutAt(placement: Placement, writing: Writing): ObjectPut | undefined {
  if (!writing.isGlobal && !mayInsert(writing, placement)) return undefined
  if (needsReadableRefs(writing, placement)) return undefined
  const put = putOf(writing, placement)
  // Many entries are written faster together with those of other objects.
  return heldBy(put) > FEW_ENTRIES ? undefined : put
}

function mayInsert(writing: Writing, placement: Placement): boolean {
  try {
    authorizePut(writing, placement)
    return true
  } catch {
    // The owner of an object with this key may be allowed to replace it.
    return false
  }
}

/**
 * Objects of ordinary tables do not change permissions. Most are new: some are written at a time until
 * one is there already, then some are looked up at once.
 */
function putAll(writing: Writing, drafts: readonly Draft[]): Awaitable<string[]> {
  const putting = { writing, drafts, texts: [] }
  return andThen(insertFirst(putting), putRest, putting)
}

interface Putting {
  readonly writing: Writing
  readonly drafts: readonly Draft[]
  /** Those of the drafts that were put. */
  readonly texts: string[]
}

function putRest(_: void, { writing, drafts, texts }: Putting): Awaitable<string[]> {
  return texts.length === drafts.length ? texts : replaceRest(writing, drafts, texts)
}

/**
 * Inserts the drafts behind those of `texts`, and adds their texts, up to one that needs a look. At
 * once where it need not wait: a promise costs as much as the checks of an object.
 */
function insertFirst(putting: Putting): Awaitable<void> {
  const { writing, drafts, texts } = putting
  while (texts.length < drafts.length) {
    const goesOn = andThen(gather(putting, []), insertGathered, putting)
    if (goesOn instanceof Promise) return insertAfter(goesOn, putting)
    if (!goesOn || texts.length === drafts.length) return
    const pause = writing.tx.breathe()
    if (pause instanceof Promise) return insertLater(pause, putting)
  }
}

async function insertAfter(waiting: Promise<boolean>, putting: Putting): Promise<void> {
  if (!(await waiting)) return
  await putting.writing.tx.breathe()
  await insertFirst(putting)
}

async function insertLater(pause: Promise<void>, putting: Putting): Promise<void> {
  await pause
  await insertFirst(putting)
}

/** The puts of the next drafts, up to one that needs a look. */
function gather(putting: Putting, puts: ObjectPut[]): Awaitable<readonly ObjectPut[]> {
  const { writing, drafts, texts } = putting
  for (let at = texts.length + puts.length; at < drafts.length; at += 1) {
    const put = newPut(writing, drafts[at]!)
    if (put instanceof Promise) return gatherAfter(put, putting, puts)
    if (!addPut(puts, put)) break
  }
  return puts
}

async function gatherAfter(
  waiting: Promise<ObjectPut | undefined>,
  putting: Putting,
  puts: ObjectPut[],
): Promise<readonly ObjectPut[]> {
  return addPut(puts, await waiting) ? gather(putting, puts) : puts
}

/** Adds a put; false when no other one is to follow. */
function addPut(puts: ObjectPut[], put: ObjectPut | undefined): boolean {
  if (put === undefined) return false
  puts.push(put)
  return puts.length < PUTS_AT_ONCE && put.value.length <= LONG
}

function insertGathered(puts: readonly ObjectPut[], putting: Putting): Awaitable<boolean> {
  const { tx, table, now } = putting.writing
  if (puts.length === 0) return false
  return andThen(tx.objects.insert(table, puts, now), noteInserted, { puts, texts: putting.texts })
}

interface Inserting {
  readonly puts: readonly ObjectPut[]
  readonly texts: string[]
}

/** False when one of the keys is taken. */
function noteInserted(count: number, { puts, texts }: Inserting): boolean {
  for (let at = 0; at < count; at += 1) texts.push(puts[at]!.value)
  return count === puts.length
}

async function replaceRest(
  given: Writing,
  drafts: readonly Draft[],
  texts: string[],
): Promise<string[]> {
  while (texts.length < drafts.length) {
    // An earlier put may have created the writer's private realm.
    const writing = { ...given, access: await accessOf(given.tx, given.actor) }
    const found = await replaceSome(writing, takeBatch(drafts, texts.length), texts)
    if (found === 0) await insertFirst({ writing, drafts, texts })
  }
  return texts
}

/** Looks objects up and replaces or inserts them; resolves to the number of those that were there. */
async function replaceSome(
  given: Writing,
  batch: readonly Draft[],
  texts: string[],
): Promise<number> {
  const { tx, table, now } = given
  const known = batch.flatMap(({ key }) => (key === undefined ? [] : [key]))
  const existing = await tx.objects.findMany(table, known)
  const settled = given.offload === undefined ? batch : await settle(given, batch, existing)
  // Settling may have created the writer's private realm.
  const writing = { ...given, access: await accessOf(tx, given.actor) }
  let puts: ObjectPut[] = []
  let entries = 0
  for (const draft of settled) {
    const previous = draft.key === undefined ? undefined : existing.get(draft.key)
    // An await that has nothing to wait for costs as much as a check, a thousand times over.
    const placed = place(writing, draft, previous)
    const placement = placed instanceof Promise ? await placed : placed
    if (!writing.isGlobal) authorizePut(writing, placement)
    if (needsReadableRefs(writing, placement)) await requireReadableRefs(writing, placement)
    texts.push(placement.draft.text)
    if (isStored(placement)) continue
    const reading = readBefore(writing.tx, placement)
    const put = putOf(writing, placement, reading instanceof Promise ? await reading : reading)
    puts.push(put)
    entries += heldBy(put) + heldBy(put.previousTraces)
    if (entries >= BATCH_ENTRIES) {
      await putObjects(tx, table, puts, now)
      puts = []
      entries = 0
    }
    const pause = tx.breathe()
    if (pause instanceof Promise) await pause
  }
  await putObjects(tx, table, puts, now)
  await tx.breathe()
  return existing.size
}

/** The drafts with their large values offloaded. */
async function settle(
  writing: Writing,
  batch: readonly Draft[],
  existing: ReadonlyMap<string, TimedObject>,
): Promise<readonly Draft[]> {
  const settled: Draft[] = []
  for (const draft of batch) {
    const previous = existing.get(draft.key ?? '')
    settled.push((await writing.offload?.settle(writing, draft, previous)) ?? draft)
  }
  return settled
}

/** As many drafts as a batch holds, and no key twice: the second one replaces the first. */
function takeBatch(drafts: readonly Draft[], start: number): Draft[] {
  const batch: Draft[] = []
  const keys = new Set<string>()
  for (let position = start; position < drafts.length && batch.length < BATCH; position += 1) {
    const draft = drafts[position]
    if (draft === undefined || (draft.key !== undefined && keys.has(draft.key))) break
    if (draft.key !== undefined) keys.add(draft.key)
    batch.push(draft)
  }
  return batch
}

/** Each row may change the permissions that the next one is checked against. */
async function putRows(
  given: Writing,
  rules: RowRules,
  drafts: readonly Draft[],
): Promise<string[]> {
  const { tx, table, now } = given
  const texts: string[] = []
  let access = given.isGlobal ? undefined : await ownAccess(given)
  for (const draft of drafts) {
    const writing = access === undefined ? given : { ...given, access }
    const previous = draft.key === undefined ? undefined : await tx.objects.find(table, draft.key)
    const candidate = await place(writing, draft, previous)
    const allowed = writing.isGlobal ? candidate : await rules.authorizePut(writing, candidate)
    if (allowed === undefined) {
      texts.push(previous?.value ?? draft.text)
      continue
    }
    if (needsReadableRefs(writing, allowed)) await requireReadableRefs(writing, allowed)
    const placement = (await rules.complement?.(writing, allowed)) ?? allowed
    texts.push(placement.draft.text)
    if (isStored(placement)) continue
    await rules.guard(writing, previous?.realm ?? placement.realm.ref, previous, async () => {
      await putObjects(tx, table, [putOf(writing, placement)], now)
      await rules.afterPut(writing, placement)
    })
    if (access !== undefined) access = await accessAfterPut(writing, access, placement)
    await tx.breathe()
  }
  return texts
}

/** Rows say who may do what in their own realm; only a global role counts everywhere. */
async function accessAfterPut(
  writing: Writing,
  access: UnitAccess,
  { realm, previous }: Placement,
): Promise<UnitAccess> {
  const { tx, table } = writing
  for (const ref of new Set([realm.ref, previous?.realm ?? realm.ref])) {
    if (table.name === 'roles' && ref === PUBLIC_REALM_REF) return ownAccess(writing)
    await followRealm(tx, access, ref)
  }
  return access
}

async function ownAccess({ tx, actor }: Writing): Promise<UnitAccess> {
  return unitAccess(await accessOf(tx, actor))
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
function putOf(writing: Writing, placement: Placement, properties?: WireObject): ObjectPut {
  const { tx, table, now, limitRemoved, staged } = writing
  const { draft, key, realm, owner, previous } = placement
  const { text } = draft
  if (staged !== undefined) return stagedPut(writing, staged, placement, properties)
  if (previous === undefined) {
    const { entries, blobs } = tracesOf(table, draft)
    return { key, realm: realm.ref, owner, value: text, entries, blobs }
  }
  if (previous.isDamaged === true) {
    return { key, realm: realm.ref, owner, value: text, ...tracesOf(table, draft), previous }
  }
  const before = properties ?? parseStored(previous.value)
  const stored = { text: previous.value, object: before }
  const { entries, blobs, previousTraces, removed } = replacementOf(table, stored, draft)
  limitRemoved?.(removed)
  const stamps = replacedStamps(previous, before, draft.object, now, tx.unitRevision())
  const put = { key, realm: realm.ref, owner, value: text, entries, blobs }
  return { ...put, stamps, previous, previousTraces }
}

/** The put of an object whose entries are there already. */
function stagedPut(
  { tx, now, table }: Writing,
  staged: number,
  { draft, key, realm, owner, previous }: Placement,
  before: WireObject | undefined,
): ObjectPut {
  const { blobs } = tracesOf({ ...table, indexes: NONE }, draft)
  const put = { key, realm: realm.ref, owner, value: draft.text, entries: NONE, blobs, staged }
  if (previous === undefined) return put
  const properties = before ?? parseStored(previous.value)
  const replaced = { text: previous.value, object: properties }
  const previousTraces = tracesOf({ ...table, indexes: NONE }, replaced)
  const stamps = replacedStamps(previous, properties, draft.object, now, tx.unitRevision())
  return { ...put, stamps, previous, previousTraces }
}

const NONE: readonly never[] = []

/** The properties of the object that is replaced, if it is there and whole. */
function readBefore(tx: Breath, { previous }: Placement): Awaitable<WireObject> | undefined {
  if (previous === undefined || previous.isDamaged === true) return undefined
  return readStored(previous.value, tx)
}

/** The number of index entries that take memory. */
function heldBy(traces: Traces | undefined): number {
  return Array.isArray(traces?.entries) ? traces.entries.length : 0
}
