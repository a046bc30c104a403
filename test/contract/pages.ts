import { describe, expect, test } from 'bun:test'
import type {
  ChunkSize,
  IndexLookup,
  Page,
  PageEnd,
  PageQuery,
  StoredRow,
} from '../../src/domain/store/objects'
import { PUBLIC_REALM_REF, type RealmRef } from '../../src/domain/store/realms'
import type { Database } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import {
  declareIn,
  ensureRealm,
  entry,
  fresh,
  get,
  insert,
  keyOf,
  NOW,
  type OpenStore,
  remove,
  createDatabase,
  setupDatabase,
  update,
  WHOLE,
} from './fixture'

const CHUNK: ChunkSize = { rows: 1_000, bytes: 256 * 1024 }

/** Reading the objects of a query page by page, whichever way the engine takes to them. */
export function describePages(openStore: OpenStore): void {
  describe('pages', () => {
    test.each([1, 2, 7, 29, 30, 31])(
      'of %p rows hold each object that is wanted once, in order of creation',
      async (rows) => {
        await using database = await createDatabase(openStore)
        const { table, shapes } = await setupShapes(database)
        for (const { query, found } of shapes) {
          const size = { rows, bytes: 1_000_000 }
          const pages = await pagesOf(database, table, { ...query, size })
          expect(pages.flatMap((page) => page.rows.map(keyOf))).toEqual(found)
          for (const page of pages) expect(page.rows.length).toBeLessThanOrEqual(rows)
          // A caller may keep the position alone.
          const again = await pagesOf(database, table, { ...query, size }, ({ seq }) => ({ seq }))
          expect(again.flatMap((page) => page.rows.map(keyOf))).toEqual(found)
        }
      },
    )

    test('end when they are heavy enough, whatever they hold', async () => {
      await using database = await createDatabase(openStore)
      const { table, shapes } = await setupShapes(database, 'x'.repeat(1_000))
      for (const { query, found } of shapes) {
        const pages = await pagesOf(database, table, {
          ...query,
          size: { rows: 1_000, bytes: 3_000 },
        })
        expect(pages.flatMap((page) => page.rows.map(keyOf))).toEqual(found)
        for (const page of pages) expect(page.rows.length).toBeLessThanOrEqual(3)
      }
    })

    test.each([1, 2, 7, 29, 30, 31])(
      'of %p rows hold them newest first where that is the order',
      async (rows) => {
        await using database = await createDatabase(openStore)
        const { table, shapes } = await setupShapes(database)
        const size = { rows, bytes: 1_000_000 }
        for (const { query, found } of shapes) {
          const asked = { ...query, size, order: 'newest', hasKeys: true } as const
          const pages = await pagesOf(database, table, asked, ({ seq }) => ({ seq }))
          const keys = pages.flatMap((page) => page.rows.map(({ key }) => key))
          // A range may be passed over: then there are others among the rows.
          const isLoose = query.lookup?.range !== undefined
          const shown = isLoose ? keys.filter((key) => found.includes(key ?? '')) : keys
          expect(shown).toEqual(found.toReversed())
          for (const page of pages) expect(page.rows.length).toBeLessThanOrEqual(rows)
        }
      },
    )

    test.each([1, 3, 100])(
      'of %p rows hold all keys with a prefix, by their keys',
      async (rows) => {
        await using database = await createDatabase(openStore)
        const { table, realms } = await setupShapes(database)
        const size = { rows, bytes: 1_000_000 }
        const read = async (prefix: string, realm?: RealmRef) => {
          const only = realm === undefined ? {} : { realms: new Set([realm]) }
          const asked = { size, order: { prefix }, hasKeys: true, ...only }
          const pages = await pagesOf(database, table, asked)
          return pages.flatMap((page) => page.rows.map(({ key }) => key))
        }
        expect(await read('k2')).toEqual(
          names(30)
            .filter((key) => key.startsWith('k2'))
            .toSorted(),
        )
        expect(await read('')).toEqual(names(30).toSorted())
        expect(await read('x')).toEqual([])
        expect(await read('k2', realms[2])).toEqual(['k2', 'k20', 'k23', 'k26', 'k29'])
        await insert(database, table, 'k2\u{10FFFF}\u{10FFFF}', 'k2é')
        expect((await read('k2')).slice(-2)).toEqual(['k2é', 'k2\u{10FFFF}\u{10FFFF}'])
      },
    )

    test('hold the newest of a realm with very many rows without those of others', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const [large, small] = [await ensureRealm(database, 'a'), await ensureRealm(database, 'b')]
      const puts = names(20_100).map((id, n) =>
        fresh(id, { realm: n % 20 === 0 && n > 20_000 ? small : large }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const wanted = names(20_100).filter((_, n) => n % 20 !== 0 || n <= 20_000)
      const query = { realms: new Set([large]), order: 'newest', hasKeys: true } as const
      const size = { rows: 70, bytes: 1_000_000 }
      const pages = await pagesOf(database, table, { ...query, size }, ({ seq }) => ({ seq }))
      const keys = pages.flatMap((page) => page.rows.map(({ key = '' }) => key))
      expect(keys).toEqual(wanted.toReversed())
    })

    test('have the keys of their rows where these are wanted', async () => {
      await using database = await createDatabase(openStore)
      const { table, shapes } = await setupShapes(database)
      for (const { query, found } of shapes) {
        const pages = await pagesOf(database, table, { ...query, size: CHUNK, hasKeys: true })
        expect(pages.flatMap((page) => page.rows.map(({ key }) => key))).toEqual(found)
      }
    })

    test('as texts hold the same, as the inside of a JSON array', async () => {
      await using database = await createDatabase(openStore)
      const { table, shapes } = await setupShapes(database)
      for (const { query, found } of [...shapes, ...shapes]) {
        for (const rows of [4, 1_000]) {
          const size = { rows, bytes: 1_000_000 }
          const pages = await pagesOf(database, table, { ...query, size, joined: true })
          const texts = pages.map(({ rows: some, text }) => text ?? textOf(some))
          const inside = texts.filter((text) => text !== '').join(',')
          expect((JSON.parse(`[${inside}]`) as { id: string }[]).map(({ id }) => id)).toEqual(found)
        }
      }
    })

    test('as texts show what was written since the same text was read', async () => {
      await using database = await createDatabase(openStore)
      const { table, realms } = await setupShapes(database)
      const [first = 0] = realms
      const read = async () => {
        const query = { size: CHUNK, realms: new Set([first]), joined: true }
        const [page] = await pagesOf(database, table, query)
        return page?.text ?? textOf(page?.rows ?? [])
      }
      expect(await read()).toBe(await read())
      await database.write((tx) => tx.objects.put(table, [fresh('new', { realm: first })], NOW))
      expect(await read()).toEndWith(',{"id":"new"}')
      await database.write((tx) => remove(tx, table, 'new'))
      expect(await read()).not.toContain('new')
    })

    test('as texts are rows while the values are too large, and not for ever', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const value = JSON.stringify({ text: 'x'.repeat(6 * 1024 * 1024) })
      const puts = ['a', 'b'].map((key) => fresh(key, { value }))
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const query = { size: CHUNK, joined: true }
      const read = (from: Database) => pagesOf(from, table, query)
      for (const realms of [undefined, new Set([PUBLIC_REALM_REF])]) {
        const pages = await pagesOf(database, table, { ...query, realms })
        expect(pages).toHaveLength(2)
        expect(pages.map(({ rows, text }) => text ?? textOf(rows))).toEqual([value, value])
      }
      await database.write((tx) => remove(tx, table, 'a'))
      const [page, more] = await read(await (await fixture.reopen()).open('main'))
      expect(page?.text ?? textOf(page?.rows ?? [])).toBe(value)
      expect(more).toBeUndefined()
    })

    test('hold what exists throughout, although other objects come and go', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, n')
      const index = table.indexes[0]?.number ?? 0
      const range = { lower: Uint8Array.of(1), upper: Uint8Array.of(9) }
      const own = new Set([await ensureRealm(database, 'own')])
      const queries: Omit<PageQuery, 'size'>[] = [
        {},
        { realms: own },
        { lookup: { index, keys: [Uint8Array.of(1)] } },
        { lookup: { index, keys: [], range }, realms: own },
      ]
      const entries = [entry(index, 1)]
      const [realm = 0] = own
      const put = (key: string) => fresh(key, { realm, entries })
      for (const [number, query] of queries.entries()) {
        const keys = names(40).map((key) => `${number}${key}`)
        await database.write((tx) => tx.objects.put(table, keys.map(put), NOW))
        let step = 0
        const change = async (next: PageEnd) => {
          const [nth, last] = [step, 38 - step]
          step += 1
          if (nth > 4) return next
          await database.write((tx) => {
            for (const key of [keys[nth]!, keys[last]!]) {
              const previous = get(tx, table, key)
              tx.objects.remove(table, [{ previous, entries, blobs: [] }], NOW)
            }
            update(tx, table, keys[39]!, {})
            tx.objects.put(table, [put(`${number}new${nth}`)], NOW)
          })
          return next
        }
        const size = { rows: 4, bytes: 1_000_000 }
        const pages = await pagesOf(database, table, { ...query, size }, change)
        const seen = pages.flatMap(({ rows }) => rows.map(keyOf))
        expect(seen.filter((key) => keys.slice(5, 34).includes(key))).toEqual(keys.slice(5, 34))
        expect(new Set(seen).size).toBe(seen.length)
      }
    })

    test('show nothing of realms that are named no more, nor of others in their place', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const [one, other] = [
        await ensureRealm(database, 'one'),
        await ensureRealm(database, 'other'),
      ]
      const puts = names(4_000).map((key, n) => fresh(key, { realm: n % 4 === 0 ? other : one }))
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const read = (realms: ReadonlySet<RealmRef>, after?: PageEnd) =>
        database.read((tx) => tx.objects.page(table, { after, size: CHUNK, realms, joined: true }))
      for (const realms of [new Set([one]), new Set([one, other])]) {
        const { next } = await read(realms)
        expect(next).toBeDefined()
        const none = await read(new Set(), next)
        expect([none.rows, none.text ?? '', none.next]).toEqual([[], '', undefined])
        for (const wanted of [new Set([other]), new Set([one, other])]) {
          const { rows, text } = await read(wanted, next)
          const keys = (JSON.parse(`[${text ?? textOf(rows)}]`) as { id: string }[]).map(
            ({ id }) => id,
          )
          const rest = puts.slice(puts.findIndex(({ key }) => key === keys[0]))
          const expected = rest.filter(({ realm }) => wanted.has(realm)).map(({ key }) => key)
          expect(keys.length).toBeGreaterThan(0)
          expect(keys).toEqual(expected.slice(0, keys.length))
        }
      }
    })

    test('may be empty and go on, where the objects are of other realms', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, n')
      const index = table.indexes[0]?.number ?? 0
      const small = await ensureRealm(database, 'small')
      const puts = names(3_000).map((key, n) =>
        fresh(key, { realm: n % 1_000 === 999 ? small : 1, entries: [entry(index, n % 2)] }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const realms = new Set([small])
      const lookup = { index, keys: [Uint8Array.of(1)] }
      const size = { rows: 10, bytes: 1_000_000 }
      for (const query of [{ realms }, { lookup, realms }]) {
        const pages = await pagesOf(database, table, { ...query, size })
        const keys = pages.flatMap(({ rows }) => rows.map(keyOf))
        expect(keys).toEqual(['k999', 'k1999', 'k2999'])
      }
    })

    test('say whether all of their objects have a key of the look-up', async () => {
      await using database = await createDatabase(openStore)
      const { table, index } = await setupShapes(database)
      const isExact = async (lookup: IndexLookup) =>
        (await database.read((tx) => tx.objects.page(table, { size: CHUNK, lookup }))).isExact
      const key = Uint8Array.of(1)
      const [lower, upper] = [Uint8Array.of(100), Uint8Array.of(101)]
      expect(await isExact({ index, keys: [key] })).toBe(true)
      expect(await isExact({ index, keys: [key], range: { lower, upper } })).toBe(true)
      const range = { lower: Uint8Array.of(2), upper }
      expect(await isExact({ index, keys: [key], range })).not.toBe(true)
    })

    test('give an object once, however many of its entries are looked up', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, *tags')
      const index = table.indexes[0]?.number ?? 0
      // Six hundred under 1, 2 and 3, then four hundred under 4: more entries than rows.
      const puts = names(1_000).map((key, n) =>
        fresh(key, { entries: (n < 600 ? [1, 2, 3] : [4]).map((tag) => entry(index, tag)) }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const range = { lower: Uint8Array.of(0), upper: Uint8Array.of(9) }
      const keys = [1, 2, 3, 4].map((tag) => Uint8Array.of(tag))
      for (const lookup of [
        { index, keys: [], range },
        { index, keys },
        { index, keys, range },
      ]) {
        for (const rows of [7, 700, 1_500]) {
          const pages = await pagesOf(database, table, { lookup, size: { rows, bytes: 1_000_000 } })
          expect(pages.flatMap((page) => page.rows.map(keyOf))).toEqual(names(1_000))
        }
      }
    })

    test('have the values of the named realms only, small and large', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, title')
      const index = table.indexes[0]?.number ?? 0
      const own = await ensureRealm(database, 'rlm-own')
      const text = 'ü'.repeat(20_000)
      const puts = names(8).map((key, n) =>
        fresh(key, {
          realm: n % 2 === 0 ? own : 1,
          value: JSON.stringify(n < 4 ? { id: key } : { id: key, text }),
          entries: [entry(index, 1)],
        }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const realms = new Set([own])
      const shown = puts.filter(({ realm }) => realm === own).map(({ value }) => value)
      const range = { lower: Uint8Array.of(0), upper: Uint8Array.of(9) }
      for (const lookup of [
        undefined,
        { index, keys: [Uint8Array.of(1)] },
        { index, keys: [], range },
      ]) {
        for (const rows of [2, 1_000]) {
          const size = { rows, bytes: 1_000_000 }
          const pages = await pagesOf(database, table, { realms, lookup, size })
          expect(pages.flatMap((page) => page.rows.map(({ value }) => value))).toEqual(shown)
        }
      }
      await database.read(({ objects }) => {
        for (const { key, realm, value } of puts) {
          const found = objects.findText(table, key, realms)
          expect(found).toMatchObject({ realm })
          if (realm === own || value.length > 20_000) {
            expect(found?.value).toBe(realm === own ? value : '')
          }
        }
      })
    })

    test('hold objects with the transaction that writes them', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things', '@id, n')
      const index = table.indexes[0]?.number ?? 0
      await insert(database, table, 'before')
      await database.write((tx) => {
        tx.objects.put(table, [fresh('now', { entries: [entry(index, 1)] })], NOW)
        const keys = (query: Omit<PageQuery, 'size'>) =>
          tx.objects.page(table, { ...query, size: WHOLE }).rows.map(keyOf)
        expect(keys({})).toEqual(['before', 'now'])
        expect(keys({ realms: new Set([PUBLIC_REALM_REF]) })).toEqual(['before', 'now'])
        expect(keys({ lookup: { index, keys: [Uint8Array.of(1)] } })).toEqual(['now'])
      })
    })
  })
}

