import type { Actor, TokenFacts } from '../../src/domain/access/actor'
import { PUBLIC_CLIENT, tokenFacts } from '../../src/domain/access/actor'
import type { Database, ReadTx } from '../../src/domain/store/store'
import { realmSetHash } from '../../src/domain/sync/realm-set'
import { formatRevision } from '../../src/domain/sync/revision'
import { nextTurn } from '../../src/domain/value/turn'
import { visibilityOf } from '../../src/domain/sync/visible'
import { createGate, type Gate } from '../../src/sync/gate'
import { createHub, type Hub } from '../../src/sync/hub'
import { actorFor, openDatabase } from '../access/setup'
import type { TestClock } from '../auth/setup'
import { until } from '../timing'

export const ALICE = { id: 'alice@example.com', email: 'alice@example.com' }
export const BOB = { id: 'bob@example.com', email: 'bob@example.com' }

export interface Message {
  readonly type: string
  readonly realm?: string
  readonly baseRev?: string
  readonly newRev?: string
  readonly realmSetHash?: string
  readonly changes?: readonly { readonly table: string; readonly muts: readonly Mut[] }[]
}

export interface Mut {
  readonly type: string
  readonly keys: readonly string[]
  readonly values?: readonly unknown[]
  readonly changeSpecs?: readonly unknown[]
}

/** A hub with a real database. */
export interface TestHub extends AsyncDisposable {
  readonly database: Database
  /** The data folder. */
  readonly folder: string
  readonly clock: TestClock
  readonly hub: Hub
  readonly reports: readonly unknown[]
  /** How often the hub has taken the database, to look for what it has to send. */
  readonly looks: () => number
  /** How often the hub has asked a transaction for something, to learn what its sockets see and lack. */
  readonly steps: () => number
  /** Connects a person, or an anonymous client. */
  connect(person: { id: string; email?: string } | null, options?: Connecting): TestSocket
  /** What a client of the person has after a pull now. */
  pulled(person: { id: string; email?: string } | null): Promise<Pulled>
  /** Connects a person whose client has pulled and is ready. */
  follow(person: { id: string; email?: string }): Promise<{ state: Pulled; socket: TestSocket }>
}

export interface Connecting {
  readonly identity?: string
  /** Absent: true. */
  readonly knowsBlobRefs?: boolean
  /** The stored facts of the token; absent: nothing ends it. */
  readonly facts?: Partial<TokenFacts>
  /** When the token ends, ms. */
  readonly ends?: number
  /** What sending a text gives. */
  readonly send?: () => number
}

export interface Pulled {
  readonly rev: string
  readonly revision: number
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
  readonly realmSetHash: string
}

export interface TestSocket {
  readonly messages: readonly Message[]
  ready(state: Pick<Pulled, 'rev' | 'realmSetHash'>): void
  say(message: unknown): void
  /** Sends a frame as it is. */
  flood(frame: string | Uint8Array): void
  /** The server closed it at once. */
  readonly isCut: boolean
  drained(): void
  close(): void
  /** The next message that was not taken yet. */
  next(): Promise<Message>
}

export async function setupHub(): Promise<TestHub> {
  const { database, folder, clock, ...parts } = await openDatabase()
  const reports: unknown[] = []
  let looks = 0
  let steps = 0
  const hub = createHub(database.id, {
    async open() {
      looks += 1
      return counted(database, () => (steps += 1))
    },
    now: () => clock.now(),
    report: (error) => reports.push(error),
  })
  hub.attach(database)
  const gate = createGate({ now: () => clock.now() })
  return {
    database,
    folder,
    clock,
    hub,
    reports,
    looks: () => looks,
    steps: () => steps,
    connect: (person, options = {}) => connect({ hub, gate }, clock, person, options),
    pulled: (person) => pulled(database, person),
    async follow(person) {
      const state = await pulled(database, person)
      const socket = connect({ hub, gate }, clock, person, {})
      socket.ready(state)
      return { state, socket }
    },
    async [Symbol.asyncDispose]() {
      hub.detach()
      await parts[Symbol.asyncDispose]()
    },
  }
}

/** The database, whose readers call `used` whenever they use a part of their transaction. */
function counted(database: Database, used: () => void): Database {
  const watch = (tx: ReadTx) =>
    new Proxy(tx, {
      get(target, name) {
        used()
        const part: unknown = Reflect.get(target, name, target)
        return typeof part === 'function' ? part.bind(target) : part
      },
    })
  return new Proxy(database, {
    get(target, name) {
      if (name === 'read') {
        return (work: (tx: ReadTx) => Promise<unknown>) => target.read((tx) => work(watch(tx)))
      }
      return Reflect.get(target, name, target)
    },
  })
}

function actorOf(person: { id: string; email?: string } | null): Actor {
  if (person === null) return { subject: null, email: null, name: null, scopes: new Set() }
  return actorFor(person, 'my')
}

/** What a client of the person has after a pull now. */
export async function pulled(
  database: Database,
  person: { id: string; email?: string } | null,
): Promise<Pulled> {
  return await database.read((tx) => {
    const { realms, inviteRealms } = visibilityOf(tx, actorOf(person))
    const revision = tx.revision()
    const run = tx.runs.list().at(-1)
    if (run === undefined) throw new Error('no run')
    const hash = realmSetHash(realms, inviteRealms)
    return {
      rev: formatRevision(run, revision),
      revision,
      realms,
      inviteRealms,
      realmSetHash: hash,
    }
  })
}

function connect(
  { hub, gate }: { readonly hub: Hub; readonly gate: Gate },
  clock: TestClock,
  person: { id: string; email?: string } | null,
  { identity = 'one', knowsBlobRefs = true, facts, ends = Infinity, send = () => 1 }: Connecting,
): TestSocket {
  const plain = actorOf(person)
  const credential = {
    facts: tokenFacts({
      subject: plain.subject ?? '',
      clientId: PUBLIC_CLIENT,
      login: null,
      incarnation: null,
      ...facts,
    }),
    verified: clock.now(),
    expires: ends,
  }
  const actor = facts === undefined ? plain : { ...plain, credential }
  const messages: Message[] = []
  let taken = 0
  let isCut = false
  const ticket = gate.enter({ user: plain.subject, identity, network: '192.0.2.1' })
  const session = hub.connect({ identity, knowsBlobRefs }, { actor, ends, lead: 0 }, ticket)
  session.opened({
    send(text) {
      const result = send()
      if (result !== 0) messages.push(JSON.parse(text) as Message)
      return result
    },
    close() {},
    terminate() {
      isCut = true
      session.closed()
    },
  })
  return {
    messages,
    ready: ({ rev, realmSetHash: hash }) =>
      session.received(JSON.stringify({ type: 'ready', rev, realmSetHash: hash })),
    get isCut() {
      return isCut
    },
    say: (message) => session.received(JSON.stringify(message)),
    flood: (frame) => session.received(frame),
    drained: () => session.drained(),
    close: () => session.closed(),
    async next() {
      await until(() => messages.length > taken)
      const message = messages[taken]
      if (message === undefined) throw new Error('no message')
      taken += 1
      return message
    },
  }
}

/** Resolves when everything that was due has been sent. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await nextTurn()
}
