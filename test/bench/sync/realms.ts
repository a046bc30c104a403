import { mkdir } from 'node:fs/promises'
import { type Actor } from '../../../src/domain/access/actor'
import { declareTables } from '../../../src/domain/object/tables'
import { upsertObjects } from '../../../src/domain/object/upsert'
import { ROW_RULES } from '../../../src/domain/rows/row-rules'
import type { Database } from '../../../src/domain/store/store'
import { type SyncRequest } from '../../../src/domain/sync/request'
import { parseStores } from '../../../src/domain/value/schema'
import { SCOPES } from '../../../src/domain/value/scope'
import { createSqliteStore } from '../../../src/sqlite/store'
import type { Bench } from '../bench'
import { atMost, type Figure } from '../result'
import { batchTexts, joinerRealms, members } from '../rows'
import { median } from '../statistics'
import { schema } from './client'
import { sync } from '../../domain/sync/setup'
import { readRequest } from '../../domain/sync/read-request'

const SYNCS = 200
const CHANGES = 10
const WRITE_LIMITS = {
  maxObjects: 1_000,
  maxRows: 1_000,
  maxEntries: 1_000,
  maxRequestEntries: 10_000,
  maxProperties: 1_000,
  maxDepth: 20,
}

/** A later sync of a client in 1,000 realms, inside one process: from the parsed request to the text of the answer. */
export async function measureRealms(bench: Bench): Promise<Figure> {
  const folder = bench.newPath('realms')
  await mkdir(folder)
  const clock = { now: () => Date.now() }
  await using store = createSqliteStore(folder, { clock, durability: 'none' })
  const database = await store.create('main')
  const stores = Object.fromEntries(TABLES.map((table) => [table, '@id']))
  await database.write((tx) => declareTables(tx, parseStores(stores), clock.now()))
  await put(
    database,
    'realms',
    joinerRealms.map((realmId) => ({ realmId })),
  )
  const { userId } = members.joiner
  await put(
    database,
    'members',
    joinerRealms.map((realmId) => ({ realmId, userId })),
  )
  await put(database, 'items', objectsIn(joinerRealms, '0'))
  const first = await answer(database, request())
  const values: number[] = []
  for (let round = 0; round < bench.options.rounds; round += 1) {
    const last = await answer(database, request(first))
    for (const [position, table] of TABLES.slice(0, CHANGES).entries()) {
      const realm = joinerRealms[(round * CHANGES + position * 97) % joinerRealms.length] ?? ''
      await put(database, table, objectsIn([realm], `${round + 1}`))
    }
    const requests = Array.from({ length: SYNCS }, () => request(last))
    const times: number[] = []
    for (const one of requests) {
      const begin = performance.now()
      await answer(database, one)
      times.push(performance.now() - begin)
    }
    values.push(median(times))
  }
  const title = `POST /sync in 1,000 realms with ${CHANGES} changes, from parsed to encoded`
  return { title, bar: atMost(3, 1.5, 'ms'), values, value: median(values) }
}

/** Those of the application, in as many of which something changes. */
const TABLES = ['items', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']

const ADMINISTRATOR: Actor = {
  subject: 'administrator',
  email: null,
  name: null,
  scopes: new Set(SCOPES),
}

function put(database: Database, table: string, objects: readonly object[]) {
  const now = Date.now()
  const all = { actor: ADMINISTRATOR, view: 'all', now, rulesByTable: ROW_RULES } as const
  return upsertObjects(database, { ...all, table, objects, isArray: true })
}

function objectsIn(realms: readonly string[], stamp: string): object[] {
  return batchTexts(realms.length, realms, stamp.padStart(12, '0')).map(
    (text) => JSON.parse(text) as object,
  )
}

interface Last {
  readonly serverRevision: string
  readonly realms: readonly string[]
  readonly inviteRealms: readonly string[]
}

function request(lastPull?: Last): SyncRequest {
  const more = Object.fromEntries(TABLES.map((table) => [table, schema['items']]))
  const body = { v: 3, clientIdentity: 'one', schema: { ...schema, ...more }, lastPull }
  return readRequest(JSON.parse(JSON.stringify({ ...body, baseRevs: [], changes: [] })))
}

async function answer(database: Database, one: SyncRequest): Promise<Last> {
  const { userId } = members.joiner
  const actor: Actor = {
    subject: userId,
    email: userId,
    name: null,
    scopes: new Set(['ACCESS_DB']),
  }
  const given = { actor, now: Date.now(), rulesByTable: ROW_RULES, limits: WRITE_LIMITS }
  let text = ''
  for await (const part of sync(database, { ...given, request: one })) text += part.text
  return JSON.parse(text) as Last
}
