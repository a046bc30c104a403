import { describe, expect, test } from 'bun:test'
import { PUBLIC_REALM_REF, type RealmRef } from '../../src/domain/store/realms'
import type { IndexLookup } from '../../src/domain/store/objects'
import type { Database } from '../../src/domain/store/store'
import type { Table } from '../../src/domain/store/tables'
import {
  declareIn,
  ensureRealm,
  entry,
  fresh,
  keyOf,
  NOW,
  type OpenStore,
  setupDatabase,
  WHOLE,
} from './fixture'
import { CHUNK, chunksOf, names, setupRealms } from './lists'

/** Finding rows by their realms or by an index: all of them, or word that there are too many. */
export function describeLocating(openStore: OpenStore): void {
  describe('locating', () => {
    test('finds the positions of realms, also after one', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, realms } = await setupRealms(database)
      const all = (await chunksOf(database, table, WHOLE)).flat()
      const realmsToFind = new Set(realms.slice(0, 2))
      const wanted = all.filter(({ realm }) => realmsToFind.has(realm))
      const by = { realms: realmsToFind }
      for (const after of [0, wanted[5]?.seq ?? 0, wanted.at(-1)?.seq ?? 0]) {
        const located = await database.read((tx) => tx.objects.locate(table, after, by, WHOLE.rows))
        const gathered = await database.read((tx) => tx.objects.gather(table, after, CHUNK, by))
        const expected = wanted.filter(({ seq }) => seq > after)
        expect([...(located ?? [])]).toEqual(expected.map(({ seq }) => seq))
        expect(gathered).toEqual(expected)
      }
      const none = { realms: new Set<RealmRef>() }
      expect(
        await database.read((tx) => tx.objects.locate(table, 0, none, WHOLE.rows)),
      ).toHaveLength(0)
      expect(await database.read((tx) => tx.objects.gather(table, 0, CHUNK, none))).toEqual([])
    })

    test('gives the values of realms as one text, in order of creation', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, realms } = await setupRealms(database)
      const textOf = (wanted: ReadonlySet<RealmRef>, size = CHUNK) =>
        database.read((tx) => tx.objects.gatherText(table, size, wanted))
      const expected = async (wanted: ReadonlySet<RealmRef>) =>
        (await chunksOf(database, table, WHOLE))
          .flat()
          .filter(({ realm }) => wanted.has(realm))
          .map(({ value }) => value)
          .join(',')
      const sets = [realms.slice(0, 1), realms.slice(0, 2), realms, []].map((refs) => new Set(refs))
      // The second time the text is known.
      for (const wanted of [...sets, ...sets]) {
        expect(await textOf(wanted)).toBe(await expected(wanted))
      }
      const [one] = sets
      if (one === undefined) throw new Error('there is no realm')
      const [realm = 0] = one
      const [row] = (await database.read((tx) =>
        tx.objects.gather(table, 0, CHUNK, { realms: one }),
      ))!
      await database.write((tx) => tx.objects.put(table, [fresh('new', { realm })], NOW))
      expect(await textOf(one)).toBe(await expected(one))
      expect(await textOf(one)).toContain(row?.value ?? '')
      expect(await textOf(one, { ...CHUNK, rows: 1 })).toBeUndefined()
    })

    test('gives up when a realm has a large part of the table, at any position', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const small = await ensureRealm(database, 'small')
      const puts = names(5_000).map((key, n) =>
        n % 100 === 0 ? fresh(key, { realm: small }) : fresh(key),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const all = (await chunksOf(database, table, WHOLE)).flat()
      const large = { realms: new Set([PUBLIC_REALM_REF]) }
      for (const after of [0, all[2_500]?.seq ?? 0, all[4_990]?.seq ?? 0]) {
        const located = await database.read((tx) =>
          tx.objects.locate(table, after, large, WHOLE.rows),
        )
        const expected = all.filter(({ seq, realm }) => seq > after && realm !== small)
        expect([...located]).toEqual(expected.map(({ seq }) => seq))
        const first = await database.read((tx) => tx.objects.locate(table, after, large, 7))
        expect([...first]).toEqual([...located.subarray(0, 7)])
      }
      const few = { realms: new Set([small]) }
      expect(
        await database.read((tx) => tx.objects.locate(table, 0, few, WHOLE.rows)),
      ).toHaveLength(50)
      expect(await database.read((tx) => tx.objects.gather(table, 0, CHUNK, large))).toBeUndefined()
    })

    test('finds what an index holds under keys and in a range', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { table, index, rows } = await setupIndex(database)
      const seqs = (...keys: string[]) =>
        rows.filter((row) => keys.includes(keyOf(row))).map(({ seq }) => seq)
      const bytes = (...keys: number[]) => keys.map((key) => Uint8Array.of(key))
      const range = { lower: Uint8Array.of(1), upper: Uint8Array.of(3) }
      const cases = [
        { keys: bytes(1), found: seqs('k1', 'k11', 'k21') },
        { keys: bytes(1, 9, 1), found: seqs('k1', 'k9', 'k11', 'k19', 'k21', 'k29') },
        { keys: bytes(77), found: [] },
        { keys: [], found: [] },
        { keys: [], range, found: seqs('k1', 'k2', 'k11', 'k12', 'k21', 'k22') },
        {
          keys: bytes(9),
          range: { lower: range.lower, upper: range.lower },
          found: seqs('k9', 'k19', 'k29'),
        },
      ]
      for (const { found, ...places } of cases) {
        const lookup = { index, ...places }
        for (const after of [0, rows[10]?.seq ?? 0]) {
          const expected = found.filter((seq) => seq > after)
          const located = await database.read((tx) =>
            tx.objects.locate(table, after, { lookup }, WHOLE.rows),
          )
          const gathered = await database.read((tx) =>
            tx.objects.gather(table, after, CHUNK, { lookup }),
          )
          expect([...(located ?? [])]).toEqual(expected)
          expect(gathered?.map(({ seq }) => seq)).toEqual(expected)
          if (places.range === undefined) {
            expect(await walked(database, table, after, lookup)).toEqual(expected)
          } else {
            expect(await database.read((tx) => tx.objects.mayWalk(lookup))).toBe(false)
          }
        }
      }
    })

    test('gives the rows of the named realms only, with their values', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things', '@id, title')
      const index = table.indexes[0]?.number ?? 0
      const own = await database.write(async (tx) => (await tx.realms.ensure('rlm-own')).ref)
      const text = 'ü'.repeat(20_000)
      const puts = names(8).map((key, n) =>
        fresh(key, {
          realm: n % 2 === 0 ? own : 1,
          value: JSON.stringify(n < 4 ? { id: key } : { id: key, text }),
          entries: [entry(index, 1)],
        }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const lookup = { index, keys: [Uint8Array.of(1)] }
      const realms = new Set([own])
      const shown = puts.filter(({ realm }) => realm === own).map(({ value }) => value)
      await database.read(async (tx) => {
        const { objects } = tx
        const positions = await objects.locate(table, 0, { lookup }, WHOLE.rows)
        expect(positions).toHaveLength(8)
        const reads = [
          await objects.gather(table, 0, CHUNK, { lookup, realms }),
          await objects.gather(table, 0, CHUNK, { realms }),
          (await objects.walk(table, 0, CHUNK, lookup, realms))?.rows,
          (await objects.load(table, positions, CHUNK, realms)).rows,
          (await objects.scan(table, 0, CHUNK, realms)).rows,
        ]
        for (const rows of reads) expect(rows?.map(({ value }) => value)).toEqual(shown)
        for (const { key, realm, value } of puts) {
          const found = await objects.findText(table, key, realms)
          expect(found).toMatchObject({ realm })
          if (realm === own || value.length > 20_000) {
            expect(found?.value).toBe(realm === own ? value : '')
          }
        }
      })
    })

    test('finds all of it, also where rows have several entries', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things', '@id, *tags')
      const index = table.indexes[0]?.number ?? 0
      // Six hundred under 1, 2 and 3, then four hundred under 4: more entries than rows.
      const puts = names(1_000).map((key, n) =>
        fresh(key, { entries: (n < 600 ? [1, 2, 3] : [4]).map((tag) => entry(index, tag)) }),
      )
      await database.write((tx) => tx.objects.put(table, puts, NOW))
      const range = { lower: Uint8Array.of(0), upper: Uint8Array.of(9) }
      const keys = [1, 2, 3, 4].map((tag) => Uint8Array.of(tag))
      for (const places of [{ keys: [], range }, { keys }]) {
        const lookup = { index, ...places }
        const located = await database.read((tx) =>
          tx.objects.locate(table, 0, { lookup }, WHOLE.rows),
        )
        expect(located).toHaveLength(1_000)
        const first = await database.read((tx) => tx.objects.locate(table, 0, { lookup }, 7))
        expect([...first]).toEqual([...located.subarray(0, 7)])
        const size = { rows: 1_500, bytes: 1_000_000 }
        const gathered = await database.read((tx) => tx.objects.gather(table, 0, size, { lookup }))
        if (gathered !== undefined) expect(gathered).toHaveLength(1_000)
      }
    })
  })
}

/** The positions of all rows on the way of a look-up, in chunks of two. */
async function walked(database: Database, table: Table, start: number, lookup: IndexLookup) {
  const seqs: number[] = []
  let after: number | undefined = start
  while (after !== undefined) {
    const from: number = after
    const size = { rows: 2, bytes: 1_000_000 }
    const chunk = await database.read((tx) => tx.objects.walk(table, from, size, lookup))
    seqs.push(...(chunk?.rows.map(({ seq }) => seq) ?? [NaN]))
    after = chunk?.next
  }
  return seqs
}

/** Thirty objects, `kN` under the index key N modulo 10. */
async function setupIndex(database: Database) {
  const table = await declareIn(database, 'things', '@id, n')
  const index = table.indexes[0]?.number ?? 0
  const puts = names(30).map((key, n) => fresh(key, { entries: [entry(index, n % 10)] }))
  await database.write((tx) => tx.objects.put(table, puts, NOW))
  return { table, index, rows: (await chunksOf(database, table, WHOLE)).flat() }
}
