import { accessOf } from '../access/access'
import { SatchelError } from '../value/error'
import { authorizePut, needsReadableRefs } from './authorize'
import type { ObjectPut } from '../store/objects'
import type { Draft } from './draft'
import { place } from './placement'
import { entriesIn, putOf, type EntryBudget, type RowChange, writeRows } from './write'
import { type Placement, type Writing, rulesOf } from './writing'

/** How much one step of a unit puts, at least one object: a few milliseconds. */
const STEP = { objects: 256, rows: 64, entries: 10_000, characters: 2 ** 20 }
/** New objects that are inserted together, before the first is known to be new. */
const MAX_OPTIMISTIC_INSERTS = 16

/**
 * Looks up what drafts replace, where they may replace something, and writes them. Returns the stored texts,
 * in order. Throws as `writeRows`.
 */
export function putDrafts(writing: Writing, drafts: readonly Draft[]): string[] {
  const texts: string[] = []
  while (texts.length < drafts.length) texts.push(...putSome(writing, drafts, texts.length))
  return texts
}

/** `putDrafts` for the drafts from this place on that one step of a unit puts. */
export function putSome(given: Writing, drafts: readonly Draft[], from = 0): string[] {
  if (rulesOf(given.rulesByTable, given.table) !== undefined) {
    return writeRows(given, inTurn(given, drafts.slice(from, from + STEP.rows)))
  }
  const some = drafts.length === 1 ? drafts : takeSome(drafts, from)
  const writing = some.length > 1 ? { ...given, knownRealms: new Map() } : given
  const budget = { entries: STEP.entries }
  const texts = insertNew(writing, some, budget)
  if (texts.length < some.length && budget.entries > 0) {
    texts.push(...replaceSome(writing, some.slice(texts.length), budget))
  }
  return texts
}

/** Each row is looked up when its turn comes: one before may have made it. */
function* inTurn({ tx, table }: Writing, drafts: readonly Draft[]): Generator<RowChange> {
  for (const after of drafts) {
    const before = after.key === undefined ? undefined : tx.objects.find(table, after.key)
    yield { before, after }
  }
}

/** The drafts of a step, and no key twice: the second one replaces the first. */
function takeSome(drafts: readonly Draft[], from: number): readonly Draft[] {
  const keys = new Set<string>()
  let characters = 0
  let end = from
  while (end < drafts.length && end - from < STEP.objects && characters < STEP.characters) {
    const { key, text } = drafts[end]!
    if (key !== undefined && keys.has(key)) break
    if (key !== undefined) keys.add(key)
    characters += text.length
    end += 1
  }
  return drafts.slice(from, end)
}

/**
 * Inserts drafts as new objects without looking for those that they would replace, because most are new: up to one
 * that needs a look. Returns their texts.
 */
function insertNew(writing: Writing, drafts: readonly Draft[], budget: EntryBudget): string[] {
  const { tx, table, now } = writing
  const texts: string[] = []
  while (texts.length < drafts.length && budget.entries > 0) {
    const puts = newPuts(writing, drafts, texts.length)
    const count = puts.length === 0 ? 0 : tx.objects.insert(table, puts, now)
    for (let at = 0; at < count; at += 1) {
      texts.push(puts[at]!.value)
      budget.entries -= entriesIn(puts[at])
    }
    if (puts.length === 0 || count < puts.length) break
  }
  return texts
}

/** The puts of the next drafts, up to one that needs a look. */
function newPuts(writing: Writing, drafts: readonly Draft[], from: number): ObjectPut[] {
  const puts: ObjectPut[] = []
  for (let at = from; at < drafts.length && puts.length < MAX_OPTIMISTIC_INSERTS; at += 1) {
    const put = newPut(writing, drafts[at]!)
    if (put === undefined) break
    puts.push(put)
  }
  return puts
}

/** The put of a draft as a new object; undefined where that needs a look at the one with its key. */
function newPut(writing: Writing, draft: Draft): ObjectPut | undefined {
  if (writing.offload !== undefined) return undefined
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
function replaceSome(writing: Writing, drafts: readonly Draft[], budget: EntryBudget): string[] {
  const { tx, table, offload } = writing
  const keys: string[] = []
  for (const { key } of drafts) if (key !== undefined) keys.push(key)
  const existing = tx.objects.findMany(table, keys)
  const changes = drafts.map((draft) => {
    const before = draft.key === undefined ? undefined : existing.get(draft.key)
    return { before, after: offload?.settle(writing, draft, before) ?? draft }
  })
  // An earlier put, or settling, may have created the writer's private realm.
  return writeRows({ ...writing, access: accessOf(tx, writing.actor) }, changes, budget)
}
