import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import {
  inEveryLife,
  memoryOf,
  NOW,
  type OpenStore,
  refreshToken,
  createDatabase,
  setupDatabase,
} from './fixture'

/** The records of logins with providers: states that are spent, logins that are revoked. */
export function describeLogins(openStore: OpenStore): void {
  describe('the state of a login', () => {
    test('is spent once, even after a restart', async () => {
      await using fixture = await setupDatabase(openStore)
      expect(await spend(fixture.database, 'one')).toBe(true)
      await inEveryLife(fixture, async (database) => {
        expect(await spend(database, 'one')).toBe(false)
      })
      const again = await (await fixture.reopen()).open('main')
      expect(await spend(again, 'two')).toBe(true)
    })

    test('is spent once by a hundred at the same time', async () => {
      await using database = await createDatabase(openStore)
      const spent = await Promise.all(Array.from({ length: 100 }, () => spend(database, 'one')))
      expect(spent.filter(Boolean)).toHaveLength(1)
    })

    test('is not spent by a unit that fails', async () => {
      await using database = await createDatabase(openStore)
      const failing = database.write((tx) => {
        expect(tx.logins.spend('one', NOW)).toBe(true)
        expect(tx.logins.spend('one', NOW)).toBe(false)
        throw new Error('changed my mind')
      })
      expect(await failing.catch(({ message }: Error) => message)).toBe('changed my mind')
      expect(await spend(database, 'one')).toBe(true)
    })

    test('is forgotten when it expired before a time, and not sooner', async () => {
      await using database = await createDatabase(openStore)
      await spend(database, 'old', NOW - 1)
      await spend(database, 'young', NOW)
      await database.write((tx) => tx.prune('logins', NOW, 10))
      expect(await spend(database, 'young')).toBe(false)
      expect(await spend(database, 'old')).toBe(true)
    })

    test('is no policy: remembered values stay', async () => {
      await using database = await createDatabase(openStore)
      const forgets = await memoryOf(database)
      await spend(database, 'one')
      expect(await forgets()).toBe(false)
    })
  })

  describe('a login that is revoked', () => {
    test('stays so, and is no other', async () => {
      await using fixture = await setupDatabase(openStore)
      await revoke(fixture.database, 'one')
      await revoke(fixture.database, 'one')
      await inEveryLife(fixture, async (database) => {
        expect(await isRevoked(database, 'one')).toBe(true)
        expect(await isRevoked(database, 'two')).toBe(false)
      })
    })

    test('is seen by its unit at once, and by others from the commit on', async () => {
      await using database = await createDatabase(openStore)
      await database.writeSteps(async (step) => {
        await step((tx) => {
          tx.logins.revoke('one', NOW)
          expect(tx.logins.isRevoked('one')).toBe(true)
        })
        expect(await isRevoked(database, 'one')).toBe(false)
      })
      expect(await isRevoked(database, 'one')).toBe(true)
    })

    test('changes policy, so that a token that was verified before is checked again', async () => {
      await using database = await createDatabase(openStore)
      const forgets = await memoryOf(database)
      await revoke(database, 'one')
      expect(await forgets()).toBe(true)
    })

    test('is forgotten when it expired before a time, and not sooner', async () => {
      await using database = await createDatabase(openStore)
      await revoke(database, 'old', NOW - 1)
      await revoke(database, 'young', NOW)
      await database.write((tx) => tx.prune('logins', NOW, 10))
      expect(await isRevoked(database, 'old')).toBe(false)
      expect(await isRevoked(database, 'young')).toBe(true)
    })

    test('takes its refresh tokens along and leaves the others', async () => {
      await using fixture = await setupDatabase(openStore)
      await fixture.database.write((tx) => {
        tx.refreshTokens.put(refreshToken('h1', { login: 'one' }))
        tx.refreshTokens.put(refreshToken('h2', { login: 'two' }))
        tx.refreshTokens.put(refreshToken('h3', { login: null }))
        tx.refreshTokens.put(refreshToken('h4', { login: 'one' }))
        tx.refreshTokens.removeOf({ login: 'one' })
      })
      await inEveryLife(fixture, async (database) => {
        const found = await database.read((tx) => {
          const tokens = []
          for (const hash of ['h1', 'h2', 'h3', 'h4']) {
            tokens.push(tx.refreshTokens.find(hash))
          }
          return tokens
        })
        expect(found.map((token) => token?.hash)).toEqual([undefined, 'h2', 'h3', undefined])
        expect(found.map((token) => token?.login)).toEqual([undefined, 'two', null, undefined])
      })
    })
  })
}

function spend(database: Database, state: string, expires = NOW): Promise<boolean> {
  return database.write((tx) => tx.logins.spend(state, expires))
}

function revoke(database: Database, login: string, expires = NOW): Promise<void> {
  return database.write((tx) => tx.logins.revoke(login, expires))
}

async function isRevoked(database: Database, login: string): Promise<boolean> {
  return database.read((tx) => tx.logins.isRevoked(login))
}
