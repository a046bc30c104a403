import type { Database } from '../../../src/domain/store/store'
import { declareTables } from '../../../src/domain/object/tables'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import { readSyncRequest } from '../../../src/domain/sync/request'
import { sync } from '../../../src/domain/sync/sync'
import { parseStores } from '../../../src/domain/value/schema'
import { createSqliteStore } from '../../../src/sqlite/store'
import { createHub, type Hub } from '../../../src/sync/hub'
import { visibleTo } from '../../access/oracle'
import type { Person, Row, World } from '../../access/oracle-world'
import { actorFor, ADMINISTRATOR, list } from '../../access/setup'
import { keyOf } from '../../access/oracle-world'
import { createTestClock, type TestClock } from '../../auth/setup'
import { temporaryFolder } from '../../setup'
import { settled } from '../setup'

export const TABLES = ['realms', 'members', 'roles', 'items', 'notes']
const START = Date.UTC(2030, 0, 1, 12)
const LIMITS = {
  maxObjects: 1_000,
  maxRows: 1_000,
  maxEntries: 1_000,
  maxRequestEntries: 10_000,
  maxProperties: 1_000,
  maxDepth: 20,
}

/** A database with live connections that can be restarted. */
export interface ModelServer extends AsyncDisposable {
  readonly database: Database
  readonly clock: TestClock
  readonly hub: Hub
  readonly reports: readonly unknown[]
  /** Rows that were sent to a person who does not see them. */
  readonly leaks: readonly string[]
  /** Executes a request of sync; resolves to the text of the answer. */
  sync(person: Person, body: string): Promise<string>
  /** Begins a new run. */
  restart(): Promise<void>
  /** Time passes, and everything that was due is sent. */
  pass(ms: number): Promise<void>
  /** All rows, as the access oracle reads them. */
  world(): Promise<World>
}

interface Answer {
  readonly changes: readonly {
    readonly table: string
    readonly muts: readonly { readonly type: string; readonly keys: readonly string[] }[]
  }[]
}

export async function setupModelServer(): Promise<ModelServer> {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock(START)
  const reports: unknown[] = []
  const openStore = () => createSqliteStore(folder.path, { clock, durability: 'none' })
  let store = openStore()
  undo.defer(() => store[Symbol.asyncDispose]())
  let database = await store.create('main')
  await database.write((tx) =>
    declareTables(tx, parseStores({ items: '@id, list, *tags', notes: 'id' }), START),
  )
  let hub = openHub()
  const leaks: string[] = []
  const parts = undo.move()

  function openHub(): Hub {
    const made = createHub(database.id, {
      open: async () => database,
      now: () => clock.now(),
      report: (error) => reports.push(error),
    })
    made.attach(database)
    return made
  }

  async function world(): Promise<World> {
    const rows: Row[] = []
    for (const table of TABLES) {
      const values = await list(database, actorFor(ADMINISTRATOR, 'all'), 'all', table)
      rows.push(...values.map((value) => ({ table, key: keyOf(table, value), value })))
    }
    return { rows, retired: [] }
  }

  /** Compares the rows of an answer with what the access oracle says of the state now. */
  async function lookForLeaks(person: Person, { changes }: Answer): Promise<void> {
    if (changes.length === 0) return
    const now = await world()
    for (const { table, muts } of changes) {
      const visible = new Set(visibleTo(now, person, table).map(({ key }) => key))
      const keys = muts.flatMap((mut) => (mut.type === 'delete' ? [] : mut.keys))
      for (const key of keys) {
        if (!visible.has(key)) leaks.push(`${person.id} was sent ${table} ${key}`)
      }
    }
  }

  return {
    get database() {
      return database
    },
    get hub() {
      return hub
    },
    clock,
    reports,
    async sync(person, body) {
      const actor = actorFor(person, 'my')
      const request = readSyncRequest(JSON.parse(body))
      const given = {
        actor,
        request,
        now: clock.now(),
        rulesByTable: ROW_RULES,
        limits: LIMITS,
      }
      using answering = hub.answering(request.clientIdentity, actor.subject)
      let text = ''
      for await (const part of sync(database, given)) {
        text += part.text
        if (part.end !== undefined) answering.answered({ ...part.end, tables: new Set(TABLES) })
      }
      await lookForLeaks(person, JSON.parse(text) as Answer)
      return text
    },
    leaks,
    async restart() {
      hub.detach()
      await store[Symbol.asyncDispose]()
      store = openStore()
      database = await store.open('main')
      hub = openHub()
    },
    async pass(ms) {
      clock.advance(ms)
      hub.tick()
      await settled()
    },
    world,
    async [Symbol.asyncDispose]() {
      hub.detach()
      await parts.disposeAsync()
    },
  }
}
