import { requireStanding } from '../access/actor'
import type { ChangeChunk, ChangePosition, ChunkSize } from '../store/objects'
import type { RealmRef } from '../store/realms'
import type { Database, ReadTx } from '../store/store'
import type { Table } from '../store/tables'
import { mentionsBlobs } from '../value/blob'
import { SatchelError } from '../value/error'
import { sharedTurn } from '../value/turn'
import { type InlineSource, inlined } from './inline'
import { OutgoingOperations } from './message'
import { CHUNK, planAnswer, type AnswerPlan, type Pull } from './answer-plan'
import { formatRevision } from './revision'
import {
  addInvitations,
  addSeen,
  pendingRows,
  type AnswerSight,
  answerSightIn,
  answerSight,
} from './answer-rows'
import { withoutText } from './text'
import { isPersonal, visibilityOf } from './visible'

/** A part of an answer. */
export interface AnswerPart {
  readonly text: string
  /** Present in the last part. */
  readonly end?: AnswerEnd
}

/** What the client has when it has received an answer. */
export interface AnswerEnd {
  readonly revision: number
  /** `revision` as the answer sends it. */
  readonly serverRevision: string
  /** Realms are left out so that the client drops its copies of them and fetches them whole. */
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
}

/** Answers that fit one read do not queue. */
const UNQUEUED_CHUNK: ChunkSize = { rows: 50, bytes: 32 * 1024 }
/** Answers that do not fit one read of this size take several parts. */
const FIRST_CHUNK: ChunkSize = { rows: 300, bytes: 64 * 1024 }

/** An answer of which the first part was read. */
export interface BegunAnswer {
  readonly first: AnswerPart
  /** The other parts; undefined when the first one is all of it. */
  readonly rest: AsyncGenerator<AnswerPart, void> | undefined
}

/**
 * Begins the answer to a request of sync as JSON, part by part (protocol.md §4.3): everything that changed
 * since the client's last pull, and every key of the request that is not as the client has assumed.
 * Realms that are new to the client are sent whole, in short reads, while others
 * write; the answer ends with a snapshot of all changes since it began, whose revision comes last.
 * Throws as `requireStanding`, which each read asks again.
 */
export async function beginAnswer(database: Database, pull: Pull): Promise<BegunAnswer> {
  let { plan, closing } = await database.read((tx) => beginShort(tx, pull, UNQUEUED_CHUNK))
  const isFresh = plan.fresh.size > 0 || plan.newTables.size > 0
  if (closing === undefined) await sharedTurn()
  if (closing === undefined && !isFresh) {
    ;({ plan, closing } = await database.read((tx) => beginShort(tx, pull, FIRST_CHUNK)))
  }
  if (closing !== undefined) {
    const entries = sentTo(plan, closing.entries)
    if (inlineSource(database, pull, entries) === undefined) {
      return { first: lastPart(headOf(database, plan) + entries, plan, closing), rest: undefined }
    }
  }
  if (isFresh) {
    const { first, rest } = await begun(partsOf(database, { ...plan, chunk: FIRST_CHUNK }))
    if (rest === undefined) return { first, rest }
    await rest.return(undefined)
  }
  // While it waits it holds nothing of what it will send, as very many may wait.
  await pull.untilItsTurn?.()
  const whole = await database.read((tx) => begin(tx, pull, CHUNK).plan)
  return await begun(partsOf(database, whole))
}

async function begun(parts: AsyncGenerator<AnswerPart, void>): Promise<BegunAnswer> {
  const { value: first } = await parts.next()
  if (first === undefined) throw new Error('the answer has no part')
  return { first, rest: first.end === undefined ? parts : undefined }
}

