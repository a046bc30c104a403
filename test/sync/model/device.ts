import {
  applyOperations,
  type DBKeyMutationSet,
  type DBOperationsSet,
  setByKeyPath,
  subtractChanges,
  toDBOperationSet,
} from 'dexie-cloud-common'
import { realmSetHash } from '../../../src/domain/sync/realm-set'
import type { Person, Value } from '../../access/oracle-world'
import type { Causality } from './causality'
import { Died, type Link, type ModelServer, TABLES } from './server'

/** An operation of a local transaction, in wire form (protocol.md §4.4). */
export interface LocalOperation {
  readonly table: string
  readonly type: 'insert' | 'upsert' | 'update' | 'modify' | 'delete'
  readonly keys: readonly string[]
  readonly values?: readonly Value[]
  readonly changeSpecs?: readonly (Value | null)[]
  readonly changeSpec?: Value
  readonly criteria?: object
  readonly isAdditionalChunk?: true
}

/** An operation that was not sent; those of anonymous work have no number and no time. */
interface Logged {
  readonly table: string
  readonly rev: number | undefined
  readonly transaction: number | undefined
  readonly mut: Value & { readonly ts?: number }
}

interface LastPull {
  readonly serverRevision: string
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
}

interface Answer extends LastPull {
  readonly dbId: string
  readonly schema: Readonly<Record<string, object>>
  readonly changes: DBOperationsSet
}

interface Message {
  readonly type: string
  readonly baseRev?: string
  readonly newRev?: string
  readonly realmSetHash?: string
  readonly changes?: DBOperationsSet
}

export const UNDEFINED = { $t: 'undefined' }

/** The devices of the model are ready at once, those with the published add-on later. */
type Awaitable<T> = T | Promise<T>

/** The device of a user, simulated or real. */
export interface Device {
  readonly person: Person
  readonly name: string
  /** The rows of a table as the device shows them, by key, in wire form. */
  rowsOf(table: string): ReadonlyMap<string, Value>
  /** Executes a transaction and logs it; each of the functions makes its next operations. */
  transact(makers: readonly Maker[]): Awaitable<void>
  /** Sends the log; the answer is on its way when it resolves. False when there is none. */
  begin(): Promise<boolean>
  /** The answer arrives. */
  finish(): Awaitable<void>
  synchronize(): Promise<void>
  /** Handles the messages that have arrived; false when there are none. */
  process(): Promise<boolean>
  connect(): void
  disconnect(): void
  /** The answer is lost. */
  lose(): void
  /** The request is lost, or late: a repetition may be the first to arrive. */
  drop(): Awaitable<void>
  /** An earlier request reaches the server, once more or for the first time. */
  repeat(which: number): Promise<void>
  /** Every request that was sent has arrived, and its answer as well. */
  calm(): Promise<void>
  /** The user logs in anew on a device without data, where they made these rows before. */
  wipe(work: readonly { readonly table: string; readonly value: Value }[]): Promise<void>
  /** How much its clock is ahead, ms. */
  setSkew(ms: number): Awaitable<void>
  /** It has tried to sync: it takes part in the history. */
  readonly isKnown: boolean
  readonly isPending: boolean
  readonly isConnected: boolean
}

/** Makes the operations of an act on what the device shows now; `tag` makes a new value for a path. */
export type Maker = (tag: (path: string) => string) => readonly LocalOperation[]

/** What a device lives in. */
export interface Surroundings {
  readonly server: Pick<ModelServer, 'now' | 'sync' | 'connect'>
  readonly causality: Causality
  /** A transaction begins, with this id. */
  begun(txid: string, transaction: number, operations: readonly LocalOperation[]): void
}

/**
 * A local database as the published client keeps it (protocol.md §4.5, §4.7, §4.8, §5): rows, a log
 * of operations that were not sent, the revisions that they are based on, and a socket.
 */
