import { expect } from 'bun:test'
import { type ErrorCode, SatchelError } from '../../src/domain/value/error'
import { PUBLIC_REALM_REF, type RealmRef } from '../../src/domain/store/realms'
import { parseTable } from '../../src/domain/value/schema'
import type {
  IndexEntry,
  ObjectPut,
  PageQuery,
  StoredObject,
  StoredRow,
  TimedObject,
  Traces,
} from '../../src/domain/store/objects'
import type { Database, ReadTx, Store, WriteTx } from '../../src/domain/store/store'
import type { TestClock } from '../auth/setup'
import type { RefreshToken } from '../../src/domain/store/credentials'
import type { Table } from '../../src/domain/store/tables'
import type { TestStore } from '../../src/domain/store/test-store'

/** An engine under test, with its data in a place of its own that is gone afterwards. */
export interface StoreFixture extends AsyncDisposable {
  readonly store: Store & TestStore
  readonly clock: TestClock
  /**
   * A second handle on the same data, as another process would have it; for an engine whose data one
   * process holds, the same store.
   */
  another(): Promise<Store>
  /** Closes the store in good order and opens it again on what it left. */
  reopen(): Promise<Store>
  /** Another store, on what the end of the process at this moment would leave. */
  crash(): Promise<Store>
}

export type OpenStore = () => Promise<StoreFixture>

export interface DatabaseFixture extends StoreFixture {
  readonly database: Database
}

/** A store with one database, `main`. */
export async function setupDatabase(openStore: OpenStore): Promise<DatabaseFixture> {
  const fixture = await openStore()
  const database = await fixture.store.create('main')
  return { ...fixture, database }
}

/** The database `main` of a store that goes when it does. */
export async function createDatabase(openStore: OpenStore): Promise<Database> {
  const { database, ...fixture } = await setupDatabase(openStore)
  return { ...database, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() }
}

/** Looks at the database as it is, as a crash would leave it, and as it is after a restart. */
export async function inEveryLife(
  fixture: DatabaseFixture,
  look: (database: Database) => Promise<void>,
): Promise<void> {
  await look(fixture.database)
  await look(await (await fixture.crash()).open('main'))
  await look(await (await fixture.reopen()).open('main'))
}

/**
 * Whether the database has forgotten, since it was last asked, a value that was loaded from origins,
 * clients, the rights of Alice and a login.
 */
export async function memoryOf(database: Database): Promise<() => Promise<boolean>> {
  const look = () =>
    database.read((tx) =>
      tx.remember('probe', () => ({
        origins: tx.origins.list(),
        clients: tx.clients.list(),
        user: tx.users.find('alice'),
        memberships: tx.memberships.ofSubject('alice', null),
        isRevoked: tx.logins.isRevoked('one'),
      })),
    )
  let known = await look()
  return async () => {
    const before = known
    known = await look()
    return known !== before
  }
}

/**
 * A part of a unit that does its work and then fails, caught by its error: no other error may be
 * swallowed inside a unit, the engine's own among them.
 */
export function failPart(tx: WriteTx, work: () => void): void {
  const expected = new Error('expected')
  try {
    tx.attempt(() => {
      work()
      throw expected
    })
  } catch (error) {
    if (error !== expected) throw error
  }
}

/** Operation time in ms; engines keep it and never look at it. */
export const NOW = Date.UTC(2030, 0, 1)
/** Of an object that no look-up leads to. */
export const NO_TRACES: Traces = { entries: [], blobs: [] }
/** A chunk that holds everything a test has. */
export const WHOLE = { rows: 100_000, bytes: 100_000_000 }

export function declare(tx: WriteTx, name: string, stores = '@id'): Table {
  const { primaryKey, compound, generated, indexes } = parseTable(name, stores)
  return tx.tables.put({
    name,
    primaryKey,
    compound,
    generated,
    idPrefix: 'tst',
    stores,
    hidden: false,
    indexes,
  })
}

export function declareIn(database: Database, name: string, stores?: string): Promise<Table> {
  return database.write((tx) => declare(tx, name, stores))
}

