import { describe, expect, test } from 'bun:test'
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { createAuthority } from '../../../src/auth/authority'
import type { Database } from '../../../src/domain/store/store'
import { DAY, MINUTE, refusalOf, setupAuthority, type TestAuthority } from '../setup'

async function states(server: TestAuthority): Promise<Record<string, number>> {
  const keys = await server.database.read((tx) => tx.keys.list())
  const counts: Record<string, number> = {}
  for (const { state } of keys) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

const kidOf = (token: string) => decodeProtectedHeader(token).kid

describe('signing keys', () => {
  test('are made once: one that signs and the next one', async () => {
    await using server = await setupAuthority()
    expect(await states(server)).toEqual({ current: 1, next: 1 })
    const before = await server.database.read((tx) => tx.keys.list())
    await using again = await createAuthority(server.database, server.clock, server.secretKey)
    expect(await server.database.read((tx) => tx.keys.list())).toEqual(before)
    const { accessToken } = await server.ask({})
    await again.verify(accessToken)
  })

  test('of a new database are made at their first use while a server starts', async () => {
    await using server = await setupAuthority()
    const keysOf = async (database: Database) =>
      (await database.read((tx) => tx.keys.list())).length
    const database = await server.store.create('new')
    let isFull = true
    const filling: Database = {
      ...database,
      write: (work) => (isFull ? Promise.reject(new Error('disk full')) : database.write(work)),
    }
    const { clock, secretKey } = server
    await using authority = await createAuthority(filling, clock, secretKey, { hasLazyKeys: true })
    expect(await keysOf(database)).toBe(0)
    expect(authority.keys()).rejects.toThrow('disk full')
    await authority.keys().catch(() => undefined)
    isFull = false
    const published = await Promise.all([authority.keys(), authority.keys()])
    expect(published.map(({ keys }) => keys.length)).toEqual([2, 2])
    expect(await keysOf(database)).toBe(2)
  })

  test('of a database that has some are opened while a server starts', async () => {
    await using server = await setupAuthority()
    const other = new Uint8Array(32).fill(7)
    const { code } = await refusalOf(() =>
      createAuthority(server.database, server.clock, other, { hasLazyKeys: true }),
    )
    expect(code).toBe('STORAGE_FAILED')
  })

  test('lie in the store sealed', async () => {
    await using server = await setupAuthority()
    for (const key of await server.database.read((tx) => tx.keys.list())) {
      expect(key.sealedPrivateKey).toMatch(/^v1\.[\w-]+$/)
      expect(Object.keys(JSON.parse(key.publicKey)).toSorted()).toEqual(['crv', 'kty', 'x', 'y'])
    }
  })

  test('are published without their private part, and verify a token elsewhere', async () => {
    await using server = await setupAuthority()
    const { keys } = await server.authority.keys()
    expect(keys).toHaveLength(2)
    for (const key of keys) {
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
      expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
    }
    const { accessToken } = await server.ask({ claims: { sub: 'alice' } })
    const { payload } = await jwtVerify(accessToken, createLocalJWKSet({ keys }), {
      issuer: `urn:satchel:${server.database.id}`,
      audience: server.database.id,
      typ: 'at+jwt',
      currentDate: new Date(server.clock.now()),
    })
    expect(payload.sub).toBe('alice')
  })
})

describe('rotating the signing keys (promise 16)', () => {
  test('lets the key sign that was published before, at once', async () => {
    await using server = await setupAuthority()
    const published = (await server.authority.keys()).keys.map((key) => key.kid)
    const old = (await server.ask({})).accessToken
    const kid = await server.authority.rotateKeys()
    expect(published).toContain(kid)
    expect(kidOf((await server.ask({})).accessToken)).toBe(kid)
    expect(kidOf(old)).not.toBe(kid)
    expect(await states(server)).toEqual({ current: 1, next: 1, retired: 1 })
    expect((await server.authority.keys()).keys).toHaveLength(3)
  })

  test('keeps old tokens valid to their end, and the key exactly as long as one may need it', async () => {
    await using server = await setupAuthority()
    const longest = { expires_in: '24h', not_before: '24h' }
    const { accessToken } = await server.ask(longest)
    await server.authority.rotateKeys()
    server.clock.advance(2 * DAY - MINUTE)
    await using fresh = await createAuthority(server.database, server.clock, server.secretKey)
    await fresh.verify(accessToken)
    server.clock.advance(2 * MINUTE)
    expect((await server.authority.keys()).keys).toHaveLength(2)
    await server.authority.rotateKeys()
    expect(await states(server)).toEqual({ current: 1, next: 1, retired: 1 })
  })

  test('forgets retired keys at the next start', async () => {
    await using server = await setupAuthority()
    await server.authority.rotateKeys()
    server.clock.advance(3 * DAY)
    await using _ = await createAuthority(server.database, server.clock, server.secretKey)
    expect(await states(server)).toEqual({ current: 1, next: 1 })
  })

  test('is seen by every other holder of the database', async () => {
    await using server = await setupAuthority()
    await using other = await createAuthority(server.database, server.clock, server.secretKey)
    const kid = await server.authority.rotateKeys()
    const order = { clientId: server.client.clientId, claims: null, scopes: [] }
    const { accessToken } = await other.issue(order)
    expect(kidOf(accessToken)).toBe(kid)
    await server.verify(accessToken)
  })
})