async function* partsOf(database: Database, plan: AnswerPlan): AsyncGenerator<AnswerPart, void> {
  let text = headOf(database, plan)
  let separator = ''
  async function* add(read: string): AsyncGenerator<AnswerPart> {
    if (read === '') return
    const entries = sentTo(plan, read)
    text += separator
    separator = ','
    const source = inlineSource(database, plan.pull, entries)
    for await (const piece of source === undefined ? [entries] : inlined(entries, source)) {
      text += piece
      if (text.length < plan.chunk.bytes) continue
      yield { text }
      text = ''
    }
  }
  for await (const entries of stream(database, plan)) yield* add(entries)
  for (let from: number | ChangePosition = plan.revision; ;) {
    const closing: Closing = await database.read((tx) => close(tx, answerSight(tx, plan), from))
    yield* add(closing.entries)
    if (closing.next === undefined) {
      await notePrivates(database, plan)
      yield lastPart(text, plan, closing)
      return
    }
    from = closing.next
    // Also when nothing was added: the rows of a large request need not be sent back.
    await sharedTurn()
  }
}

function sentTo({ text }: AnswerPlan, entries: string): string {
  return text === undefined ? entries : withoutText(entries, text)
}

/** Undefined when the entries are sent as they are. */
function inlineSource(
  database: Database,
  { actor, contents, report = () => undefined }: Pull,
  entries: string,
): InlineSource | undefined {
  if (contents === undefined || !mentionsBlobs(entries)) return undefined
  return { database, actor, contents, report }
}

/**
 * Notes for the client that private rows are among the new ones of its answer, by a revision after that of
 * the answer: they replace what it changes until it has the answer, because the add-on knows its own keys
 * without their user there. So the keys that it names next are answered (protocol.md Appendix C.31).
 */
async function notePrivates(database: Database, { pull: { client }, privates }: AnswerPlan) {
  if (!privates.areSent || client === undefined) return
  try {
    await database.write((tx) => tx.syncClients.notePrivates(client))
  } catch (error) {
    // A full disk keeps no client from reading.
    if (!(error instanceof SatchelError)) throw error
  }
}

function lastPart(
  text: string,
  { realms, inviteRealms }: AnswerPlan,
  { revision, serverRevision }: Snapshot,
): AnswerPart {
  return {
    text: `${text}],"serverRevision":${JSON.stringify(serverRevision)}}`,
    end: { revision, serverRevision, realms, inviteRealms },
  }
}

function begin(tx: ReadTx, pull: Pull, chunk: ChunkSize): AnswerSight {
  requireStanding(tx, pull.actor)
  const visibility = visibilityOf(tx, pull.actor)
  return answerSightIn(planAnswer(tx, pull, visibility, chunk), visibility)
}

/** Plans an answer, and reads all of it when one short read suffices. */
function beginShort(
  tx: ReadTx,
  pull: Pull,
  size: ChunkSize,
): { readonly plan: AnswerPlan; readonly closing: (Closing & Snapshot) | undefined } {
  const sight = begin(tx, pull, size)
  const { plan } = sight
  const { fresh, newTables, pending, base } = plan
  const isLong = { plan, closing: undefined }
  if (fresh.size > 0 || newTables.size > 0 || pending.length > size.rows) return isLong
  const named = pendingRows(tx, sight, 0)
  if (named.next !== undefined) return isLong
  const closing = close(tx, sight, base)
  if (closing.next !== undefined) return isLong
  return { plan, closing: { ...closing, entries: joined(named.entries, closing.entries) } }
}

function headOf(database: Database, { pull, realms, inviteRealms, schema }: AnswerPlan): string {
  const rejections = JSON.stringify(pull.rejections)
  return `{"dbId":${JSON.stringify(database.id)},"realms":${listText(realms)},"inviteRealms":${listText(inviteRealms)},"schema":${schema},"rejections":${rejections},"changes":[`
}

const listTexts = new WeakMap<readonly string[], string>()

/** The list as JSON. Answers of an actor mostly have the same lists. */
function listText(list: readonly string[]): string {
  let text = listTexts.get(list)
  if (text === undefined) listTexts.set(list, (text = JSON.stringify(list)))
  return text
}

function joined(one: string, other: string): string {
  return one === '' || other === '' ? one + other : `${one},${other}`
}

/**
 * The entries of an answer that takes several reads: what changed in the known realms, all rows of
 * the fresh ones and of new tables, then the pending keys.
 */
