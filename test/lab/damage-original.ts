import { Database as File } from 'bun:sqlite'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SERVER } from '../../src/domain/access/actor'
import { accessOf } from '../../src/domain/access/access'
import { createClient } from '../../src/domain/database/client'
import { listObjects } from '../../src/domain/object/list'
import { getObject } from '../../src/domain/object/object'
import { removeObject } from '../../src/domain/object/remove'
import { declareTables } from '../../src/domain/object/tables'
import { upsertObjects } from '../../src/domain/object/upsert'
import { ROW_RULES } from '../../src/domain/rows/row-rules'
import type { Database } from '../../src/domain/store/store'
import { listEveryUser } from '../../src/domain/user/list'
import { parseStores } from '../../src/domain/value/schema'
import { createSqliteStore } from '../../src/sqlite/store'
import { createTestClock } from '../auth/setup'
import { temporaryFolder } from '../setup'

const NOW = Date.UTC(2030, 0, 1, 12)

/** The answers by the way of reading: a text, or the error. */
export type Sections = ReadonlyMap<string, string | Error>

export async function readSections(database: Database): Promise<Sections> {
  const sections = new Map<string, string | Error>()
  const note = async (name: string, read: () => Promise<unknown>) => {
    try {
      sections.set(name, JSON.stringify(await read()))
    } catch (error) {
      sections.set(name, error instanceof Error ? error : new Error(String(error)))
    }
  }
  for (const table of TABLES) {
    await note(`list ${table}`, () => listAll(database, table))
    for (const key of KEYS[table] ?? []) {
      await note(`${table} ${key}`, async () =>
        JSON.parse(await getObject(database, SERVER, 'all', table, key)),
      )
    }
  }
  for (const country of COUNTRIES) {
    await note(`country ${country}`, () => listAll(database, 'items', country))
  }
  await note('users', () => database.read((tx) => listEveryUser(tx)))
  for (const n of USERS) {
    await note(`user ${n}`, () => database.read((tx) => tx.users.find(userId(n))))
    await note(`access of ${n}`, async () => {
      const actor = { ...SERVER, subject: userId(n), email: userId(n), name: null }
      const access = await database.read((tx) => accessOf(tx, { ...actor, scopes: new Set() }))
      return [[...access.realms], [...access.pending]]
    })
  }
  await note('clients', () => database.read((tx) => tx.clients.list()))
  await note('changes', () =>
    database.read((tx) => {
      const realms = new Set<number>()
      for (const id of REALMS) realms.add(tx.realms.find(id)?.ref ?? 0)
      const { changes } = tx.objects.changes(realms, 0, tx.revision(), WHOLE)
      const there = changes.filter(({ object }) => object !== null)
      return there.map(({ table, key, realm, object }) => [table, key, realm, object?.value])
    }),
  )
  for (const n of USERS) {
    await note(`transactions and blobs of ${n}`, () =>
      database.read((tx) => [
        tx.applied.findOfUser(userId(n), `tx${n}`),
        tx.blobs.findFor(`blob${n}`, n, new Set()),
        tx.blobs.isUploadedBy(`blob${n}`, n),
      ]),
    )
  }
  return sections
}

const WHOLE = { rows: 100_000, bytes: 100_000_000 }
const TABLES = ['items', 'pairs', 'realms', 'members', 'roles']
const COUNTRIES = ['DE', 'FR', 'US', 'SE']
const REALMS = ['rlm-public', 'rlm1', 'rlm2', 'rlm3', 'user1@example.com']
const USERS = [1, 2, 3, 4, 5, 6]
const ITEMS = 240
const KEYS: Readonly<Record<string, readonly string[]>> = {
  items: Array.from({ length: ITEMS }, (_, n) => itemKey(n)),
  pairs: Array.from({ length: 20 }, (_, n) => JSON.stringify(['a', n])),
  realms: ['rlm1', 'rlm2', 'rlm3'],
  members: USERS.map((n) => `mmb${n}`),
}

function itemKey(n: number): string {
  return `itm${String(n).padStart(3, '0')}`
}

function userId(n: number): string {
  return `user${n}@example.com`
}

async function listAll(database: Database, table: string, country?: string): Promise<unknown> {
  const texts: string[] = []
  const filters = country === undefined ? [] : [{ path: 'country', texts: [country] }]
  let list = await listObjects(database, SERVER, 'all', table, { filters })
  for (;;) {
    texts.push(...list.texts)
    if (list.more === undefined) return JSON.parse(`[${texts.join(',')}]`)
    list = await list.more()
  }
}

/** A database with a bit of everything. */
export interface Original {
  readonly closed: Buffer
  /** As a process that was killed leaves it. */
  readonly killed: Required<Files>
  /** Everything that can be read from it. */
  readonly sections: Sections
  readonly unchecked: string | undefined
}

export interface Files {
  readonly file: Buffer
  readonly log?: Buffer
  /** Of the log: it names the last commit. */
  readonly index?: Buffer
}

/** The rows without checksums that reads depend on, as text; undefined where SQLite finds damage. */
export function uncheckedRows(folder: string): string | undefined {
  using db = new File(fileIn(folder))
  try {
    return UNCHECKED.map((sql) => JSON.stringify(db.query(sql).values())).join()
  } catch {
    return undefined
  }
}

const UNCHECKED = ['tables', 'tombstones', 'realm_moves', 'runs']
  .map((table) => `SELECT * FROM ${table}`)
  .concat('SELECT head FROM realm_ids', 'SELECT oldest_revision, sealed FROM database')