export function createDevice(surroundings: Surroundings, person: Person, name: string): Device {
  const { server, causality } = surroundings
  const rows = new Map(TABLES.map((table) => [table, new Map<string, Value>()]))
  const revs = new Map<string, number>()
  const sentBodies: string[] = []
  let identity = name
  let lives = 0
  let log: Logged[] = []
  let baseRevs: { tableName: string; clientRev: number; serverRev: string }[] = []
  let lastPull: LastPull | undefined
  let dbID: string | undefined
  let schema = NEW_SCHEMA
  let flight: { readonly answer: Answer; readonly sent: ReadonlySet<Logged> } | undefined
  let link: Link | undefined
  let inbox: Message[] = []
  let skew = 0
  let made = 0
  let observed = 0n
  /** Operations were sent, and no answer has come. */
  let isDoubtful = false

  const rowsOf = (table: string): Map<string, Value> => rows.get(table) ?? new Map<string, Value>()

  function transact(makers: readonly Maker[]): void {
    made += 1
    const txid = `${name} ${made}`
    const ts = server.now() + skew
    // A client whose clock went back sends its operations in the order of their times.
    const later = log.filter(({ mut }) => (mut.ts ?? 0) > ts)
    const sentAfter = later.flatMap(({ transaction: other }) => other ?? [])
    const transaction = causality.begin(causality.without(observed, sentAfter))
    observed = causality.with(observed, transaction)
    const operations: LocalOperation[] = []
    for (const make of makers) {
      for (const operation of make((path) => causality.tag(transaction, path))) {
        const { table, ...rest } = operation
        const rev = (revs.get(table) ?? 0) + 1
        revs.set(table, rev)
        operations.push(operation)
        const own = { txid, userId: person.id, ts, opNo: operations.length, rev }
        log.push({ table, rev, transaction, mut: copyOf({ ...rest, ...own }) })
        noteRewritten(transaction, operation)
        execute(table, rest)
      }
    }
    surroundings.begun(txid, transaction, operations)
  }

  function noteRewritten(transaction: number, { table, keys, values = [] }: LocalOperation): void {
    if (table !== 'items') return
    for (const [position, key] of keys.entries()) {
      causality.rewrite(transaction, key, values[position] ?? {})
    }
  }

  function execute(table: string, operation: Omit<LocalOperation, 'table'>): void {
    const { type, keys, values = [], changeSpecs = [], changeSpec } = copyOf(operation)
    const held = rowsOf(table)
    for (const [position, key] of keys.entries()) {
      const row = held.get(key)
      const spec = changeSpec ?? changeSpecs[position] ?? changeSpecs[0] ?? {}
      if (type === 'delete') held.delete(key)
      else if (type === 'insert' || type === 'upsert') held.set(key, values[position] ?? {})
      else if (row !== undefined) held.set(key, changed(row, spec))
    }
  }

  /** The next request, which the client remembers as sent. */
  function compose() {
    const isFirst = lastPull === undefined
    lives += isFirst ? 1 : 0
    // Until a first sync succeeds each attempt has a new identity, and uploads in a new transaction.
    if (isFirst) identity = `${name} ${lives}`
    const sent = log.toSorted((one, other) => (one.mut.ts ?? Infinity) - (other.mut.ts ?? Infinity))
    const changes = sent.map(({ table, mut }) => {
      return { table, muts: [mut.ts === undefined ? { ...mut, txid: `upload-${identity}` } : mut] }
    })
    const fields = { clientIdentity: identity, dbID, schema, lastPull, baseRevs, changes }
    const body = JSON.stringify({ v: 3, ...fields, dxcv: '4.4.14', y: [] })
    sentBodies.push(body)
    isDoubtful ||= sent.length > 0
    return { body, sent: new Set(sent) }
  }

  async function begin(): Promise<boolean> {
    if (flight !== undefined) return true
    const { body, sent } = compose()
    try {
      flight = { answer: JSON.parse(await server.sync(person, body)) as Answer, sent }
      return true
    } catch (error) {
      if (!(error instanceof Died)) throw error
      return false
    }
  }

  function finish(): void {
    if (flight === undefined) return
    const { answer, sent } = flight
    flight = undefined
    const { serverRevision, realms, inviteRealms } = answer
    const rest = log.filter((one) => !sent.has(one))
    const changes = filtered(answer.changes, rest)
    if (changes === undefined) return
    log = rest
    isDoubtful = false
    dropRealms(lastPull, answer)
    lastPull = { serverRevision, realms, inviteRealms }
    dbID = answer.dbId
    schema = { ...schema, ...answer.schema }
    rebase(serverRevision)
    apply(changes)
    observe()
  }

  function observe(): void {
    const unsent = new Set(log.flatMap(({ transaction }) => transaction ?? []))
    observed = causality.observe(name, rowsOf('items'), { observed, unsent })
  }

  /** The changes that apply beside operations that wait; undefined when the client fails. */
  function filtered(
    changes: DBOperationsSet,
    waiting: readonly Logged[],
  ): DBOperationsSet | undefined {
    const target: DBKeyMutationSet = {}
    applyOperations(target, revived(changes))
    const local: DBKeyMutationSet = {}
    try {
      const operations = waiting.map(({ table, mut }) => ({ table, muts: [revived(mut)] }))
      applyOperations(local, operations as unknown as DBOperationsSet)
      subtractChanges(target, local)
    } catch (error) {
      // An update of several keys with one spec (Appendix C.20).
      if (error instanceof TypeError) return undefined
      throw error
    }
    return toDBOperationSet(target, '')
  }

  function dropRealms(before: LastPull | undefined, now: LastPull): void {
    const gone = new Set(
      [...(before?.realms ?? []), ...(before?.inviteRealms ?? [])].filter(
        (realm) => !now.realms.includes(realm),
      ),
    )
    for (const [table, held] of rows) {
      const isMeta = ['realms', 'members', 'roles'].includes(table)
      for (const [key, row] of held) {
        const realm = String(row['realmId'])
        const isKept = isMeta && now.inviteRealms.includes(realm)
        if (gone.has(realm) && !isKept) held.delete(key)
      }
    }
  }

  function rebase(serverRev: string): void {
    for (const tableName of TABLES) {
      const clientRev = (revs.get(tableName) ?? 0) + 1
      baseRevs = baseRevs.filter(
        (one) => one.tableName !== tableName || one.clientRev !== clientRev,
      )
      baseRevs.push({ tableName, clientRev, serverRev })
      const oldest = Math.min(
        clientRev,
        ...log.flatMap(({ table, rev }) => (table === tableName ? (rev ?? []) : [])),
      )
      const needed = Math.max(
        0,
        ...baseRevs
          .filter((one) => one.tableName === tableName && one.clientRev <= oldest)
          .map((one) => one.clientRev),
      )
      baseRevs = baseRevs.filter((one) => one.tableName !== tableName || one.clientRev >= needed)
    }
  }

  function apply(changes: DBOperationsSet): void {
    for (const { table, muts } of changes) {
      for (const mut of muts as unknown as Omit<LocalOperation, 'table'>[]) execute(table, mut)
    }
  }

  async function synchronize(): Promise<void> {
    finish()
    await begin()
    finish()
  }

  function hash(): string {
    return realmSetHash(lastPull?.realms ?? [], lastPull?.inviteRealms ?? [])
  }

  function ready(): void {
    const said = { type: 'ready', rev: lastPull?.serverRevision, realmSetHash: hash() }
    link?.say(JSON.stringify(said))
  }

  async function process(): Promise<boolean> {
    if (flight !== undefined || inbox.length === 0) return false
    const messages = inbox
    inbox = []
    for (const message of messages) if (isPullDue(message)) await synchronize()
    ready()
    return true
  }

  function isPullDue(message: Message): boolean {
    const { type, baseRev, newRev = '', changes = [] } = message
    if (type !== 'changes') return type !== 'pong'
    if (message.realmSetHash !== hash()) return true
    if (lastPull === undefined || lastPull.serverRevision !== baseRev) return false
    const rest = filtered(changes, log)
    if (rest === undefined) return false
    lastPull = { ...lastPull, serverRevision: newRev }
    rebase(newRev)
    apply(rest)
    observe()
    return false
  }

  function disconnect(): void {
    link?.close()
    link = undefined
    inbox = []
  }

  return {
    person,
    name,
    rowsOf,
    transact,
    begin,
    finish,
    synchronize,
    process,
    disconnect,
    lose() {
      flight = undefined
    },
    drop() {
      if (flight === undefined) compose()
    },
    async repeat(which: number) {
      const body = sentBodies[which % Math.max(1, sentBodies.length)]
      if (body !== undefined) await server.sync(person, body)
    },
    async calm() {
      if (isDoubtful) await synchronize()
      sentBodies.length = 0
    },
    async wipe(work: readonly { readonly table: string; readonly value: Value }[]) {
      disconnect()
      log = []
      baseRevs = []
      revs.clear()
      for (const held of rows.values()) held.clear()
      flight = lastPull = dbID = undefined
      schema = NEW_SCHEMA
      observed = 0n
      for (const { table, value } of work) {
        const keys = [String(value['id'])]
        const values = [{ ...value, owner: person.id, realmId: person.id }]
        execute(table, { type: 'upsert', keys, values })
        log.push({
          table,
          rev: undefined,
          transaction: undefined,
          mut: { type: 'upsert', keys, values },
        })
      }
      await synchronize()
    },
    connect() {
      if (link !== undefined || lastPull === undefined) return
      const opened: { link?: Link } = {}
      opened.link = server.connect(person, identity, (text) => {
        if (link === opened.link) inbox.push(JSON.parse(text) as Message)
      })
      link = opened.link
      ready()
    },
    setSkew(ms: number) {
      skew = ms
    },
    get isKnown() {
      return lives > 0
    },
    get isPending() {
      return log.length > 0 || flight !== undefined || lastPull === undefined
    },
    get isConnected() {
      return link !== undefined
    },
  }
}

