import { type Access, accessOf, type UnitAccess } from '../access/access'
import { type Actor, requireWriter } from '../access/actor'
import { quoted, unprocessable, conflict } from '../value/error'
import { PUBLIC_REALM } from '../store/realms'
import type { Database, WriteOptions, WriteTx } from '../store/store'
import { nextTurn } from '../value/turn'
import type { ViewName } from '../access/view'
import { type Draft, asPrivate, draftOf } from './draft'
import {
  createEntryLimiter,
  countRemovals,
  requireFewObjects,
  requireFewProperties,
  type WriteLimits,
} from './limits'
import { keyInView } from './object'
import { putSome } from './put'
import { getOwn, isRecord, setOwn } from '../value/value'
import {
  aboutRow,
  type BeginOffload,
  type Offload,
  type RulesByTable,
  rulesOf,
  type Writing,
  writingInView,
} from './writing'
import { requireTable } from './tables'
import type { Table } from '../store/tables'
import { keyFromPath } from '../value/key'
import { propertyAt } from '../value/property'

/** Objects that are checked and serialised before other requests get a turn. */
const SLICE = 1_000

/**
 * The properties of an upsert without its objects. The caller has checked the scopes of the view.
 */
interface UpsertTarget {
  readonly actor: Actor
  readonly table: string
  /** ms since the epoch. */
  readonly now: number
  /** Moves large values into blobs; without it they stay in their objects. */
  readonly beginOffload?: BeginOffload
  /** How much the request may write; absent: anything. */
  readonly limits?: WriteLimits
  /** Ends the upsert while it is not committed: its caller is gone. */
  readonly signal?: AbortSignal | undefined
}

interface Upsert extends UpsertTarget {
  readonly view: ViewName
  /** From `prepareUpsert`; it is called when this is absent. */
  readonly plan?: UpsertPlan
  readonly objects: readonly unknown[]
  /** False for a request with a single object: error paths then name no position. */
  readonly isArray: boolean
  /** The key in the address of a single object, decoded; absent when the objects name their own. */
  readonly key?: string | undefined
  readonly rulesByTable: RulesByTable
  /** Called with the key of a single object in the unit that stores it, before that; undefined: it has none yet. */
  readonly before?: (tx: WriteTx, table: Table, key: string | undefined) => void
}

/** An upsert that was prepared before its objects are read; valid for one upsert. */
export interface UpsertPlan {
  readonly table: Table
  readonly offload: Offload | undefined
}

/**
 * Refuses, before any object is read, a caller who may not write or a table that is unknown. Throws
 * `UNKNOWN_TABLE`, and as `requireWriter`.
 */
export function prepareUpsert(database: Database, target: UpsertTarget): Promise<UpsertPlan> {
  const { actor, now, beginOffload } = target
  return database.read((tx) => {
    requireWriter(tx, actor, now)
    // Caches the rights for the write that follows.
    accessOf(tx, actor)
    return { table: requireTable(tx, target.table), offload: beginOffload?.(tx) }
  })
}

/**
 * Creates or replaces each object by its primary key, all in one unit (spec.md §4.1, design.md §5).
 * Resolves to the stored texts in the order of the request. Throws `UNKNOWN_TABLE`,
 * `UNPROCESSABLE`, `UNKNOWN_REALM`, `CONFLICT`, `BLOB_NOT_READABLE` or `NOT_AUTHORIZED` with the
 * missing permission; for an invitation by mail also `TOO_MANY_REQUESTS`, `MAIL_NOT_CONFIGURED` or
 * `NO_PUBLIC_ADDRESS`; for values that become blobs also `PAYLOAD_TOO_LARGE` or `QUOTA_EXCEEDED`;
 * and as `requireWriter`.
 */
export async function upsertObjects(database: Database, upsert: Upsert): Promise<string[]> {
  const plan = upsert.plan ?? (await prepareUpsert(database, upsert))
  const drafts = await readDrafts(plan.table, upsert, plan.offload)
  const write = () => writeDrafts(database, upsert, plan, drafts)
  return plan.offload === undefined ? write() : plan.offload.keep(write)
}

function writeDrafts(
  database: Database,
  upsert: Upsert,
  plan: UpsertPlan,
  drafts: readonly Draft[],
): Promise<string[]> {
  const options: WriteOptions = {
    // A single object is checked before it is put.
    rarelyFails:
      drafts.length === 1 &&
      !plan.table.builtIn &&
      plan.offload === undefined &&
      upsert.before === undefined,
    signal: upsert.signal,
    subject: upsert.actor.subject,
  }
  if (drafts.length === 1) {
    return database.write((tx) => {
      const writing = writingOf(tx, upsert, plan, 0)
      upsert.before?.(tx, writing.table, drafts[0]?.key)
      return putSome(writing, drafts)
    }, options)
  }
  return database.writeSteps(async (step) => {
    const texts: string[] = []
    let removed = 0
    let rights: UnitAccess | undefined
    do {
      const put = await step((tx) => {
        const writing = {
          ...writingOf(tx, upsert, plan, removed, rights),
          rights: { access: rights },
        }
        return { texts: putSome(writing, drafts, texts.length), writing }
      })
      for (const text of put.texts) texts.push(text)
      removed = put.writing.removals?.total ?? 0
      rights = put.writing.rights.access
    } while (texts.length < drafts.length)
    return texts
  }, options)
}

