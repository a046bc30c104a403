import { Database as SqliteFile } from 'bun:sqlite'
import { join } from 'node:path'
import { createHistoryKeeper } from '../../../src/domain/sync/keeper'
import { declareTables } from '../../../src/domain/object/tables'
import { removeObject } from '../../../src/domain/object/remove'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { SatchelError } from '../../../src/domain/value/error'
import { parseStores } from '../../../src/domain/value/schema'
import { createSqliteStore } from '../../../src/sqlite/store'
import { createGate } from '../../../src/sync/gate'
import { createHub, type Hub } from '../../../src/sync/hub'
import { keyOf, type Person, type Row, type Value, type World } from '../../access/oracle-world'
import { actorFor, ADMINISTRATOR } from '../../access/setup'
import { createTestClock } from '../../auth/setup'
import { underTest } from '../../missing'
import { temporaryFolder } from '../../setup'
import { settled } from '../setup'
import { sync } from '../../domain/sync/setup'
import { readRequest } from '../../domain/sync/read-request'

export const TABLES = ['realms', 'members', 'roles', 'items', 'notes', 'counts']
export const STORES = { items: '@id, list, *tags', notes: 'id', counts: 'id' }

/** A server that plays a part in a history, however it is reached. */
export interface ModelServer {
  /** What it sends is there at once, so that it can be judged by the state of the moment. */
  readonly isPrompt: boolean
  /** ms; the time of the server and of clients whose clock is right. */
  now(): number
  /** Executes a request of sync; resolves to the text of the answer. Throws when it fails. */
  sync(person: Person, body: string): Promise<string>
  /** Opens a socket of a client. */
  connect(person: Person, identity: string, receive: (text: string) => void): Link
  /** Writes objects by REST as an administrator, unless that is refused. */
  put(table: string, ...objects: readonly Value[]): Promise<void>
  remove(table: string, key: string): Promise<void>
  /** Time passes, and everything that was due is sent. */
  pass(ms: number): Promise<void>
  /** Ends the server and begins a new run, on a new process where there is one. */
  restart(): Promise<void>
  /** The next request of sync ends with the death of the server, after so many more commits. */
  dieAfter(commits: number): void
  /** So much time passes that no client can be brought up to date by changes. */
  forget(): Promise<void>
  /** All rows in these realms, as the access oracle reads them. */
  world(realms: readonly string[]): Promise<World>
  /** What the server has reported since the last call. */
  reports(): readonly string[]
}

export interface Link {
  say(text: string): void
  close(): void
}

const START = Date.UTC(2030, 0, 1, 12)
const LIMITS = {
  maxObjects: 1_000,
  maxRows: 1_000,
  maxEntries: 1_000,
  maxRequestEntries: 10_000,
  maxProperties: 1_000,
  maxDepth: 20,
}

