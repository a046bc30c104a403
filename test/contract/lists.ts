import { describe, expect, test } from 'bun:test'
import type { RealmRef } from '../../src/domain/store/realms'
import type { ChunkSize, StoredRow } from '../../src/domain/store/objects'
import type { Database } from '../../src/domain/store/store'
import {
  declareIn,
  ensureRealm,
  fresh,
  insert,
  keyOf,
  NOW,
  type OpenStore,
  remove,
  setupDatabase,
  update,
  WHOLE,
} from './fixture'
import type { Table } from '../../src/domain/store/tables'

export const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }

/** Going through a table, or through what is known of it. */
export function describeLists(openStore: OpenStore): void {
  describe('scanning', () => {
    test('goes through a table in chunks, each row once, in order of creation', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const keys = names(25)
      await insert(database, table, ...keys)
      for (const rows of [1, 2, 7, 24, 25, 26]) {
        const chunks = await chunksOf(database, table, { rows, bytes: 1_000_000 })
        expect(chunks.flat().map(keyOf)).toEqual(keys)
        expect(Math.max(...chunks.map(({ length }) => length))).toBeLessThanOrEqual(rows)
      }
    })

    test('ends a chunk when it is heavy enough', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const value = JSON.stringify({ text: 'x'.repeat(1_000) })
      const puts = names(20).map((key) => fresh(key, { value }))
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const chunks = await chunksOf(database, table, { rows: 1_000, bytes: 3_000 })
      expect(chunks.flat()).toHaveLength(20)
      for (const { length } of chunks) expect(length).toBeLessThanOrEqual(3)
    })

    test('shows only the realms that are named, none for none', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, realms } = await setupRealms(database)
      const [first = 0, second = 0] = realms
      const keys = async (only: RealmRef[]) =>
        (await chunksOf(database, table, { rows: 3, bytes: 1_000_000 }, new Set(only)))
          .flat()
          .map(keyOf)
      expect(await keys([first])).toEqual(names(30).filter((_, n) => n % 3 === 0))
      expect(await keys([second, first])).toEqual(names(30).filter((_, n) => n % 3 < 2))
      expect(await keys([])).toEqual([])
    })

    test('has every row that exists throughout once, although others come and go', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const keys = names(40)
      await insert(database, table, ...keys)
      const seen: string[] = []
      let after: number | undefined = 0
      for (let step = 0; after !== undefined; step += 1) {
        const start: number = after
        const chunk = await database.read((tx) =>
          tx.objects.scan(table, start, { rows: 4, bytes: 1_000_000 }),
        )
        seen.push(...chunk.rows.map(keyOf))
        after = chunk.next
        await database.write(async (tx) => {
          if (step < 5) await remove(tx, table, `k${step}`)
          await update(tx, table, 'k39', {})
          if (step < 5) await tx.objects.put(table, [fresh(`new${step}`)], NOW)
        })
      }
      const throughout = keys.slice(5)
      expect(seen.filter((key) => throughout.includes(key))).toEqual(throughout)
      expect(new Set(seen).size).toBe(seen.length)
    })
  })

  describe('joined texts', () => {
    test('are what scanning gives, as the inside of a JSON array', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, realms } = await setupRealms(database)
      for (const only of [undefined, ...realms.map((realm) => new Set([realm]))]) {
        const scanned = (await chunksOf(database, table, WHOLE, only)).flat().map(keyOf)
        expect(await joinedKeys(database, table, CHUNK, only)).toEqual(scanned)
        expect(await joinedKeys(database, table, { rows: 4, bytes: 1_000_000 }, only)).toEqual(
          scanned,
        )
      }
    })

    test('show nothing when no realm is named, or refuse', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table } = await setupRealms(database)
      const joined = await database.read((tx) => tx.objects.scanText(table, 0, CHUNK, new Set()))
      expect(joined?.text ?? '').toBe('')
    })

    test('are refused while they are too large, and not for ever', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const value = JSON.stringify({ text: 'x'.repeat(6 * 1024 * 1024) })
      const puts = ['a', 'b'].map((key) => fresh(key, { value }))
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const joined = (from: Database) => from.read((tx) => tx.objects.scanText(table, 0, CHUNK))
      expect(await joined(database)).toBeUndefined()
      await database.write((tx) => remove(tx, table, 'a'))
      const reopened = await (await fixture.reopen()).open('main')
      expect(await joined(reopened)).toEqual({ text: value, next: undefined })
    })
  })

  describe('loading', () => {
    test('gives the rows that are still there, in chunks', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      await insert(database, table, ...names(30))
      const rows = (await chunksOf(database, table, WHOLE)).flat()
      const positions = Float64Array.from(rows.map(({ seq }) => seq))
      await database.write((tx) => remove(tx, table, 'k3', 'k4', 'k29'))
      const loaded: StoredRow[] = []
      let left = positions
      for (;;) {
        const chunk = await database.read((tx) =>
          tx.objects.load(table, left, { rows: 4, bytes: 1_000_000 }),
        )
        expect(chunk.rows.length).toBeLessThanOrEqual(4)
        loaded.push(...chunk.rows)
        const { next } = chunk
        if (next === undefined) break
        left = positions.filter((seq) => seq > next)
      }
      expect(loaded).toEqual(rows.filter((row) => !['k3', 'k4', 'k29'].includes(keyOf(row))))
      const empty = await database.read((tx) => tx.objects.load(table, new Float64Array(), CHUNK))
      expect(empty).toEqual({ rows: [], next: undefined })
    })
  })
}

export function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `k${n}`)
}

/** Thirty objects, in turn in one of three realms. */
export async function setupRealms(database: Database) {
  const table = await declareIn(database, 'things')
  const realms: RealmRef[] = []
  for (const id of ['a', 'b', 'c']) realms.push(await ensureRealm(database, id))
  const puts = names(30).map((key, n) => fresh(key, { realm: realms[n % 3] ?? 0 }))
  await database.write((tx) => tx.objects.put(table, puts, NOW))
  return { table, realms }
}

export async function chunksOf(
  database: Database,
  table: Table,
  size: ChunkSize,
  realms?: ReadonlySet<RealmRef>,
): Promise<StoredRow[][]> {
  const chunks: StoredRow[][] = []
  let after: number | undefined = 0
  while (after !== undefined) {
    const start: number = after
    const { rows, next } = await database.read((tx) => tx.objects.scan(table, start, size, realms))
    chunks.push([...rows])
    if (next !== undefined) expect(next).toBeGreaterThan(start)
    after = next
  }
  return chunks
}

async function joinedKeys(
  database: Database,
  table: Table,
  size: ChunkSize,
  realms: ReadonlySet<RealmRef> | undefined,
): Promise<string[]> {
  const keys: string[] = []
  let after: number | undefined = 0
  while (after !== undefined) {
    const start: number = after
    const joined = await database.read((tx) => tx.objects.scanText(table, start, size, realms))
    if (joined === undefined) throw new Error('the texts were not joined')
    const objects = JSON.parse(`[${joined.text}]`) as { id: string }[]
    keys.push(...objects.map(({ id }) => id))
    after = joined.next
  }
  return keys
}
