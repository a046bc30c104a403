import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { inEveryLife, NOW, type OpenStore, setupDatabase } from './fixture'

/** The time that tokens go by (promise 11). */
export function describeTime(openStore: OpenStore): void {
  describe('the latest time', () => {
    test('is that at which the database was made', async () => {
      await using fixture = await setupDatabase(openStore)
      expect(await latest(fixture.database)).toBe(fixture.clock.now())
    })

    test('is the one that was kept last, though it be earlier, and survives a crash', async () => {
      await using fixture = await setupDatabase(openStore)
      for (const time of [NOW + 5, NOW + 3]) await keep(fixture.database, time)
      await inEveryLife(fixture, async (database) => {
        expect(await latest(database)).toBe(NOW + 3)
      })
    })

    test('stays as it was when the unit fails that keeps another', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      await keep(database, NOW)
      const failing = database.write(async (tx) => {
        await tx.time.keep(NOW + 1)
        expect(await tx.time.latest()).toBe(NOW + 1)
        throw new Error('changed my mind')
      })
      expect(await failing.catch(({ message }: Error) => message)).toBe('changed my mind')
      expect(await latest(database)).toBe(NOW)
    })

    test('is no policy, and nobody is told', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { policy } = database
      let announced = 0
      database.onCommit(() => void (announced += 1))
      await keep(database, NOW)
      expect({ policy: database.policy, announced }).toEqual({ policy, announced: 0 })
    })
  })
}

function latest(database: Database): Promise<number> {
  return database.read((tx) => tx.time.latest())
}

function keep(database: Database, time: number): Promise<void> {
  return database.write((tx) => tx.time.keep(time))
}