/** A server in this process, which many histories may share. */
export async function setupModelServer(): Promise<ModelServer & AsyncDisposable> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock(START)
  let reports: string[] = []
  const openStore = () => underTest(createSqliteStore(folder.path, { clock, durability: 'none' }))
  let store = openStore()
  undo.defer(() => store[Symbol.asyncDispose]())
  let database = await store.create('main')
  await database.write((tx) => declareTables(tx, parseStores(STORES), START))
  const gate = createGate(clock)
  let hub = openHub()
  let reader = openReader()
  let commitsLeft = Infinity
  let links = 0
  const parts = undo.move()

  function openHub(): Hub {
    const made = createHub(database.id, {
      open: async () => database,
      now: () => clock.now(),
      report: (error) => void reports.push(String(error)),
    })
    made.attach(database)
    return made
  }

  /** Reads the rows without the code that is tested. */
  function openReader() {
    const file = new SqliteFile(join(folder.path, 'databases', 'main', 'database.sqlite'), {
      readonly: true,
    })
    const numbers = file
      .query<{ number: number; name: string }, []>('SELECT number, name FROM tables')
      .all()
      .filter(({ name }) => TABLES.includes(name))
    const selects = numbers.map(({ number, name }) => {
      const sql = `SELECT value FROM realm_ids JOIN o_${number} ON realm = realm_ids.number
        WHERE id IN (SELECT value FROM json_each(?)) AND state = 'live'`
      return { table: name, select: file.query<{ value: string }, [string]>(sql) }
    })
    const version = file.query<{ data_version: number }, []>('PRAGMA data_version')
    let known: { readonly version: number | undefined; readonly of: string; readonly world: World }
    known = { version: undefined, of: '', world: { rows: [], retired: [] } }
    return {
      world(realms: readonly string[]): World {
        const of = JSON.stringify(realms)
        const now = version.get()?.data_version
        if (known.version === now && known.of === of) return known.world
        const rows: Row[] = []
        for (const { table, select } of selects) {
          for (const { value: text } of select.all(of)) {
            const value = JSON.parse(text) as Value
            rows.push({ table, key: keyOf(table, value), value })
          }
        }
        known = { version: now, of, world: { rows, retired: [] } }
        return known.world
      },
      close: () => file.close(),
    }
  }

  /** Fails when the server is to die instead of committing. */
  function mortal(alive: Database): Database {
    if (commitsLeft === Infinity) return alive
    return {
      ...alive,
      async write(work, options) {
        if (commitsLeft === 0) throw new Died()
        commitsLeft -= 1
        return await alive.write(work, options)
      },
      async writeSteps(work, options) {
        if (commitsLeft === 0) throw new Died()
        commitsLeft -= 1
        return await alive.writeSteps(work, options)
      },
    }
  }

  async function answer(person: Person, body: string): Promise<string> {
    const actor = actorFor(person, 'my')
    const request = readRequest(JSON.parse(body))
    const given = { actor, request, now: clock.now(), rulesByTable: ROW_RULES, limits: LIMITS }
    using answering = hub.answering(request.clientIdentity, actor.subject)
    let text = ''
    for await (const part of sync(mortal(database), given)) {
      text += part.text
      if (part.end !== undefined)
        answering.answered({ ...part.end, tables: new Set(TABLES), texts: '' })
    }
    return text
  }

  async function restart() {
    hub.detach()
    reader.close()
    commitsLeft = Infinity
    await store[Symbol.asyncDispose]()
    store = openStore()
    database = await store.open('main')
    hub = openHub()
    reader = openReader()
  }

  return {
    isPrompt: true,
    now: () => clock.now(),
    sync: (person, body) => whenPossible(() => answer(person, body)),
    connect(person, identity, receive) {
      const caller = { actor: actorFor(person, 'my'), ends: Infinity, lead: 0 }
      const ticket = gate.enter({ user: person.id, identity, network: '' })
      const session = hub.connect({ identity, knowsBlobRefs: true }, caller, ticket)
      links += 1
      session.opened({
        send(text) {
          receive(text)
          return 1
        },
        close() {},
        terminate() {},
      })
      return {
        say: (text) => session.received(text),
        close() {
          links -= 1
          session.closed()
        },
      }
    },
    async put(table, ...objects) {
      const given = { ...ALL, table, objects, isArray: true, now: clock.now() }
      await unlessRefused(() => upsertObjects(database, given))
    },
    async remove(table, key) {
      await unlessRefused(() => removeObject(database, { ...ALL, table, key, now: clock.now() }))
    },
    async pass(ms) {
      clock.advance(ms)
      if (links === 0) return
      hub.tick()
      await settled()
    },
    restart,
    dieAfter(commits) {
      commitsLeft = commits
    },
    async forget() {
      clock.advance(RETENTION_MS)
      await using keeper = createHistoryKeeper({
        database,
        clock,
        report: (error) => void reports.push(String(error)),
      })
      await keeper.forget()
    },
    world: async (realms) => reader.world(realms),
    reports() {
      const told = reports
      reports = []
      return told
    },
    async [Symbol.asyncDispose]() {
      hub.detach()
      reader.close()
      await parts.disposeAsync()
    },
  }
}

/** The server died while it executed a request. */
export class Died extends Error {}

const RETENTION_MS = 181 * 24 * 60 * 60 * 1000

const ALL = {
  actor: actorFor(ADMINISTRATOR, 'all'),
  view: 'all',
  rulesByTable: ROW_RULES,
} as const

async function unlessRefused(work: () => Promise<unknown>): Promise<void> {
  await whenPossible(work).catch((error: unknown) => {
    if (!(error instanceof SatchelError)) throw error
  })
}

/** Repeats what was refused because the machine stood still for seconds. */
async function whenPossible<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof SatchelError) || error.code !== 'BUSY') throw error
    }
  }
}
