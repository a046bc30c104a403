import {
  applyOperations,
  type DBKeyMutationSet,
  type DBOperationsSet,
  setByKeyPath,
  subtractChanges,
  toDBOperationSet,
} from 'dexie-cloud-common'
import { realmSetHash } from '../../../src/domain/sync/realm-set'
import type { Session } from '../../../src/sync/session'
import type { Person, Value } from '../../access/oracle-world'
import { actorFor } from '../../access/setup'
import { type ModelServer, TABLES } from './server'

/** An operation of a local transaction, in wire form (protocol.md §4.4). */
export interface LocalOperation {
  readonly table: string
  readonly type: 'insert' | 'upsert' | 'update' | 'modify' | 'delete'
  readonly keys: readonly string[]
  readonly values?: readonly Value[]
  readonly changeSpecs?: readonly (Value | null)[]
  readonly changeSpec?: Value
  readonly criteria?: object
}

interface Logged {
  readonly table: string
  readonly rev: number
  readonly mut: Value & { readonly ts: number }
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

export type Device = ReturnType<typeof createDevice>

/**
 * A local database as the published client keeps it (protocol.md §4.5, §4.7, §4.8, §5): rows, a log
 * of operations that were not sent, the revisions that they are based on, and a socket.
 */
export function createDevice(server: ModelServer, person: Person, name: string) {
  const rows = new Map<string, Value>()
  const revs = new Map<string, number>()
  const sentBodies: string[] = []
  let log: Logged[] = []
  let baseRevs: { tableName: string; clientRev: number; serverRev: string }[] = []
  let lastPull: LastPull | undefined
  let dbID: string | undefined
  let schema: Readonly<Record<string, object>> = Object.fromEntries(
    TABLES.map((table) => [table, { markedForSync: true }]),
  )
  let flight: { readonly answer: Answer; readonly sent: ReadonlySet<Logged> } | undefined
  let session: Session | undefined
  let inbox: Message[] = []
  let skew = 0
  let made = 0

  /** A transaction, which takes one operation after the other: executes and logs it. */
  function begins(): (operation: LocalOperation) => void {
    made += 1
    const txid = `${name} ${made}`
    const ts = server.clock.now() + skew
    let opNo = 0
    return ({ table, ...operation }) => {
      const rev = (revs.get(table) ?? 0) + 1
      revs.set(table, rev)
      opNo += 1
      const own = { txid, userId: person.id, ts, opNo, rev }
      log.push({ table, rev, mut: structuredClone({ ...operation, ...own }) })
      execute(table, operation)
    }
  }

  function execute(table: string, operation: Omit<LocalOperation, 'table'>): void {
    const { type, keys, values = [], changeSpecs = [], changeSpec } = structuredClone(operation)
    for (const [position, key] of keys.entries()) {
      const id = `${table} ${key}`
      const row = rows.get(id)
      const spec = changeSpec ?? changeSpecs[position] ?? changeSpecs[0] ?? {}
      if (type === 'delete') rows.delete(id)
      else if (type === 'insert' || type === 'upsert') rows.set(id, values[position] ?? {})
      else if (row !== undefined) rows.set(id, changed(row, spec))
    }
  }

  /** Sends the log; the answer is on its way when it resolves. */
  async function begin(): Promise<void> {
    if (flight !== undefined) return
    const sent = log.toSorted((one, other) => one.mut.ts - other.mut.ts)
    const changes = sent.map(({ table, mut }) => ({ table, muts: [mut] }))
    const fields = { clientIdentity: name, dbID, schema, lastPull, baseRevs, changes }
    const body = JSON.stringify({ v: 3, ...fields, dxcv: '4.4.14', y: [] })
    sentBodies.push(body)
    const text = await server.sync(person, body)
    flight = { answer: JSON.parse(text) as Answer, sent: new Set(sent) }
  }

  /** The answer arrives. */
  function finish(): void {
    if (flight === undefined) return
    const { answer, sent } = flight
    flight = undefined
    const { serverRevision, realms, inviteRealms } = answer
    const rest = log.filter((one) => !sent.has(one))
    const changes = filtered(answer.changes, rest)
    if (changes === undefined) return
    log = rest
    dropRealms(lastPull, answer)
    lastPull = { serverRevision, realms, inviteRealms }
    dbID = answer.dbId
    schema = { ...schema, ...answer.schema }
    rebase(serverRevision)
    apply(changes)
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
    for (const [id, row] of rows) {
      const realm = String(row['realmId'])
      const isKept = now.inviteRealms.includes(realm) && /^(?:realms|members|roles) /.test(id)
      if (gone.has(realm) && !isKept) rows.delete(id)
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
        ...log.filter(({ table }) => table === tableName).map(({ rev }) => rev),
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
    session?.received(JSON.stringify(said))
  }

  /** Handles the messages that have arrived. */
  async function process(): Promise<void> {
    if (flight !== undefined || inbox.length === 0) return
    const messages = inbox
    inbox = []
    for (const message of messages) if (isPullDue(message)) await synchronize()
    ready()
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
    return false
  }

  function disconnect(): void {
    session?.closed()
    session = undefined
    inbox = []
  }

  return {
    person,
    name,
    rows,
    begins,
    begin,
    finish,
    synchronize,
    process,
    disconnect,
    /** The answer is lost. */
    lose() {
      flight = undefined
    },
    /** An earlier request reaches the server once more. */
    async repeat(which: number) {
      const body = sentBodies[which % Math.max(1, sentBodies.length)]
      if (body !== undefined) await server.sync(person, body)
    },
    connect() {
      if (session !== undefined || lastPull === undefined) return
      const actor = actorFor(person, 'my')
      const caller = { actor, ends: Infinity, lead: 0 }
      const opened = server.hub.connect(name, caller)
      session = opened
      opened.opened({
        send(text) {
          if (session === opened) inbox.push(JSON.parse(text) as Message)
          return 1
        },
        close() {},
      })
      ready()
    },
    setSkew(ms: number) {
      skew = ms
    },
    get isPending() {
      return log.length > 0 || flight !== undefined || lastPull === undefined
    },
    get hears() {
      return inbox.length > 0
    },
    get isConnected() {
      return session !== undefined
    },
    /** The rows of a table, by key. */
    rowsOf: (table: string) =>
      new Map(
        [...rows]
          .filter(([id]) => id.startsWith(`${table} `))
          .map(([id, row]) => [id.slice(table.length + 1), row] as const),
      ),
  }
}

/** A row with the values of a changeSpec, as Dexie sets them. */
export function changed(row: Value, spec: Value): Value {
  const copy: Record<string, never> = structuredClone(row) as never
  for (const [path, value] of Object.entries(revived(spec))) {
    const term = isModification(value) ? value['@@propmod'].add : undefined
    if (term === undefined) setByKeyPath(copy, path, value)
    else setByKeyPath(copy, path, sum(valueIn(copy, path), term))
  }
  return copy
}

function isModification(value: unknown): value is { '@@propmod': { add: number | string[] } } {
  return typeof value === 'object' && value !== null && '@@propmod' in value
}

function valueIn(row: unknown, path: string): unknown {
  let value = row
  for (const name of path.split('.')) value = (value as Value | undefined)?.[name]
  return value
}

function sum(value: unknown, term: number | readonly string[]): unknown {
  if (typeof term === 'number') return (Number(value) || 0) + term
  return [...(Array.isArray(value) ? (value as string[]) : []), ...term].toSorted()
}

/** A copy with undefined in place of the text for it. */
function revived<T>(value: T): T {
  if (Array.isArray(value)) return value.map((one: unknown) => revived(one)) as T
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([name, inner]) => [
    name,
    JSON.stringify(inner) === '{"$t":"undefined"}' ? undefined : revived<unknown>(inner),
  ])
  return Object.fromEntries(entries) as T
}
