import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { NOW, type OpenStore, refreshToken, createDatabase, setupDatabase } from './fixture'
import type { RefreshToken } from '../../src/domain/store/credentials'

/** Refresh tokens, and the signatures that were used with them. */
export function describeRefreshTokens(openStore: OpenStore): void {
  describe('refresh tokens', () => {
    test('are found by their hash as they were last put', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const token = refreshToken('h1')
      await putTokens(database, token)
      const used = { ...token, lastUsed: NOW + 5 }
      await putTokens(database, used)
      const again = await (await fixture.reopen()).open('main')
      expect(await again.read((tx) => tx.refreshTokens.find('h1'))).toEqual(used)
      expect(await again.read((tx) => tx.refreshTokens.find('h2'))).toBeUndefined()
    })

    test('remember when a time stamp was used', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => tx.refreshTokens.recordUse('h1', 1_000, NOW))
      await database.write((tx) => tx.refreshTokens.recordUse('h1', 2_000, NOW + 1))
      const useOf = (hash: string, stamp: number) =>
        database.read((tx) => tx.refreshTokens.findUse(hash, stamp))
      expect(await useOf('h1', 1_000)).toBe(NOW)
      expect(await useOf('h1', 2_000)).toBe(NOW + 1)
      expect(await useOf('h1', 3_000)).toBeUndefined()
      expect(await useOf('h2', 1_000)).toBeUndefined()
    })

    test('go with their client', async () => {
      await using database = await createDatabase(openStore)
      await putTokens(
        database,
        refreshToken('h1'),
        refreshToken('h2', { clientId: 'c2' }),
        refreshToken('h3'),
      )
      await database.write((tx) => tx.refreshTokens.removeOf({ clientId: 'c1' }))
      expect(await hashesOf(database)).toEqual(['h2'])
    })

    test('go with the incarnation of their user, and no other', async () => {
      await using database = await createDatabase(openStore)
      await putTokens(
        database,
        refreshToken('h1', { user: 1 }),
        refreshToken('h2', { user: 2 }),
        refreshToken('h3', { user: null }),
      )
      await database.write((tx) => tx.refreshTokens.removeOf({ user: 1 }))
      expect(await hashesOf(database)).toEqual(['h2', 'h3'])
    })

    test('and uses are forgotten when they are older than a time', async () => {
      await using database = await createDatabase(openStore)
      await putTokens(
        database,
        refreshToken('h1', { lastUsed: NOW - 1 }),
        refreshToken('h2', { lastUsed: NOW }),
      )
      await database.write((tx) => {
        tx.refreshTokens.recordUse('h2', 1, NOW - 11)
        tx.refreshTokens.recordUse('h2', 2, NOW - 10)
        expect(tx.prune('refreshTokens', NOW, 10)).toBe(1)
        expect(tx.prune('refreshUses', NOW - 10, 10)).toBe(1)
      })
      expect(await hashesOf(database)).toEqual(['h2'])
      expect(await database.read((tx) => tx.refreshTokens.findUse('h2', 1))).toBeUndefined()
      expect(await database.read((tx) => tx.refreshTokens.findUse('h2', 2))).toBe(NOW - 10)
    })
  })
}

async function putTokens(database: Database, ...tokens: RefreshToken[]): Promise<void> {
  await database.write((tx) => {
    for (const token of tokens) tx.refreshTokens.put(token)
  })
}

async function hashesOf(database: Database): Promise<string[]> {
  return database.read((tx) => {
    const hashes: string[] = []
    for (const hash of ['h1', 'h2', 'h3']) {
      if (tx.refreshTokens.find(hash) !== undefined) hashes.push(hash)
    }
    return hashes
  })
}