export async function makeOriginal(): Promise<Original> {
  using folder = temporaryFolder()
  let sections: Sections
  let killed: Required<Files>
  {
    await using store = createSqliteStore(folder.path, {
      clock: createTestClock(),
      durability: 'none',
    })
    const database = await store.create('main')
    await fill(database)
    await fillRest(database)
    sections = await readSections(database)
    const file = fileIn(folder.path)
    killed = {
      file: readFileSync(file),
      log: readFileSync(`${file}-wal`),
      index: readFileSync(`${file}-shm`),
    }
  }
  for (const [name, text] of sections)
    if (text instanceof Error) throw new Error(name, { cause: text })
  const unchecked = uncheckedRows(folder.path)
  return { closed: readFileSync(fileIn(folder.path)), killed, sections, unchecked }
}

async function fill(database: Database): Promise<void> {
  await database.write((tx) =>
    declareTables(tx, parseStores({ items: '@id, country, *tags', pairs: '[a+b]' }), NOW),
  )
  await database.write((tx) => {
    for (const n of USERS) tx.users.put(userOf(n))
    createClient(tx, createTestClock(), { scopes: ['ACCESS_DB'], name: 'first' })
  })
  await put(
    database,
    'realms',
    REALMS.filter((id) => /^rlm\d/.test(id)).map((realmId) => ({
      realmId,
      name: `Realm ${realmId}`,
      owner: userId(1),
    })),
  )
  await put(database, 'roles', [
    { realmId: 'rlm1', name: 'editor', permissions: { manage: '*' } },
    { realmId: 'rlm-public', name: 'reader', permissions: {} },
  ])
  await put(
    database,
    'members',
    USERS.map((n) => ({
      id: `mmb${n}`,
      realmId: `rlm${(n % 3) + 1}`,
      userId: userId(n),
      email: userId(n),
      accepted: { $t: 'Date', v: '2030-01-01T00:00:00.000Z' },
      roles: ['editor'],
      permissions: n % 2 === 0 ? { add: '*' } : {},
    })),
  )
  for (const from of [0, 60, 120, 180]) {
    await put(
      database,
      'items',
      Array.from({ length: 60 }, (_, at) => itemOf(from + at)),
    )
  }
  await put(
    database,
    'items',
    [5, 6, 7].map((n) => ({ ...itemOf(n), realmId: 'rlm2' })),
  )
  await put(
    database,
    'items',
    ['gone1', 'gone2'].map((id) => ({ ...itemOf(8), id })),
  )
  for (const key of ['gone1', 'gone2']) {
    await removeObject(database, {
      actor: SERVER,
      view: 'all',
      table: 'items',
      key,
      now: NOW,
      rulesByTable: ROW_RULES,
    })
  }
  await put(
    database,
    'pairs',
    Array.from({ length: 20 }, (_, b) => ({ a: 'a', b, realmId: 'rlm1' })),
  )
}

/** Mails, uploads and what is known of clients that sync. */
async function fillRest(database: Database): Promise<void> {
  for (const n of USERS) {
    await database.write((tx) => {
      const subject = userId(n)
      const text = 'x'.repeat(n * 150)
      const known = tx.syncClients.ensure(subject, 'device', NOW)
      tx.syncClients.put({ ...known, floor: NOW + n })
      const { number: client } = known
      const rejection = { name: 'CONFLICT', message: text }
      tx.applied.put(client, `tx${n}`, NOW, ...(n % 2 === 0 ? [{ rejection }] : []))
      const operation = { client, subject, email: null, kind: 'modify' as const, ts: NOW }
      const [criteria, change] = [JSON.stringify({ title: text }), JSON.stringify({ title: 'B' })]
      tx.criteriaOps.put(7, { ...operation, criteria, change, base: 1 }, NOW, 10)
      const [created, due, expires] = [NOW, NOW, NOW + 1]
      const mail = { recipient: subject, sealed: text, attempts: 0, created, due, expires }
      tx.mails.put({ id: `mail${n}`, ...mail })
      const blob = { hash: `hash${n}`, file: `file${n}`, size: n, type: 'image/png', created: NOW }
      tx.blobs.put({ id: `blob${n}`, ...blob }, n)
    })
  }
}

function userOf(n: number) {
  return {
    id: userId(n),
    type: 'prod' as const,
    created: NOW,
    updated: NOW,
    lastLogin: NOW + n,
    validUntil: null,
    evalUntil: null,
    deactivated: null,
    data: { email: userId(n), displayName: `User ${n}` },
  }
}

function itemOf(n: number) {
  return {
    id: itemKey(n),
    realmId: REALMS[n % REALMS.length],
    country: COUNTRIES[n % COUNTRIES.length],
    tags: [`t${n % 7}`, `t${n % 5}`],
    title: `Object ${n}`,
    // Some fill pages of their own.
    text: 'x'.repeat(n % 40 === 0 ? 9_000 : n % 100),
  }
}

async function put(database: Database, table: string, objects: readonly object[]): Promise<void> {
  await upsertObjects(database, {
    actor: SERVER,
    view: 'all',
    table,
    now: NOW,
    rulesByTable: ROW_RULES,
    objects,
    isArray: true,
  })
}

export function fileIn(folder: string): string {
  return join(folder, 'databases', 'main', 'database.sqlite')
}
