import { SatchelError, quoted, invalidRequest, unprocessable } from '../value/error'
import { FIXED_LIMITS, requireFew } from '../value/fixed-limits'
import { isNameText } from '../value/key'
import { type WireObject, isAbsent, isRecord, presentIn } from '../value/value'
import { atOnce, type Work } from '../value/work'
import { LeftOut } from '../json/shaped'
import {
  type PropertyChange,
  copiesOf,
  escaped,
  readChangeSpec,
  requireFewCopies,
  type SpecLimits,
} from './change'
import { type Criteria, readCriteria } from './criteria'
import { type DeclaredTable, tablesOnce } from './declared'

/** The body of a request to `POST /sync` (protocol.md §4.2). */
export interface SyncRequest {
  /** Of the local database; undefined from callers that keep none. */
  readonly clientIdentity: string
  /** The client knows BlobRefs: add-ons from 4.4 on do (protocol.md Appendix C.27). */
  readonly knowsBlobRefs: boolean
  /** The `dbId` of an earlier answer. */
  readonly dbId: string | undefined
  /** The tables that the client declares, without its internal ones. */
  readonly tables: ReadonlyMap<string, DeclaredTable>
  /** Undefined for a first sync. */
  readonly lastPull: LastPull | undefined
  readonly baseRevs: readonly BaseRevision[]
  /** In the order in which they first appear. */
  readonly transactions: readonly ClientTransaction[]
}

export interface LastPull {
  readonly serverRevision: unknown
  readonly realms: ReadonlySet<string>
  readonly inviteRealms: ReadonlySet<string>
}

export interface BaseRevision {
  readonly table: string
  readonly clientRev: number
  readonly serverRev: unknown
}

/** The operations that share a `txid`: all of them or none (protocol.md §4.10). */
export interface ClientTransaction {
  readonly txid: string
  /** Rows of anonymous work, uploaded at login: judged one by one. */
  readonly isUpload: boolean
  readonly operations: readonly Operation[]
  /** Why the transaction cannot be executed: then its keys are restored. */
  readonly refusal: SatchelError | undefined
}

/** One operation of a client (protocol.md §4.4). */
export interface Operation {
  readonly table: string
  /** In wire form: compound keys as JSON text, private keys with their user. */
  readonly keys: readonly string[]
  /** The clock of the client, ms; undefined for uploads. */
  readonly ts: number | undefined
  /** The position in the client's log of this table; undefined for uploads. */
  readonly rev: number | undefined
  /** The user of the client at that time. */
  readonly userId: string | undefined
  readonly action: Action
}

export type Action =
  | {
      readonly type: 'insert' | 'upsert'
      /** One per key; of a large request none once the operation was executed (`freeObjects`). */
      readonly values: WireObject[]
      /** One per key; null where the whole object counts. */
      readonly changes?: readonly (readonly PropertyChange[] | null)[]
    }
  | {
      readonly type: 'update'
      /** One per key, or one for all of them. */
      readonly changes: readonly (readonly PropertyChange[])[]
    }
  | {
      readonly type: 'modify'
      readonly query: Query
      readonly change: readonly PropertyChange[]
      /** The changeSpec as the client sent it. */
      readonly source: unknown
    }
  | { readonly type: 'delete'; readonly query: Query | undefined }

/** Frees the objects of executed transactions: one request may hold 256 MiB of them. */
export function freeObjects(transactions: readonly ClientTransaction[]): void {
  for (const { operations } of transactions) {
    for (const { action } of operations) if ('values' in action) action.values.length = 0
  }
}

/** Criteria that are to be executed; chunks after the first only name more keys. */
export interface Query {
  readonly criteria: Criteria
  /** `criteria` as the client sent them. */
  readonly source: unknown
  readonly isFirstChunk: boolean
}

/** The prefix of the `txid` that uploads of anonymous work share. */
const UPLOAD = 'upload-'
const TXID_LENGTH = 100
const NAME = `well-formed text of at most ${TXID_LENGTH} characters, without U+0000`

/** Two malformed names could be stored as one: the second transaction would count as executed. */
function isName(text: unknown): text is string {
  return typeof text === 'string' && text.length <= TXID_LENGTH && isNameText(text)
}

/**
 * Reads a request, its body already parsed as JSON. Throws `INVALID_REQUEST` naming the field that
 * is missing or of another shape; an operation that cannot be executed, or is beyond a limit, refuses its
 * transaction only.
 */
export function readSyncRequest(body: unknown, limits?: SpecLimits): SyncRequest {
  return atOnce(syncRequestSteps(body, limits))
}