export function names(count: number): string[] {
  return Array.from({ length: count }, (_, n) => `k${n}`)
}

/**
 * Thirty objects, in turn in one of three realms, `kN` under the index key N modulo 10; and queries with the keys of
 * the objects that they describe.
 */
async function setupShapes(database: Database, text = '') {
  const table = await declareIn(database, 'things', '@id, n')
  const index = table.indexes[0]?.number ?? 0
  const realms: RealmRef[] = []
  for (const id of ['a', 'b', 'c']) realms.push(await ensureRealm(database, id))
  const puts = names(30).map((id, n) =>
    fresh(id, {
      value: JSON.stringify({ id, text }),
      realm: realms[n % 3] ?? 0,
      entries: [entry(index, n % 10)],
    }),
  )
  await database.write((tx) => tx.objects.put(table, puts, NOW))
  const [first = 0, second = 0] = realms
  const bytes = (...keys: number[]) => keys.map((key) => Uint8Array.of(key))
  const range = { lower: Uint8Array.of(1), upper: Uint8Array.of(3) }
  const none = { lower: Uint8Array.of(50), upper: Uint8Array.of(51) }
  const where = (claim: (n: number) => boolean) => names(30).filter((_, n) => claim(n))
  const shapes: { query: Omit<PageQuery, 'size'>; found: string[] }[] = [
    { query: {}, found: names(30) },
    { query: { realms: new Set([first]) }, found: where((n) => n % 3 === 0) },
    { query: { realms: new Set([second, first]) }, found: where((n) => n % 3 < 2) },
    { query: { realms: new Set(realms) }, found: names(30) },
    { query: { realms: new Set() }, found: [] },
    { query: { lookup: { index, keys: bytes(1) } }, found: ['k1', 'k11', 'k21'] },
    { query: { lookup: { index, keys: bytes(77) } }, found: [] },
    { query: { lookup: { index, keys: [] } }, found: [] },
    {
      query: { lookup: { index, keys: bytes(1, 9, 1) } },
      found: where((n) => n % 10 === 1 || n % 10 === 9),
    },
    {
      query: { lookup: { index, keys: [], range } },
      found: where((n) => n % 10 === 1 || n % 10 === 2),
    },
    {
      query: { lookup: { index, keys: bytes(9), range } },
      found: where((n) => [1, 2, 9].includes(n % 10)),
    },
    { query: { lookup: { index, keys: bytes(9), range: none } }, found: ['k9', 'k19', 'k29'] },
    {
      query: { lookup: { index, keys: bytes(1) }, realms: new Set([first, second]) },
      found: ['k1', 'k21'],
    },
    {
      query: { lookup: { index, keys: bytes(9), range }, realms: new Set([first]) },
      found: where((n) => [1, 2, 9].includes(n % 10) && n % 3 === 0),
    },
    { query: { lookup: { index, keys: bytes(1), range }, realms: new Set() }, found: [] },
  ]
  return { table, index, realms, shapes }
}

/** All pages of a query; `onward` is called between them with where each ended. */
async function pagesOf(
  database: Database,
  table: Table,
  query: PageQuery,
  onward: (next: PageEnd) => PageEnd | Promise<PageEnd> = (next) => next,
): Promise<Page[]> {
  const pages: Page[] = []
  let after: PageEnd | undefined
  do {
    const from: PageEnd | undefined = after
    const page: Page = await database.read((tx) =>
      tx.objects.page(table, { ...query, after: from }),
    )
    pages.push(page)
    const { next } = page
    const isByCreation = query.order === undefined
    if (next !== undefined && isByCreation) expect(next.seq).toBeGreaterThan(from?.seq ?? 0)
    after = next && (await onward(next))
  } while (after !== undefined)
  return pages
}

function textOf(rows: readonly StoredRow[]): string {
  return rows.map(({ value }) => value).join(',')
}
