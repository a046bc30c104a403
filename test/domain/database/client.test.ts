import { describe, expect, test } from 'bun:test'
import {
  authenticateClient,
  authorizeClient,
  type ClientCredentials,
  connectClient,
  createClient,
  findClient,
  revokeClient,
  revokeClientsOf,
  rotateClient,
} from '../../../src/domain/database/client'
import { hashSecret } from '../../../src/domain/value/secret'
import { SCOPES, type Scope } from '../../../src/domain/value/scope'
import { codeOf, DAY, setupStore } from '../../auth/setup'

async function setupClients() {
  const base = await setupStore()
  const { clock } = base
  const database = await base.store.create('main')
  return {
    ...base,
    database,
    create: (...scopes: Scope[]) =>
      database.write((tx) => createClient(tx, clock, { scopes, name: 'a name' })),
    revoke: (id: string) => database.write((tx) => revokeClient(tx, id)),
    rotate: (id: string, days?: number) =>
      database.write((tx) => rotateClient(tx, clock, id, days)),
    login: (credentials: ClientCredentials) =>
      database.read((tx) => authenticateClient(tx, credentials, clock.now())),
    find: (id: string) => database.read((tx) => findClient(tx, id)),
  }
}

describe('a client', () => {
  test('is made with an id and a secret of URL-safe characters', async () => {
    await using clients = await setupClients()
    const { clientId, clientSecret } = await clients.create('ACCESS_DB')
    expect(clientId).toMatch(/^c[\w-]{22}$/)
    expect(clientSecret).toMatch(/^[\w-]{43}$/)
  })

  test('is kept with the hash of its secret only, and scopes in one order', async () => {
    await using clients = await setupClients()
    const { clientId, clientSecret } = await clients.create('GLOBAL_READ', 'ACCESS_DB')
    expect(await clients.find(clientId)).toEqual({
      id: clientId,
      secretHash: hashSecret(clientSecret),
      scopes: ['ACCESS_DB', 'GLOBAL_READ'],
      name: 'a name',
      created: clients.clock.now(),
      expires: null,
      email: null,
    })
  })
})

describe('revoking', () => {
  test('does not count a client whose key is running out', async () => {
    await using clients = await setupClients()
    const first = await clients.create(...SCOPES)
    const second = await clients.rotate(first.clientId)
    expect(await codeOf(() => clients.revoke(second.clientId))).toBe('CONFLICT')
    await clients.revoke(first.clientId)
  })
})

describe('rotating', () => {
  test('gives a new id and secret with the same scopes and name', async () => {
    await using clients = await setupClients()
    const old = await clients.create('ACCESS_DB', 'IMPERSONATE')
    const rotation = await clients.rotate(old.clientId)
    expect(rotation.clientId).not.toBe(old.clientId)
    expect(rotation.clientSecret).not.toBe(old.clientSecret)
    expect(rotation.oldClientId).toBe(old.clientId)
    expect(rotation.oldClientExpiresAt).toBe(clients.clock.now() + 7 * DAY)
    const { scopes, name } = await clients.login(rotation)
    expect({ scopes, name }).toEqual({ scopes: ['ACCESS_DB', 'IMPERSONATE'], name: 'a name' })
  })

  test('never lengthens the life of a key that is running out', async () => {
    await using clients = await setupClients()
    const old = await clients.create('ACCESS_DB')
    const first = await clients.rotate(old.clientId, 1)
    const second = await clients.rotate(old.clientId, 30)
    expect(second.oldClientExpiresAt).toBe(first.oldClientExpiresAt)
  })

  test('refuses an unknown client, one that has expired, and impossible days', async () => {
    await using clients = await setupClients()
    const { clientId } = await clients.create('ACCESS_DB')
    expect(await codeOf(() => clients.rotate('cNobody'))).toBe('UNKNOWN_CLIENT')
    for (const days of [-1, 366, Number.NaN, Infinity]) {
      expect(await codeOf(() => clients.rotate(clientId, days))).toBe('UNPROCESSABLE')
    }
    await clients.rotate(clientId, 0)
    expect(await codeOf(() => clients.rotate(clientId))).toBe('CLIENT_EXPIRED')
  })
})

describe('a client whose owner has not fetched its key', () => {
  const BOB = 'bob@example.com'

  test('opens nothing, whatever secret is given, and can only be revoked', async () => {
    await using clients = await setupClients()
    const { database, clock } = clients
    await clients.create(...SCOPES)
    const clientId = await database.write((tx) => authorizeClient(tx, clock, BOB, SCOPES))
    for (const clientSecret of ['', 'x', hashSecret('')]) {
      expect(await codeOf(() => clients.login({ clientId, clientSecret }))).toBe('INVALID_CLIENT')
    }
    expect(await codeOf(() => clients.rotate(clientId))).toBe('CONFLICT')
    await clients.revoke(clientId)
    expect(await clients.find(clientId)).toBeUndefined()
  })

  test('is no last client with all scopes until its key is fetched', async () => {
    await using clients = await setupClients()
    const { database, clock } = clients
    const { clientId } = await clients.create(...SCOPES)
    await database.write((tx) => authorizeClient(tx, clock, 'Bob@Example.com', SCOPES))
    expect(await codeOf(() => clients.revoke(clientId))).toBe('CONFLICT')
    const connect = (requirePending: boolean) =>
      database.write((tx) => connectClient(tx, clock, BOB, requirePending))
    const key = await connect(true)
    expect((await clients.login(key)).scopes).toEqual(SCOPES)
    expect(await codeOf(() => connect(true))).toBe('NOT_AUTHORIZED')
    // Its secret is not known any more: another device gets a client of its own.
    const second = await connect(false)
    expect(second.clientId).not.toBe(key.clientId)
    await clients.login(key)
    await clients.revoke(clientId)
    // All or none are revoked.
    const revokeAll = () => database.write((tx) => revokeClientsOf(tx, BOB))
    expect(await codeOf(revokeAll)).toBe('CONFLICT')
    await clients.login(second)
  })
})