async function* stream(database: Database, plan: AnswerPlan): AsyncGenerator<string> {
  const { known, fresh, tables, newTables, base } = plan
  const olderTables = new Set(tables.keys()).difference(newTables)
  if (known.size > 0 && olderTables.size > 0) {
    yield* inReads(database, base as number | ChangePosition, (tx, after) =>
      readChanges(tx, plan, olderTables, after),
    )
  }
  const wholes = [...tables.values()]
    .map((table) => ({ table, realms: newTables.has(table.name) ? fresh.union(known) : fresh }))
    .filter(({ realms }) => realms.size > 0)
  yield* inReads(database, START, (tx, place) => readWholes(tx, plan, wholes, place))
  yield* inReads(database, 0, (tx, start) => pendingRows(tx, answerSight(tx, plan), start))
}

/** The entries of one read, and where the next one goes on; undefined at the end. */
interface ReadEntries<Place> {
  readonly entries: string
  readonly next: Place | undefined
}

/** Short reads, so that others get their turn. */
async function* inReads<Place>(
  database: Database,
  start: Place,
  read: (tx: ReadTx, place: Place) => ReadEntries<Place>,
): AsyncGenerator<string> {
  let place: Place | undefined = start
  while (place !== undefined) {
    const from: Place = place
    const { entries, next }: ReadEntries<Place> = await database.read((tx) => read(tx, from))
    yield entries
    place = next
    if (place !== undefined) await sharedTurn()
  }
}

function readChanges(
  tx: ReadTx,
  plan: AnswerPlan,
  tables: ReadonlySet<string>,
  after: number | ChangePosition,
): ReadEntries<number | ChangePosition> {
  const sight = answerSight(tx, plan)
  const operations = new OutgoingOperations()
  const realms = plan.known.intersection(sight.realms)
  const { changes, next } = tx.objects.changes(realms, after, plan.revision, plan.chunk, tables)
  for (const change of changes) addSeen(tx, sight, operations, change)
  return { entries: operations.text(), next }
}

/** A table whose rows in these realms are sent whole. */
interface Whole {
  readonly table: Table
  readonly realms: ReadonlySet<RealmRef>
}

/** A place among the rows that are sent whole. */
interface WholePlace {
  /** The table, as its position in the list. */
  readonly at: number
  /** The realms with rows of it; undefined: not yet known. */
  readonly realms: readonly RealmRef[] | undefined
  /** The realm, as its position in the list, and the place in it. */
  readonly nth: number
  readonly after: number | ChangePosition
}

const START: WholePlace = { at: 0, realms: undefined, nth: 0, after: 0 }
const LOOKS_PER_READ = 200

function readWholes(
  tx: ReadTx,
  plan: AnswerPlan,
  wholes: readonly Whole[],
  place: WholePlace,
): ReadEntries<WholePlace> {
  const sight = answerSight(tx, plan)
  const operations = new OutgoingOperations()
  let { at, realms, nth, after } = place
  for (let looks = 0; looks < LOOKS_PER_READ && operations.size < plan.chunk.bytes; looks += 1) {
    const whole = wholes[at]
    if (whole === undefined) return { entries: operations.text(), next: undefined }
    realms ??= addTogether(tx, sight, operations, whole)
    const realm = realms[nth]
    const next = realm && addWhole(tx, sight, operations, whole.table, realm, after)
    after = next ?? 0
    // A whole chunk was read, maybe of rows that the client has: others get a turn.
    if (next !== undefined) break
    nth += 1
    if (nth < realms.length) continue
    realms = undefined
    nth = 0
    at += 1
  }
  return { entries: operations.text(), next: { at, realms, nth, after } }
}

/**
 * Adds the rows of a table in all realms that have some if they are few: a user may be in thousands of
 * realms. Gives the realms whose rows are missing.
 */
