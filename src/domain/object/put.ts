import { type Access, accessAfter, accessOf } from '../access/access'
import { authorizePut, needsReadableRefs, requireReadableRefs } from './authorize'
import type { ObjectPut, TimedObject } from '../store/objects'
import { PUBLIC_REALM_REF } from '../store/realms'
import type { Draft } from './draft'
import { place } from './placement'
import { andThen, type Awaitable } from '../store/records'
import { replacedStamps } from './stamps'
import { parseStored } from '../value/value'
import { tracesOf } from './traces'
import { type Placement, type RowRules, type Writing, rulesOf } from './writing'

/** Objects of ordinary tables are looked up and written this many at a time. */
const BATCH = 500
/** A batch is written early when its objects have so many index entries, which take memory. */
const BATCH_ENTRIES = 5_000

/**
 * Puts drafts into their table, each in its place, by the rules of the table and, for a writer
 * without `GLOBAL_WRITE`, of access (design.md §5). Resolves to the stored texts, in order. Throws
 * `UNKNOWN_REALM`, `CONFLICT`, `UNPROCESSABLE`, `BLOB_NOT_READABLE` naming the property, or
 * `NOT_AUTHORIZED` with the missing permission, and the errors of the rules of the table.
 */
export function putDrafts(writing: Writing, drafts: readonly Draft[]): Awaitable<string[]> {
  const rules = rulesOf(writing.rulesByTable, writing.table)
  if (rules !== undefined) return putRows(writing, rules, drafts)
  const [draft] = drafts
  if (draft === undefined || drafts.length > 1) return putAll(writing, drafts)
  return andThen(insertNew(writing, draft), (text) =>
    text === undefined ? putAll(writing, drafts) : [text],
  )
}

/**
 * Writes a single object as a new one, without looking for one that it would replace. Undefined, with
 * nothing written, where that needs a look: `putAll` decides then.
 */
function insertNew(writing: Writing, draft: Draft): Awaitable<string | undefined> {
  const { tx, table, now } = writing
  // Without a realm, that of the object there would count.
  if (draft.realmId === undefined || writing.offload !== undefined) return undefined
  return andThen(place(writing, draft, undefined), (placement) => {
    if (!writing.isGlobal && !mayInsert(writing, placement)) return undefined
    if (needsReadableRefs(writing, placement)) return undefined
    const inserted = tx.objects.insert(table, putOf(writing, placement), now)
    return andThen(inserted, (isNew) => (isNew ? placement.draft.text : undefined))
  })
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

/** Objects of ordinary tables do not change permissions, so they are written in batches. */
async function putAll(given: Writing, drafts: readonly Draft[]): Promise<string[]> {
  const { tx, table, now } = given
  const texts: string[] = []
  for (let start = 0; start < drafts.length;) {
    const batch = takeBatch(drafts, start)
    start += batch.length
    const known = batch.flatMap(({ key }) => (key === undefined ? [] : [key]))
    const existing = await tx.objects.findMany(table, known)
    const settled = given.offload === undefined ? batch : await settle(given, batch, existing)
    // An earlier put may have created the writer's private realm.
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
      const put = putOf(writing, placement)
      puts.push(put)
      entries += put.entries.length + (put.previousTraces?.entries.length ?? 0)
      if (entries >= BATCH_ENTRIES) {
        await tx.objects.put(table, puts, now)
        puts = []
        entries = 0
      }
      const pause = tx.breathe()
      if (pause instanceof Promise) await pause
    }
    await tx.objects.put(table, puts, now)
    await tx.breathe()
  }
  return texts
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
  let { access } = given
  if (!given.isGlobal) access = await accessOf(tx, given.actor)
  for (const draft of drafts) {
    const writing = { ...given, access }
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
      await tx.objects.put(table, [putOf(writing, placement)], now)
      await rules.afterPut(writing, placement)
    })
    if (!given.isGlobal) access = await accessAfterPut(writing, placement)
    await tx.breathe()
  }
  return texts
}

/** Rows say who may do what in their own realm; only a global role counts everywhere. */
async function accessAfterPut(
  { tx, actor, access, table }: Writing,
  { realm, previous }: Placement,
): Promise<Access> {
  if (table.name === 'roles' && realm.ref === PUBLIC_REALM_REF) return accessOf(tx, actor)
  const after = await accessAfter(tx, access, realm.ref)
  if (previous === undefined || previous.realm === realm.ref) return after
  const isGlobalRole = table.name === 'roles' && previous.realm === PUBLIC_REALM_REF
  return isGlobalRole ? accessOf(tx, actor) : accessAfter(tx, after, previous.realm)
}

/** True when the put would change nothing: it takes no revision, and nobody need hear of it. */
function isStored({ draft, realm, owner, previous }: Placement): boolean {
  return (
    previous !== undefined &&
    previous.isDamaged !== true &&
    previous.value === draft.text &&
    previous.realm === realm.ref &&
    previous.owner === owner
  )
}

/** The put of a placement, whose writer wins over all that was written before (REST, imports). */
function putOf({ tx, table, now }: Writing, placement: Placement): ObjectPut {
  const { draft, key, realm, owner, previous } = placement
  const put = {
    key,
    realm: realm.ref,
    owner,
    value: draft.text,
    ...tracesOf(table, { text: draft.text, object: () => draft.object }),
  }
  if (previous === undefined) return put
  if (previous.isDamaged === true) return { ...put, previous }
  const before = parseStored(previous.value)
  return {
    ...put,
    stamps: replacedStamps(previous, before, draft.object, now, tx.unitRevision()),
    previous,
    previousTraces: tracesOf(table, { text: previous.value, object: () => before }),
  }
}
