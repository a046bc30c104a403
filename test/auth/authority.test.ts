import { describe, expect, test } from 'bun:test'
import { decodeJwt } from 'jose'
import { createAuthority } from '../../src/auth/authority'
import type { Actor } from '../../src/domain/access/actor'
import type { Database } from '../../src/domain/store/store'
import { codeOf, HOUR, MINUTE, setupAuthority, type TestAuthority } from './setup'
import type { User } from '../../src/domain/store/users'

const alice = { sub: 'alice@example.com', email: 'alice@example.com', name: 'Alice' }

function changeUser(server: TestAuthority, changes: Partial<User>): Promise<void> {
  return server.database.write((tx) => {
    const user = tx.users.find(alice.sub)
    tx.users.put({ ...user!, ...changes })
  })
}

function isAtOnce(found: Actor | Promise<Actor>): found is Actor {
  return !(found instanceof Promise)
}

describe('verifying a token', () => {
  test('is done at once after the first time', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({ scopes: ['ACCESS_DB'], claims: alice })
    const first = server.authority.verify(accessToken)
    expect(isAtOnce(first)).toBe(false)
    const actor = await first
    const again = server.authority.verify(accessToken)
    expect(isAtOnce(again)).toBe(true)
    expect(again).toEqual(actor)
  })

  test('says when it was, which what ends by time is judged by', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({ claims: alice })
    const first = await server.authority.verify(accessToken)
    server.clock.advance(MINUTE)
    const second = await server.authority.verify(accessToken)
    expect(second.credential!.verified - first.credential!.verified).toBe(MINUTE)
  })

  test('remembers ten thousand tokens and forgets the oldest', async () => {
    await using server = await setupAuthority()
    const { authority, client } = server
    const order = { clientId: client.clientId, claims: null, scopes: [] }
    const first = (await authority.issue(order)).accessToken
    await authority.verify(first)
    let newest = first
    for (let i = 0; i < 10_000; i++) {
      newest = (await authority.issue(order)).accessToken
      await authority.verify(newest)
    }
    expect(isAtOnce(authority.verify(newest))).toBe(true)
    const again = authority.verify(first)
    expect(isAtOnce(again)).toBe(false)
    await again
  })

  test('does not keep tokens in memory that have expired', async () => {
    await using server = await setupAuthority()
    const order = { clientId: server.client.clientId, claims: null, scopes: [] }
    const verifyNew = async () => {
      const { accessToken } = await server.authority.issue(order)
      const { scopes } = await server.authority.verify(accessToken)
      return new WeakRef(scopes)
    }
    const inMemory = async () => {
      // A reference that was looked at stays until the next turn.
      await Bun.sleep(0)
      Bun.gc(true)
      return kept.filter((scopes) => scopes.deref() !== undefined).length
    }
    const kept: WeakRef<object>[] = []
    for (let i = 0; i < 500; i++) kept.push(await verifyNew())
    expect(await inMemory()).toBeGreaterThan(400)
    server.clock.advance(2 * HOUR)
    await verifyNew()
    expect(await inMemory()).toBeLessThan(100)
  })

  test('fails with the store, not with the token, when the store cannot be read', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({})
    const { database, clock, secretKey } = server
    let isBroken = false
    const failing: Database = {
      ...database,
      read: (work) => (isBroken ? Promise.reject(new Error('no disk')) : database.read(work)),
      [Symbol.asyncDispose]: async () => {},
    }
    await using authority = await createAuthority(failing, clock, secretKey)
    isBroken = true
    expect(async () => authority.verify(accessToken)).toThrow('no disk')
    isBroken = false
    await authority.verify(accessToken)
  })
})

describe('the claims of a token', () => {
  test('are those it carries, with the licence of now', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({ claims: { ...alice, role: 'editor' } })
    expect(await server.authority.claims(accessToken)).toEqual({
      ...decodeJwt(accessToken),
      role: 'editor',
      license: 'ok',
    })
    await changeUser(server, { validUntil: server.clock.now() })
    expect((await server.authority.claims(accessToken))['license']).toBe('expired')
  })

  test('are refused as the token is', async () => {
    await using server = await setupAuthority()
    const { accessToken } = await server.ask({})
    server.clock.advance(HOUR)
    expect(await codeOf(() => server.authority.claims(accessToken))).toBe('INVALID_TOKEN')
    expect(await codeOf(() => server.authority.claims('x'))).toBe('INVALID_TOKEN')
  })
})