/** `readSyncRequest` in short steps. A value that was too large to be parsed is a `LeftOut`. */
export function* syncRequestSteps(body: unknown, limits?: SpecLimits): Work<SyncRequest> {
  if (!isRecord(body)) throw invalid('The body', 'an object')
  const { clientIdentity } = body
  if (!isName(clientIdentity)) {
    throw invalid('"clientIdentity"', NAME)
  }
  requireNoText(listIn(body, 'y'))
  const dbId = presentIn(body, 'dbID')
  const lastPull = presentIn(body, 'lastPull')
  return {
    clientIdentity,
    knowsBlobRefs: knowsBlobRefs(presentIn(body, 'v')),
    dbId: typeof dbId === 'string' ? dbId : undefined,
    tables: tablesOnce(presentIn(body, 'schema') ?? {}, readTables),
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

/** What the version of a client's protocol says; callers that name none know all. */
export function knowsBlobRefs(version: unknown): boolean {
  return version !== 1 && version !== 2
}

/**
 * The request of a client whose clock is behind that of the database because a test has moved the latter,
 * `by` ms: the times of its operations are moved as far.
 */
export function movedBy(request: SyncRequest, by: number): SyncRequest {
  if (by === 0) return request
  const moved = (operation: Operation): Operation =>
    operation.ts === undefined ? operation : { ...operation, ts: operation.ts + by }
  const transactions = request.transactions.map((transaction) => ({
    ...transaction,
    operations: transaction.operations.map(moved),
  }))
  return { ...request, transactions }
}

function readTables(schema: unknown): Map<string, DeclaredTable> {
  if (!isRecord(schema)) throw invalid('"schema"', 'an object')
  const tables = new Map<string, DeclaredTable>()
  // The client's own tables are escaped: `$$jobs`.
  const names = Object.keys(schema).filter((name) => !name.startsWith('$'))
  requireFew(FIXED_LIMITS.tables, names.length)
  for (const name of names) {
    const entry = schema[name]
    if (!isRecord(entry)) throw invalid(`"schema" of ${quoted(name)}`, 'an object')
    const idPrefix = presentIn(entry, 'idPrefix')
    const primaryKey = presentIn(entry, 'primaryKey')
    tables.set(name, {
      isMarked: presentIn(entry, 'markedForSync') === true && presentIn(entry, 'deleted') !== true,
      isInitiallySynced: presentIn(entry, 'initiallySynced') === true,
      generated: presentIn(entry, 'generatedGlobalId') === true,
      idPrefix: typeof idPrefix === 'string' ? idPrefix : undefined,
      primaryKey: typeof primaryKey === 'string' ? primaryKey : undefined,
      textProperties: textPropertiesIn(name, entry),
      wire: entry,
    })
  }
  let count = 0
  for (const { textProperties } of tables.values()) count += textProperties.length
  requireFew(FIXED_LIMITS.textProperties, count)
  return tables
}

const NO_PROPERTIES: readonly string[] = []
const TEXT_PROPERTY_LENGTH = 256

function textPropertiesIn(table: string, entry: WireObject): readonly string[] {
  const names = listIn(entry, 'yProps')
  if (names.length === 0) return NO_PROPERTIES
  return names.map((name) => {
    if (typeof name === 'string' && name.length <= TEXT_PROPERTY_LENGTH && isNameText(name)) {
      return escaped(name)
    }
    const expected = `a list of names of at most ${TEXT_PROPERTY_LENGTH} characters`
    throw invalid(`"yProps" in the "schema" of ${quoted(table)}`, expected)
  })
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
  const table = isRecord(value) ? value['tableName'] : undefined
  const clientRev = isRecord(value) ? value['clientRev'] : undefined
  if (!isRecord(value) || typeof table !== 'string' || typeof clientRev !== 'number') {
    throw invalid('"baseRevs"', 'a list of {tableName, clientRev, serverRev}')
  }
  return { table, clientRev, serverRev: presentIn(value, 'serverRev') }
}

interface Gathered {
  readonly operations: Operation[]
  refusal: SatchelError | undefined
  /** The characters that its updates copy into several objects each. */
  copies: number
}

function* readTransactions(
  changes: readonly unknown[],
  limits: SpecLimits | undefined,
): Work<ClientTransaction[]> {
  const gathered = new Map<string, Gathered>()
  for (const change of changes) {
    const table = isRecord(change) ? change['table'] : undefined
    if (!isRecord(change) || typeof table !== 'string') {
      throw invalid('"changes"', 'a list of {table, muts}')
    }
    for (const mut of listIn(change, 'muts')) {
      readOperation(gathered, table, mut, limits)
      yield
    }
  }
  return [...gathered].map(([txid, { operations, refusal }]) => ({
    txid,
    isUpload: txid.startsWith(UPLOAD),
    operations,
    refusal,
  }))
}

/** An operation that names its transaction and its keys can be refused and restored. */
function readOperation(
  gathered: Map<string, Gathered>,
  table: string,
  mut: unknown,
  limits: SpecLimits | undefined,
): void {
  if (!isRecord(mut)) throw invalid('"muts"', 'a list of operations')
  const txid = mut['txid']
  if (!isName(txid) || txid === '') {
    throw invalid('"txid" of an operation', NAME)
  }
  const transaction = gathered.get(txid) ?? { operations: [], refusal: undefined, copies: 0 }
  gathered.set(txid, transaction)
  const keys = listIn(mut, 'keys').map(readKey)
  const ts = presentIn(mut, 'ts')
  const rev = presentIn(mut, 'rev')
  const userId = presentIn(mut, 'userId')
  const common = {
    table,
    keys,
    ts: typeof ts === 'number' && Number.isFinite(ts) ? ts : undefined,
    rev: typeof rev === 'number' ? rev : undefined,
    userId: typeof userId === 'string' ? userId : undefined,
  }
  try {
    const action = readAction(mut, keys.length, limits)
    if (action.type === 'update' && action.changes.length === 1) {
      transaction.copies += copiesOf(listIn(mut, 'changeSpecs')[0], keys.length)
      requireFewCopies(transaction.copies)
    }
    transaction.operations.push(lastOfEach({ ...common, action }))
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    transaction.refusal ??= error
    const action = { type: 'update', changes: [] } as const
    transaction.operations.push({ ...common, action })
  }
}

/**
 * Of several changes of one row in an update the last: its client keeps no other one (protocol.md
 * Appendix C.29).
 */
function lastOfEach(operation: Operation): Operation {
  const { keys, action } = operation
  if (action.type !== 'update' || keys.length < 2) return operation
  const last = new Map(keys.map((key, position) => [key, position]))
  if (last.size === keys.length) return operation
  const positions = [...last.values()].toSorted((one, other) => one - other)
  const { changes } = action
  const own = changes.length === keys.length ? positions.map((at) => changes[at] ?? []) : changes
  return {
    ...operation,
    keys: positions.map((at) => keys[at] ?? ''),
    action: { ...action, changes: own },
  }
}

/** Array keys that were sent raw are as good as their JSON. */
function readKey(key: unknown): string {
  if (typeof key === 'string') return key
  if (Array.isArray(key)) return JSON.stringify(key)
  throw invalid('"keys" of an operation', 'a list of strings')
}

function readAction(mut: WireObject, keyCount: number, limits?: SpecLimits): Action {
  const readSpec = (spec: unknown) => readSpecIn(spec, limits)
  const type = mut['type']
  switch (type) {
    case 'insert':
    case 'upsert':
      return readPut(type, mut, keyCount, readSpec)
    case 'update': {
      const changes = listIn(mut, 'changeSpecs').map(readSpec)
      if (changes.length !== keyCount && changes.length !== 1 && keyCount > 0) {
        throw refused('an update has a changeSpec for each key, or one for all of them')
      }
      return { type, changes }
    }
    case 'modify': {
      const query = readQuery(mut)
      if (query === undefined) throw refused('a modify needs criteria')
      const source = mut['changeSpec']
      return { type, query, change: readSpec(source), source }
    }
    case 'delete':
      return { type, query: readQuery(mut) }
    default:
      throw refused('its type is insert, upsert, update, modify or delete')
  }
}

function readPut(
  type: 'insert' | 'upsert',
  mut: WireObject,
  keyCount: number,
  readSpec: (spec: unknown) => PropertyChange[],
): Action {
  const values = listIn(mut, 'values')
  requireWhole(values)
  if (values.length !== keyCount || !values.every(isRecord)) {
    throw refused(`an ${type} has an object for each key`)
  }
  const specs = presentIn(mut, 'changeSpecs')
  if (type === 'insert' || specs === undefined) return { type, values }
  if (!Array.isArray(specs) || specs.length !== keyCount) {
    throw refused('an upsert has a changeSpec, or null, for each key')
  }
  return { type, values, changes: specs.map((spec) => (isAbsent(spec) ? null : readSpec(spec))) }
}

/** Throws the refusal of a value that was too large to be parsed. */
function requireWhole(values: readonly unknown[]): void {
  for (const value of values) if (value instanceof LeftOut) throw value.refusal
}

function readSpecIn(spec: unknown, limits?: SpecLimits): PropertyChange[] {
  requireWhole([spec])
  if (!isRecord(spec)) throw refused('a changeSpec is an object')
  return readChangeSpec(spec, limits)
}

function readQuery(mut: WireObject): Query | undefined {
  const criteria = presentIn(mut, 'criteria')
  if (criteria === undefined) return undefined
  requireWhole([criteria])
  const isFirstChunk = presentIn(mut, 'isAdditionalChunk') !== true
  return { criteria: readCriteria(criteria), source: criteria, isFirstChunk }
}

function listIn(object: WireObject, name: string): unknown[] {
  const value = presentIn(object, name)
  if (value === undefined) return []
  if (Array.isArray(value)) return value as unknown[]
  throw invalid(quoted(name), 'a list')
}

/** There may be a million of them. */
function* namesIn(object: WireObject, name: string): Work<Set<string>> {
  const names = new Set<string>()
  for (const [at, one] of listIn(object, name).entries()) {
    if (typeof one !== 'string') throw invalid(quoted(name), 'a list of strings')
    names.add(one)
    if (at % NAMES === NAMES - 1) yield
  }
  return names
}

const NAMES = 1_000

function invalid(subject: string, expected: string): SatchelError {
  return invalidRequest(`${subject} must be ${expected}`)
}

function refused(problem: string): SatchelError {
  return unprocessable(`An operation cannot be executed: ${problem}`)
}
