import { describe, expect, test } from 'bun:test'
import type { Fault, Meaning } from '../../src/domain/store/integrity'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import type { Database } from '../../src/domain/store/store'
import { declareIn, entry, fresh, insert, NOW, createDatabase, setupDatabase } from './fixture'
import type { DatabaseFixture, OpenStore } from './fixture'

const NOTHING: Meaning = { entries: [], blobs: [], membership: undefined }

/** The faults of the database, for objects that mean this. */
async function faultsOf(database: Database, meaning: Meaning | undefined, accepts = false) {
  const faults: Fault[] = []
  for await (const step of database.verify(() => meaning, accepts)) {
    faults.push(...step.faults)
  }
  return faults
}

/** An object with an entry and a reference, and the meaning of it. */
async function setup(fixture: DatabaseFixture): Promise<Meaning> {
  const { database } = fixture
  const table = await declareIn(database, 'things', '@id, title')
  const index = table.indexes[0]?.number ?? 0
  const traces = { entries: [entry(index, 1)], blobs: ['one'] }
  await database.write((tx) => {
    tx.tables.setIndexState(index, 'ready')
    tx.objects.put(table, [fresh('a', traces)], NOW)
  })
  return { ...traces, membership: undefined }
}

/** `verify`: damage (promises.md 3). */
export function describeIntegrity(openStore: OpenStore): void {
  describe('the integrity', () => {
    test('of a database is whole, however many objects it has', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      await insert(database, table, ...Array.from({ length: 1_000 }, (_, n) => `k${n}`))
      expect(await faultsOf(database, NOTHING)).toEqual([])
    })

    test('lacks what an object means and does not have, until that is accepted', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const meaning = await setup(fixture)
      expect(await faultsOf(database, meaning)).toEqual([])
      const more = [
        { ...meaning, blobs: ['one', 'two'] },
        { ...meaning, entries: meaning.entries.flatMap((one) => [one, entry(one.index, 2)]) },
      ]
      for (const wanted of more) {
        expect(await faultsOf(database, wanted)).toEqual([
          { problem: 'missing entry', table: 'things', key: 'a' },
        ])
        expect(await faultsOf(database, wanted, true)).toEqual([])
        expect(await faultsOf(database, wanted)).toEqual([])
        expect(await faultsOf(database, meaning, true)).toEqual([])
      }
    })

    test('has entries, references and rights that no object means, until that is accepted', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      await setup(fixture)
      await database.write((tx) =>
        tx.memberships.put({
          source: 'members:gone',
          realm: PUBLIC_REALM_REF,
          userId: 'alice',
          email: null,
          accepted: true,
          rejected: false,
          permissions: {},
          roles: [],
        }),
      )
      expect(await faultsOf(database, NOTHING)).toEqual([
        { problem: 'stale entry', table: 'things', key: 'a' },
        { problem: 'stale entry', table: 'blob references', key: 'one' },
        { problem: 'stale entry', table: 'members', key: 'gone' },
      ])
      expect(await faultsOf(database, NOTHING, true)).toEqual([])
      expect(await faultsOf(database, NOTHING)).toEqual([])
      expect(await database.read((tx) => tx.memberships.ofUser('alice', 100))).toEqual([])
    })

    test('is not given to objects that contradict themselves', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      await setup(fixture)
      const fault = { problem: 'contradictory', table: 'things', key: 'a' } as const
      expect(await faultsOf(database, undefined)).toEqual([fault])
      expect(await faultsOf(database, undefined, true)).toEqual([fault])
    })
  })
}