/** The context of a step, as an actor that may have lost rights since the plan was made. */
function writingOf(
  tx: WriteTx,
  upsert: Upsert,
  plan: UpsertPlan,
  removed: number,
  rights?: Access,
): Writing {
  const { actor, now, limits } = upsert
  requireWriter(tx, actor, now)
  const table = requireTable(tx, upsert.table)
  if (!hasSameKey(table, plan.table)) {
    throw conflict('The schema changed meanwhile: repeat the request')
  }
  // Where nothing is indexed, no entry is removed.
  const isLimited = limits !== undefined && table.indexes.length > 0
  return {
    ...writingInView(tx, upsert, table, rights ?? accessOf(tx, actor)),
    offload: plan.offload,
    removals: isLimited ? countRemovals(limits, removed) : undefined,
  }
}

function hasSameKey(one: Table, other: Table): boolean {
  return one === other || one.primaryKey?.join() === other.primaryKey?.join()
}

/** Checks and serialises the objects. Others get their turn between two slices of a large request. */
async function readDrafts(
  table: Table,
  upsert: Upsert,
  offload: Offload | undefined,
): Promise<readonly Draft[]> {
  const { view, objects, limits } = upsert
  if (table.primaryKey === null) {
    throw unprocessable(
      `The primary key of ${quoted(table.name)} is not known yet: push the schema first (satchel schema push)`,
    )
  }
  if (view === 'public' && table.name === 'realms') {
    throw unprocessable('A realm cannot be in the public realm: use /my or /all')
  }
  if (limits !== undefined) requireFewObjects(table, objects.length, limits)
  const limitEntries =
    limits !== undefined && table.indexes.length > 0 ? createEntryLimiter(table, limits) : undefined
  const drafts: Draft[] = []
  for (let position = 0; position < objects.length; position += 1) {
    if (position > 0 && position % SLICE === 0) await nextTurn()
    const read = () => readDraft(table, upsert, offload, position, limitEntries)
    drafts.push(aboutRow(table, namedKey(table, objects[position]), read))
  }
  return drafts
}

/** The key that an object names itself, where it is a plain one. */
function namedKey({ primaryKey, compound }: Table, object: unknown): string | undefined {
  const [path] = primaryKey ?? []
  const isNamed = !compound && path !== undefined && isRecord(object)
  const key = isNamed ? propertyAt(object, path) : undefined
  return typeof key === 'string' ? key : undefined
}

type EntryLimiter = ReturnType<typeof createEntryLimiter>

function readDraft(
  table: Table,
  upsert: Upsert,
  offload: Offload | undefined,
  position: number,
  limitEntries: EntryLimiter | undefined,
): Draft {
  const { actor, view, objects, isArray, key, limits } = upsert
  const object = objects[position]
  const path = isArray ? `[${position}]` : ''
  limitEntries?.(object, path)
  const placed = view === 'public' && table.builtIn ? inPublicRealm(object) : object
  const value = key === undefined ? placed : withKeyOf(table, placed, key)
  const extracted = offload?.extract(table, value, path)
  const raw = draftOf(table, value, isArray ? position : undefined)
  const draft = inView(table, upsert, raw, actor.subject ?? '')
  if (limits !== undefined) requireFewProperties(draft, path, limits)
  if (key !== undefined) requireKeyOf(table, draft, keyInView(table, view, key, actor))
  requireRealmOfView(table, view, draft)
  if (extracted !== undefined) offload?.note(draft, extracted)
  return draft
}

/** A row of `members` or `roles` needs its realm before `place` would fill it in. */
function inPublicRealm(object: unknown): unknown {
  if (!isRecord(object) || getOwn(object, 'realmId') !== undefined) return object
  return { ...object, realmId: PUBLIC_REALM }
}

function inView(
  table: Table,
  { view, rulesByTable }: Upsert,
  draft: Draft,
  subject: string,
): Draft {
  const rules = rulesOf(rulesByTable, table)
  if (rules !== undefined) return rules.complete(draft)
  return view === 'my' ? asPrivate(table, draft, subject) : draft
}

/** `/all` is told the realm of every object, `/public` has only one (spec.md §4.1 rules 2, 4). */
function requireRealmOfView(table: Table, view: ViewName, { realmId }: Draft): void {
  if (view === 'all' && realmId === undefined && table.name !== 'realms') {
    throw unprocessable(
      `"realmId" is missing: every object of /all/${table.name} needs one`,
      'realmId',
    )
  }
  if (view === 'public' && realmId !== undefined && realmId !== PUBLIC_REALM) {
    throw unprocessable(
      `"realmId" is not ${PUBLIC_REALM}: /public writes only there, use /my or /all`,
      'realmId',
    )
  }
}

/**
 * The object that is put at an address, with the key of that address where it names none itself
 * (protocol.md §14.1). `text` is the path segment, decoded. Throws `INVALID_REQUEST`.
 */
function withKeyOf(table: Table, object: unknown, text: string): unknown {
  const key = keyFromPath(table, text)
  if (!isRecord(object)) return object
  const parts = table.compound ? (JSON.parse(key) as unknown[]) : [key]
  const filled = { ...object }
  for (const [index, path] of (table.primaryKey ?? []).entries()) {
    // Deeper properties belong to an object that only its writer can create.
    const isOpen = (propertyAt(object, path) ?? null) === null
    if (isOpen && !path.includes('.')) {
      setOwn(filled, path, parts[index])
    }
  }
  return filled
}

/** Throws `UNPROCESSABLE` when the object has another key than its address. */
function requireKeyOf(table: Table, draft: Draft, key: string): void {
  if (draft.key === key) return
  const [path = ''] = table.primaryKey ?? []
  throw unprocessable(
    `${quoted(path)} is not the key in the address: leave it out, or put the object at its own`,
    path,
  )
}