function addTogether(
  tx: ReadTx,
  sight: AnswerSight,
  operations: OutgoingOperations,
  { table, realms }: Whole,
): readonly RealmRef[] {
  const { plan } = sight
  const found = [...tx.objects.realmsWith(table, realms)]
  const isAlone = (realm: RealmRef) => isPersonal(table.name, realm)
  const seen = found.filter((realm) => sight.realms.has(realm) && !isAlone(realm))
  if (seen.length < 2 || plan.pull.named.has(table.name)) return found
  const all = tx.objects.contentsTogether(table, seen, plan.revision, plan.chunk)
  if (all === undefined) return found
  upsertWhole(plan, operations, table, all)
  for (const key of all.damaged) plan.leaveOut(table.name, key)
  return found.filter(isAlone)
}

/** Adds the next rows of a table in a realm; undefined when there are no more. */
function addWhole(
  tx: ReadTx,
  sight: AnswerSight,
  operations: OutgoingOperations,
  table: Table,
  realm: RealmRef,
  after: number | ChangePosition,
): ChangePosition | undefined {
  const { plan, realms } = sight
  const { name } = table
  if (!realms.has(realm)) return undefined
  if (isPersonal(name, realm) || plan.pull.named.has(name)) {
    const one = [new Set([realm]), new Set([name])] as const
    const chunk = tx.objects.changes(one[0], after, plan.revision, plan.chunk, one[1])
    for (const change of chunk.changes) {
      if (change.object !== null) addSeen(tx, sight, operations, change)
    }
    return chunk.next
  }
  const { keys, values, damaged, next } = tx.objects.contents(
    table,
    realm,
    after,
    plan.revision,
    plan.chunk,
  )
  upsertWhole(plan, operations, table, { keys, values })
  for (const key of damaged) plan.leaveOut(name, key)
  return next
}

/** Adds several rows: keys as JSON strings and stored texts, each joined by commas. */
function upsertWhole(
  { privates }: AnswerPlan,
  operations: OutgoingOperations,
  table: Table,
  { keys, values }: { readonly keys: string; readonly values: string },
): void {
  if (keys.includes('"#')) privates.areSent = true
  operations.upserts(table.name, keys, values)
}

/** A chunk of the closing: `next` is where to go on, undefined when the answer is complete. */
type Closing =
  | { readonly entries: string; readonly next: number | ChangePosition }
  | ({ readonly entries: string; readonly next: undefined } & Snapshot)

type Snapshot = Pick<AnswerEnd, 'revision' | 'serverRevision'>

/**
 * The next changes of all listed realms as they are now. The chunk after which nothing is left is the
 * final snapshot: a row that was sent earlier and changed again is in it once more.
 */
function close(tx: ReadTx, sight: AnswerSight, after: number | ChangePosition): Closing {
  const { plan } = sight
  const revision = tx.revision()
  const operations = new OutgoingOperations()
  const realms = movedByOthers(tx, sight, after, revision)
  const { changes, next } =
    realms.size === 0
      ? NO_CHANGES
      : tx.objects.changes(realms, after, revision, plan.chunk, new Set(plan.tables.keys()))
  for (const change of changes) addSeen(tx, sight, operations, change)
  if (next !== undefined) return { entries: operations.text(), next }
  addInvitations(tx, sight, operations)
  const run = tx.runs.list().at(-1)
  if (run === undefined) throw new Error('the database has no run')
  const serverRevision = formatRevision(run, revision)
  return { entries: operations.text(), next, revision, serverRevision }
}

const NO_CHANGES: ChangeChunk = { changes: [], next: undefined }

/**
 * The listed realms in which others than the request itself have changed something after a revision: its
 * own rows are as the client has assumed, or pending. Most requests of a client that is up to date find none.
 */
function movedByOthers(
  tx: ReadTx,
  { plan: { pull }, realms }: AnswerSight,
  after: number | ChangePosition,
  revision: number,
): ReadonlySet<RealmRef> {
  if (typeof after !== 'number') return realms
  return tx.objects.realmsMoved(realms, after, revision, pull.ownRevisions ?? NONE) ?? realms
}

const NONE: ReadonlySet<number> = new Set()