const NEW_SCHEMA: Readonly<Record<string, object>> = Object.fromEntries(
  TABLES.map((table) => [table, { markedForSync: true }]),
)

/** A row with the values of a changeSpec, as Dexie sets them. */
export function changed(row: Value, spec: Value): Value {
  const copy = copyOf(row) as Record<string, never>
  for (const [path, value] of Object.entries(revived(spec))) {
    const modification = modificationIn(value)
    if (modification === undefined) setByKeyPath(copy, path, value)
    else setByKeyPath(copy, path, modified(modification, valueIn(copy, path)))
  }
  return copy
}

export type Modification =
  | { readonly add: number | readonly string[] }
  | { readonly remove: number | readonly string[] }
  | { readonly replacePrefix: readonly [string, string] }

function modificationIn(value: unknown): Modification | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  return '@@propmod' in value ? (value['@@propmod'] as Modification) : undefined
}

export function valueIn(row: unknown, path: string): unknown {
  let value = row
  for (const name of path.split('.')) value = (value as Value | undefined)?.[name]
  return value
}

/** protocol.md §4.6 */
function modified(modification: Modification, value: unknown): unknown {
  const list = Array.isArray(value) ? (value as string[]) : []
  if ('add' in modification) {
    const { add } = modification
    return typeof add === 'number' ? (Number(value) || 0) + add : [...list, ...add].toSorted()
  }
  if ('remove' in modification) {
    const { remove } = modification
    if (typeof remove === 'number') return Number(value) - remove
    return list.filter((one) => !remove.includes(one)).toSorted()
  }
  const [before, after] = modification.replacePrefix
  const isMatch = typeof value === 'string' && value.startsWith(before)
  return isMatch ? after + value.slice(before.length) : value
}

/** A deep copy of plain objects and arrays; `structuredClone` takes much longer. */
function copyOf<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one: unknown) => copyOf(one)) as T
  const copy: Record<string, unknown> = {}
  for (const name in value) copy[name] = copyOf(value[name])
  return copy as T
}

/** A copy with undefined in place of the text for it. */
function revived<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one: unknown) => revived(one)) as T
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const name in value) {
    const inner: unknown = value[name]
    copy[name] = isUndefined(inner) ? undefined : revived(inner)
  }
  return copy as T
}

function isUndefined(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('$t' in value)) return false
  return value.$t === 'undefined'
}
