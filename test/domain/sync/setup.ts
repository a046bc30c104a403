import { join } from 'node:path'
import type { Actor } from '../../../src/domain/access/actor'
import { declareTables } from '../../../src/domain/object/tables'
import { getObject } from '../../../src/domain/object/object'
import { removeObject } from '../../../src/domain/object/remove'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { type AnswerPart, beginAnswer } from '../../../src/domain/sync/pull'
import type { Pull } from '../../../src/domain/sync/answer-plan'
import { type Sync, storeRequest } from '../../../src/domain/sync/sync'
import { parseStores } from '../../../src/domain/value/schema'
import { SCOPES } from '../../../src/domain/value/scope'
import { createSqliteStore } from '../../../src/sqlite/store'
import { createTestClock } from '../../auth/setup'
import { underTest } from '../../missing'
import { temporaryFolder } from '../../setup'
import { readRequest } from './read-request'

export const NOW = Date.UTC(2030, 0, 1)

/** A user with a token for `/my`. */
export const user = (id: string): Actor & { readonly subject: string } => ({
  subject: id,
  email: id,
  name: null,
  scopes: new Set(['ACCESS_DB']),
})

export type World = Awaited<ReturnType<typeof openWorld>>

/** A database with the tables `items` and `notes`, and people who write to it by REST. */
export async function openWorld() {
  await using undo = new AsyncDisposableStack()
  const folder = undo.use(temporaryFolder())
  const clock = createTestClock(NOW)
  const store = underTest(undo.use(createSqliteStore(folder.path, { clock, durability: 'none' })))
  const database = await store.create('main')
  await declare(database, { items: '@id, title', notes: 'id' })
  const parts = undo.move()
  return {
    database,
    clock,
    file: join(folder.path, 'databases', 'main', 'database.sqlite'),
    put: (actor: Actor, table: string, ...objects: readonly object[]) =>
      upsertObjects(database, { ...my(actor), table, objects, isArray: true }),
    putAll: (table: string, ...objects: readonly object[]) =>
      upsertObjects(database, { ...all, table, objects, isArray: true }),
    /** A row, as an administrator reads it. */
    get: async (table: string, key: string) =>
      JSON.parse(await getObject(database, ADMINISTRATOR, 'all', table, key)) as object,
    remove: (table: string, key: string) => removeObject(database, { ...all, table, key }),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }

  function my(actor: Actor) {
    return { actor, view: 'my', now: clock.now(), rulesByTable: ROW_RULES } as const
  }
}

const ADMINISTRATOR: Actor = {
  subject: 'administrator',
  email: null,
  name: null,
  scopes: new Set(SCOPES),
}

const all = { actor: ADMINISTRATOR, view: 'all', now: NOW, rulesByTable: ROW_RULES } as const

export async function declare(
  database: Database,
  stores: Readonly<Record<string, string | null>>,
): Promise<void> {
  await database.write((tx) => declareTables(tx, parseStores(stores), NOW))
}

export interface Answer {
  readonly dbId: string
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
  readonly schema: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  readonly rejections: readonly object[]
  readonly changes: readonly {
    readonly table: string
    readonly muts: readonly Mutation[]
  }[]
  readonly serverRevision: string
}

interface Mutation {
  readonly type: 'upsert' | 'update' | 'delete'
  readonly keys: readonly string[]
  readonly values?: readonly Readonly<Record<string, unknown>>[]
  readonly changeSpecs?: readonly Readonly<Record<string, unknown>>[]
}

export const MARKED = { markedForSync: true, initiallySynced: true }
export const SCHEMA = {
  items: MARKED,
  notes: MARKED,
  realms: MARKED,
  members: MARKED,
  roles: MARKED,
}

/** Stores the changes of a request and answers it. */
export async function* sync(database: Database, given: Sync): AsyncGenerator<AnswerPart> {
  yield* answerSync(database, await storeRequest(database, given))
}

/** All parts of an answer. */
export async function* answerSync(database: Database, pull: Pull): AsyncGenerator<AnswerPart> {
  const { first, rest } = await beginAnswer(database, pull)
  yield first
  if (rest !== undefined) yield* rest
}

/** A local database as the add-on keeps it: it pulls, and applies what it gets. */
export function createDevice(database: Database, actor: Actor) {
  const rows = new Map<string, Readonly<Record<string, unknown>>>()
  let lastPull: object | undefined
  let schema: Readonly<Record<string, object>> = SCHEMA

  async function pull(
    given: Partial<Pull> = {},
    /** Called after each part; 'dropped': it does not count. */
    between?: (part: AnswerPart) => Promise<unknown>,
  ): Promise<Answer & { readonly parts: number }> {
    const body = { v: 3, clientIdentity: 'device', schema, lastPull, baseRevs: [], changes: [] }
    const request = readRequest(JSON.parse(JSON.stringify(body)))
    const pull = { actor, request, named: new Map(), rejections: [], ...given }
    let text = ''
    let parts = 0
    for await (const part of answerSync(database, pull)) {
      parts += 1
      if ((await between?.(part)) !== 'dropped') text += part.text
    }
    const answer = JSON.parse(text) as Answer
    apply(answer)
    return { ...answer, parts }
  }

  /** protocol.md §4.7 and §4.8. */
  function apply({ realms, inviteRealms, serverRevision, changes }: Answer): void {
    const kept = new Set(realms)
    const invited = new Set(inviteRealms)
    for (const [name, row] of rows) {
      const realm = String(row['realmId'])
      const isBuiltIn = /^(?:realms|members|roles) /.test(name)
      if (!kept.has(realm) && !(invited.has(realm) && isBuiltIn)) rows.delete(name)
    }
    for (const { table, muts } of changes) for (const mut of muts) applyOne(table, mut)
    lastPull = { serverRevision, realms, inviteRealms }
  }

  function applyOne(table: string, { type, keys, values = [], changeSpecs = [] }: Mutation): void {
    for (const [position, key] of keys.entries()) {
      const name = `${table} ${key}`
      const row = rows.get(name)
      if (type === 'delete') rows.delete(name)
      else if (type === 'upsert') rows.set(name, values[position] ?? {})
      else if (row !== undefined) {
        const merged = Object.entries({ ...row, ...changeSpecs[position] })
        rows.set(name, Object.fromEntries(merged.filter(([, value]) => !isUndefined(value))))
      }
    }
  }

  return {
    pull,
    rows,
    /** The rows of a table, in the order of their keys. */
    table: (table: string) =>
      [...rows]
        .filter(([name]) => name.startsWith(`${table} `))
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
        .map(([, row]) => row),
    get lastPull() {
      return lastPull
    },
    set lastPull(value) {
      lastPull = value
    },
    set schema(value: Readonly<Record<string, object>>) {
      schema = value
    },
  }
}

function isUndefined(value: unknown): boolean {
  return typeof value === 'object' && value !== null && '$t' in value && value.$t === 'undefined'
}

/** The operations of an answer as `type table key`, in the order of tables and keys. */
export function operationsOf({ changes }: Answer): string[] {
  return changes
    .flatMap(({ table, muts }) =>
      muts.flatMap(({ type, keys }) => keys.map((key) => `${type} ${table} ${key}`)),
    )
    .toSorted()
}

export function many<T>(length: number, make: (at: number) => T): T[] {
  return Array.from({ length }, (_, at) => make(at))
}

/** A time in ms, in wire form. */
export function date(time: number) {
  return { $t: 'Date', v: new Date(time).toISOString() }
}