/** Bound to a key, for Alice by the client `c1`. */
export function refreshToken(hash: string, changes: Partial<RefreshToken> = {}): RefreshToken {
  return {
    hash,
    clientId: 'c1',
    subject: 'alice',
    claims: { sub: 'alice', deep: { list: [1, 2] } },
    scopes: ['ACCESS_DB'],
    publicKey: '-----BEGIN PUBLIC KEY-----',
    user: null,
    login: null,
    created: NOW,
    lastUsed: NOW,
    ...changes,
  }
}

/** A new object in the public realm. */
export function fresh(key: string, changes: Partial<ObjectPut> = {}): ObjectPut {
  return {
    key,
    realm: PUBLIC_REALM_REF,
    owner: null,
    value: JSON.stringify({ id: key }),
    entries: [],
    blobs: [],
    ...changes,
  }
}

export function insert(database: Database, table: Table, ...keys: string[]): Promise<void> {
  return database.write((tx) => {
    tx.objects.put(
      table,
      keys.map((key) => fresh(key)),
      NOW,
    )
  })
}

/** Changes an object that must be there. */
export function update(tx: WriteTx, table: Table, key: string, changes: Partial<ObjectPut>): void {
  const previous = get(tx, table, key)
  const { realm, owner, value } = previous
  tx.objects.put(table, [{ key, realm, owner, value, ...NO_TRACES, previous, ...changes }], NOW)
}

export function remove(tx: WriteTx, table: Table, ...keys: string[]): void {
  const removals = []
  for (const key of keys) removals.push({ previous: get(tx, table, key), ...NO_TRACES })
  tx.objects.remove(table, removals, NOW)
}

export function get(tx: WriteTx, table: Table, key: string): TimedObject
export function get(tx: ReadTx, table: Table, key: string): StoredObject
export function get(tx: ReadTx, table: Table, key: string): StoredObject {
  const found = tx.objects.find(table, key)
  if (found === undefined) throw new Error(`there is no ${key}`)
  return found
}

export async function find(
  database: Database,
  table: Table,
  key: string,
): Promise<StoredObject | undefined> {
  return database.read((tx) => tx.objects.find(table, key))
}

export async function scanAll(database: Database, table: Table): Promise<readonly StoredRow[]> {
  return database.read((tx) => rowsOf(tx, table))
}

/** All rows of a query that fit in one page. */
export function rowsOf(
  tx: ReadTx,
  table: Table,
  query: Omit<PageQuery, 'size'> = {},
): readonly StoredRow[] {
  const { rows, next } = tx.objects.page(table, { ...query, size: WHOLE })
  expect(next).toBeUndefined()
  return rows
}

/** The positions of all rows that have one of these index keys. */
export async function located(
  database: Database,
  table: Table,
  index: number,
  ...keys: Uint8Array[]
): Promise<number[]> {
  return await database.read((tx) =>
    rowsOf(tx, table, { lookup: { index, keys } }).map(({ seq }) => seq),
  )
}

/** The keys of a table whose objects are `{"id": key, …}`, in order of creation. */
export async function keysOf(database: Database, table: Table): Promise<string[]> {
  return (await scanAll(database, table)).map(keyOf)
}

export function keyOf({ value }: { readonly value: string }): string {
  return (JSON.parse(value) as { id: string }).id
}

export async function ensureRealm(database: Database, id: string): Promise<RealmRef> {
  return (await database.write((tx) => tx.realms.ensure(id))).ref
}

export function entry(index: number, ...bytes: number[]): IndexEntry {
  return { index, key: Uint8Array.from(bytes) }
}

/** Does all steps of the erasure of a realm; how much there was. */
export async function eraseAll(
  database: Database,
  realm: RealmRef,
  limit = 1_000,
  tracesOf: (table: Table, value: string) => Traces = () => NO_TRACES,
): Promise<number> {
  let total = 0
  for (;;) {
    const count = await database.write((tx) => tx.objects.erase(realm, limit, tracesOf))
    if (count === undefined) return total
    expect(count).toBeLessThanOrEqual(limit)
    total += count
  }
}

/** The code that work is refused with, or undefined when it is not. */
export async function refusalOf(work: Promise<unknown>): Promise<ErrorCode | undefined> {
  try {
    await work
    return undefined
  } catch (error) {
    if (error instanceof SatchelError) return error.code
    throw error
  }
}
