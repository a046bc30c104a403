import { readShaped, type Shape } from '../json/shaped'
import { quoted, SatchelError } from '../value/error'
import { FIXED_LIMITS } from '../value/fixed-limits'
import { sharedTurn } from '../value/turn'
import { isRecord, presentIn, type WireObject } from '../value/value'
import { atOnce, type Work } from '../value/work'
import type { SpecLimits } from './change'
import { tablesOf } from './declared'
import { readTransactions } from './read-operation'
import { type BaseRevision, knowsBlobRefs, type LastPull, type SyncRequest } from './request'
import { invalid, listIn, requireName, textIn } from './wire-field'

/**
 * Reads a request, its body already parsed as JSON. Throws `INVALID_REQUEST` naming the field that
 * is missing or of another shape; an operation that cannot be executed, or is beyond a limit, refuses its
 * transaction only.
 */
export function readSyncRequest(body: unknown, limits: SpecLimits): SyncRequest {
  return atOnce(syncRequestSteps(body, limits))
}

/**
 * Reads a large request of sync in small steps, between which others get a turn: unknown fields are skipped,
 * and the rest is parsed value by value. `grow` reserves the memory of so many more values. Throws as
 * `readSyncRequest` and `readShaped`.
 */
export async function readSyncBody(
  chunks: AsyncIterable<Uint8Array>,
  limits: SpecLimits,
  grow: (values: number) => Promise<void>,
): Promise<SyncRequest> {
  const body = await readShaped(chunks, REQUEST, { values: FIXED_LIMITS.syncValues.most, grow })
  const steps = syncRequestSteps(body, limits)
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
    await sharedTurn()
  }
}

/** `readSyncRequest` in short steps. A value that was too large to be parsed is a `LeftOut`. */
function* syncRequestSteps(body: unknown, limits: SpecLimits): Work<SyncRequest> {
  if (!isRecord(body)) throw invalid('The body', 'an object')
  const clientIdentity = requireName(body['clientIdentity'], '"clientIdentity"')
  requireNoText(listIn(body, 'y'))
  const lastPull = presentIn(body, 'lastPull')
  return {
    clientIdentity,
    knowsBlobRefs: knowsBlobRefs(presentIn(body, 'v')),
    dbId: textIn(body, 'dbID'),
    tables: tablesOf(presentIn(body, 'schema') ?? {}),
    lastPull: lastPull === undefined ? undefined : yield* readLastPull(lastPull),
    baseRevs: listIn(body, 'baseRevs').map(readBaseRevision),
    transactions: yield* readTransactions(listIn(body, 'changes'), limits),
  }
}

/**
 * Throws `UNPROCESSABLE` when the client sends text of `Y.Doc` properties (`u-c`), which an answer would
 * acknowledge: after the refusal it keeps the text and tries again. Its state vectors (`sv`) ask for nothing.
 */
function requireNoText(messages: readonly unknown[]): void {
  const update = messages.find((message) => isRecord(message) && message['type'] === 'u-c')
  if (!isRecord(update)) return
  const { table, prop } = update
  const reason = `${String(table)}.${String(prop)}`.slice(0, 200)
  const sentence = `This server does not store collaborative text (Y.Doc), and the device has some in ${quoted(reason)}: nothing of this request was stored, and the device keeps its objects and its text`
  // A line in the log too: the add-on shows the person no more than the status.
  throw new SatchelError('UNPROCESSABLE', sentence, { reason, cause: new Error(sentence) })
}

function* readLastPull(value: unknown): Work<LastPull> {
  if (!isRecord(value)) throw invalid('"lastPull"', 'an object')
  return {
    serverRevision: presentIn(value, 'serverRevision'),
    realms: yield* namesIn(value, 'realms'),
    inviteRealms: yield* namesIn(value, 'inviteRealms'),
  }
}

function readBaseRevision(value: unknown): BaseRevision {
  if (isRecord(value)) {
    const { tableName: table, clientRev } = value
    if (typeof table === 'string' && typeof clientRev === 'number') {
      return { table, clientRev, serverRev: presentIn(value, 'serverRev') }
    }
  }
  throw invalid('"baseRevs"', 'a list of {tableName, clientRev, serverRev}')
}

/** There may be a million of them. */
function* namesIn(object: WireObject, name: string): Work<Set<string>> {
  const names = new Set<string>()
  for (const [at, one] of listIn(object, name).entries()) {
    if (typeof one !== 'string') throw invalid(quoted(name), 'a list of strings')
    names.add(one)
    if (at % NAMES_PER_STEP === NAMES_PER_STEP - 1) yield
  }
  return names
}

const NAMES_PER_STEP = 1_000

/** Deeper values are left out or refused before anything recurses on them; rows may have fewer levels. */
const DEPTH = 1_000
/** A name, a number or another short value. */
const SHORT = value(64 * 1024, 1_000)
const SCHEMA = value(1024 * 1024, 50_000)
/** Very many short texts: to read them one by one would take ten times as long as to parse them in slices. */
const NAMES = value(Infinity, FIXED_LIMITS.syncValues.most)
/** A row, criteria or a changeSpec: one that is too much rejects its transaction. */
const LARGE = value(Infinity, FIXED_LIMITS.rowValues.most, true)

const OPERATION = object({
  type: SHORT,
  txid: SHORT,
  ts: SHORT,
  rev: SHORT,
  userId: SHORT,
  isAdditionalChunk: SHORT,
  keys: NAMES,
  values: listOf(LARGE),
  changeSpecs: listOf(LARGE),
  criteria: LARGE,
  changeSpec: LARGE,
})

/** The fields of protocol.md §4.2 that are read; `$t` says that one is undefined. */
const REQUEST = object({
  v: SHORT,
  dbID: SHORT,
  clientIdentity: SHORT,
  schema: SCHEMA,
  lastPull: object({
    $t: SHORT,
    serverRevision: SHORT,
    realms: NAMES,
    inviteRealms: NAMES,
  }),
  baseRevs: listOf(SHORT),
  y: listOf(object({ type: SHORT, table: SHORT, prop: SHORT })),
  changes: listOf(object({ table: SHORT, muts: listOf(OPERATION) })),
})

function object(fields: Readonly<Record<string, Shape>>): Shape {
  return { kind: 'object', fields: new Map(Object.entries(fields)) }
}

function listOf(of: Shape): Shape {
  return { kind: 'list', of }
}

function value(bytes: number, values: number, mayBeLeftOut = false): Shape {
  return { kind: 'value', limits: { depth: DEPTH, values }, bytes, mayBeLeftOut }
}
