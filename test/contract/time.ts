import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { inEveryLife, memoryOf, type OpenStore, setupDatabase } from './fixture'

/** The time that tokens go by (promise 11). */
export function describeTime(openStore: OpenStore): void {
  describe('the latest time', () => {
    test('is that at which the database was made', async () => {
      await using fixture = await setupDatabase(openStore)
      expect(await latest(fixture.database)).toBe(fixture.clock.now())
    })

    test('is the one that was set last, and survives a crash', async () => {
      await using fixture = await setupDatabase(openStore)
      const now = fixture.clock.now()
      for (const time of [now + 5, now - 3]) await keep(fixture.database, time)
      await inEveryLife(fixture, async (database) => {
        expect(await latest(database)).toBe(now - 3)
      })
    })

    test('stays as it was when the unit fails that keeps another', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database, clock } = fixture
      const now = clock.now()
      const failing = database.write((tx) => {
        tx.setLatestTime(now + 1)
        expect(tx.latestTime()).toBe(now + 1)
        throw new Error('changed my mind')
      })
      expect(await failing.catch(({ message }: Error) => message)).toBe('changed my mind')
      expect(await latest(database)).toBe(now)
    })

    test('is no policy, and is not announced', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const forgets = await memoryOf(database)
      let announced = 0
      database.onCommit(() => void (announced += 1))
      await keep(database, fixture.clock.now() + 1)
      expect({ isForgotten: await forgets(), announced }).toEqual({
        isForgotten: false,
        announced: 0,
      })
    })
  })
}

async function latest(database: Database): Promise<number> {
  return database.read((tx) => tx.latestTime())
}

function keep(database: Database, time: number): Promise<void> {
  return database.write((tx) => tx.setLatestTime(time))
}
