import { describe, expect, test } from 'bun:test'
import { asClient, DAY } from '../auth/setup'
import { public_key, refreshRequest } from './login-setup'
import { ALICE, type Answer, type Caller, callerOf, type DataServer, setupData } from './setup'

interface Tokens {
  readonly accessToken: string
  readonly refreshToken: string
  readonly claims: { readonly license: string }
  readonly [name: string]: unknown
}

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly 'x-required-scopes'?: readonly string[]
  readonly responses: Readonly<Record<string, { readonly description: string }>>
}

/** Logs Alice in as her application's server does, for a device that holds a key. */
async function logIn({ anyone, client }: DataServer, scopes = ['ACCESS_DB']): Promise<Answer> {
  return await anyone.post('/token', {
    ...asClient(client),
    scopes,
    claims: { sub: ALICE, email: ALICE, name: 'Alice' },
    public_key,
  })
}

async function refresh({ anyone, clock }: DataServer, { refreshToken }: Tokens): Promise<Answer> {
  // No two signatures are of the same moment.
  clock.advance(1)
  return await anyone.post('/token', refreshRequest(refreshToken, clock.now()))
}

async function setupAlice(user: object, scopes?: string[]) {
  const server = await setupData()
  const { status } = await server.root.post('/users', [{ userId: ALICE, ...user }])
  if (status !== 200) throw new Error('Alice could not be made')
  const tokens = (await logIn(server, scopes)).body as Tokens
  const item = { id: 'itm1', country: 'SE' }
  const alice = callerOf(server.main, tokens.accessToken)
  return { ...server, tokens, alice, item }
}

const change = ({ root }: DataServer, fields: object) =>
  root.post('/users', [{ userId: ALICE, ...fields }])

async function expectRefused(answer: Promise<Answer>, code: string): Promise<void> {
  expect(await answer).toMatchObject({ status: 403, body: { code } })
}

describe('a licence that has expired (design.md §4)', () => {
  test('lets its user read and refresh, not write', async () => {
    await using server = await setupAlice({ type: 'prod', validUntil: '2030-01-01T12:00:01Z' })
    const { alice, item, clock, tokens } = server
    expect(tokens).toMatchObject({
      userType: 'prod',
      userValidUntil: Date.UTC(2030, 0, 1, 12, 0, 1),
      claims: { license: 'ok' },
    })
    expect((await alice.post('/my/items', item)).status).toBe(200)
    // The token that was good a moment ago, by the clock alone.
    clock.advance(1_000)
    expect((await alice.get('/my/items/itm1')).status).toBe(200)
    expect((await alice.get('/my/items')).body).toMatchObject([item])
    expect((await alice.get(`/users/${ALICE}`)).status).toBe(200)
    await expectRefused(alice.post('/my/items', { ...item, country: 'DK' }), 'LICENSE_EXPIRED')
    await expectRefused(alice.remove('/my/items/itm1'), 'LICENSE_EXPIRED')
    const validated = await alice.get('/token/validate')
    expect(validated.body).toMatchObject({ valid: true, claims: { license: 'expired' } })
    const refreshed = await refresh(server, tokens)
    expect(refreshed).toMatchObject({
      status: 200,
      body: {
        claims: { license: 'expired' },
        alerts: [{ type: 'warning', messageCode: 'LICENSE_EXPIRED' }],
      },
    })
    const again = callerOf(server.main, (refreshed.body as Tokens).accessToken)
    await expectRefused(again.post('/my/items', item), 'LICENSE_EXPIRED')
    expect((await logIn(server)).body).toMatchObject({ claims: { license: 'expired' } })
  })

  test('is looked at before the body is', async () => {
    await using server = await setupAlice({ type: 'prod', validUntil: '2030-01-01T12:00:00Z' })
    await expectRefused(server.alice.post('/my/items', '{not json'), 'LICENSE_EXPIRED')
    const text = { 'content-type': 'text/plain' }
    await expectRefused(server.alice.post('/my/items', 'x', text), 'LICENSE_EXPIRED')
  })

  test('binds those with all scopes as well', async () => {
    const all = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    await using server = await setupAlice({ type: 'prod', validUntil: '2030-01-01T12:00:00Z' }, all)
    const { alice } = server
    const object = { id: 'x', realmId: 'rlm-public' }
    await expectRefused(alice.post('/all/plain', object), 'LICENSE_EXPIRED')
    await expectRefused(alice.post('/public/plain', object), 'LICENSE_EXPIRED')
    await expectRefused(alice.remove('/public/plain/x'), 'LICENSE_EXPIRED')
    await expectRefused(alice.post('/users', []), 'LICENSE_EXPIRED')
    await expectRefused(alice.remove('/users/somebody'), 'LICENSE_EXPIRED')
    expect((await alice.get('/all/plain')).status).toBe(200)
    expect((await alice.get('/users')).status).toBe(200)
  })

  test('is needed on every way to write that there is', async () => {
    const all = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    await using server = await setupAlice({ type: 'prod', validUntil: '2030-01-01T12:00:00Z' }, all)
    const { paths } = (await callerOf(server.url).get('/openapi/json')).body as Described
    const written: string[] = []
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        if (method === 'get' || operation['x-required-scopes'] === undefined) continue
        // Databases are managed by clients, which have no licence.
        if (/^(?:management|service)$/.test(operation.tags.join())) continue
        const address = path
          .replace('{database}', '')
          .replaceAll(/\{\w+\}/g, 'x')
          .slice(1)
        const sent = method === 'post' ? { body: [] } : {}
        const answer = server.alice.send(method.toUpperCase(), address, sent)
        await expectRefused(answer, 'LICENSE_EXPIRED')
        expect(operation.responses['403']?.description).toContain('LICENSE_EXPIRED')
        written.push(operation.operationId)
      }
    }
    expect(written).toContain('myUpsert')
    expect(written).toContain('publicDelete')
  })

  test('runs again as soon as it is extended, with the same token', async () => {
    await using server = await setupAlice({ type: 'eval', evalDaysLeft: 0 })
    const { alice, item } = server
    await expectRefused(alice.post('/my/items', item), 'LICENSE_EXPIRED')
    await change(server, { evalDaysLeft: 1 })
    expect((await alice.post('/my/items', item)).status).toBe(200)
    await change(server, { evalDaysLeft: 0 })
    await expectRefused(alice.post('/my/items', item), 'LICENSE_EXPIRED')
    await change(server, { type: 'prod' })
    expect((await alice.post('/my/items', item)).status).toBe(200)
  })

  test('of an evaluation ends when its days are over; a deleted user starts a new one', async () => {
    await using server = await setupAlice({ type: 'eval' })
    await server.commands.run('policy.set', { database: 'main', newUsers: 'eval' })
    expect(server.tokens).toMatchObject({ userType: 'eval', evalDaysLeft: 30 })
    server.clock.advance(30 * DAY - 1)
    const last = (await logIn(server)).body as Tokens
    expect(last).toMatchObject({ evalDaysLeft: 1, claims: { license: 'ok' } })
    expect(
      (await callerOf(server.main, last.accessToken).post('/my/items', server.item)).status,
    ).toBe(200)
    server.clock.advance(1)
    const over = (await logIn(server)).body as Tokens
    expect(over).toMatchObject({ evalDaysLeft: 0, claims: { license: 'expired' } })
    const alice = callerOf(server.main, over.accessToken)
    await expectRefused(alice.post('/my/items', server.item), 'LICENSE_EXPIRED')
    expect((await alice.remove(`/users/${ALICE}`)).status).toBe(204)
    const anew = (await logIn(server)).body as Tokens
    expect(anew).toMatchObject({ userType: 'eval', evalDaysLeft: 30, claims: { license: 'ok' } })
    const next = callerOf(server.main, anew.accessToken)
    expect((await next.get('/my/items')).body).toEqual([])
    expect((await next.post('/my/items', server.item)).status).toBe(200)
    expect((await alice.get('/my/items')).status).toBe(401)
  })
})

/** Every way in that a token opens, with what each is answered. */
async function statuses(caller: Caller): Promise<number[]> {
  const answers = [
    await caller.get('/my/items'),
    await caller.get('/my/items/itm1'),
    await caller.get('/public/items'),
    await caller.post('/my/items', { id: 'itm2' }),
    await caller.remove('/my/items/itm2'),
    await caller.get(`/users/${ALICE}`),
    await caller.get('/token/validate'),
  ]
  return answers.map(({ status }) => status)
}

describe('a user who is deactivated (design.md §4)', () => {
  test('is out at once, and in again with the same token and all data (conformance 35)', async () => {
    await using server = await setupAlice({ type: 'prod' })
    const { alice, item, tokens } = server
    await alice.post('/my/items', item)
    expect(new Set(await statuses(alice))).toEqual(new Set([200, 204]))
    await change(server, { deactivated: true })
    expect(new Set(await statuses(alice))).toEqual(new Set([403]))
    expect((await alice.get('/my/items')).body).toMatchObject({ code: 'USER_DEACTIVATED' })
    await expectRefused(alice.remove(`/users/${ALICE}`), 'USER_DEACTIVATED')
    await expectRefused(logIn(server), 'USER_DEACTIVATED')
    const refreshed = await refresh(server, tokens)
    expect(refreshed).toMatchObject({ status: 200, body: { claims: { license: 'deactivated' } } })
    const later = callerOf(server.main, (refreshed.body as Tokens).accessToken)
    expect(new Set(await statuses(later))).toEqual(new Set([403]))
    await change(server, { deactivated: null })
    for (const caller of [alice, later]) {
      expect((await caller.get('/my/items')).body).toMatchObject([item])
      expect(new Set(await statuses(caller))).toEqual(new Set([200, 204]))
    }
    expect((await refresh(server, tokens)).body).toMatchObject({ claims: { license: 'ok' } })
  })
})

describe('a user who is deleted', () => {
  test('is out at once, for good, even if another user gets their id', async () => {
    await using server = await setupAlice({ type: 'prod' })
    const { alice, item, tokens, root } = server
    await alice.post('/my/items', item)
    expect((await root.remove(`/users/${ALICE}`)).status).toBe(204)
    expect(new Set(await statuses(alice))).toEqual(new Set([401]))
    expect((await refresh(server, tokens)).status).toBe(401)
    // In the same millisecond, by any way.
    expect((await change(server, { type: 'prod' })).status).toBe(200)
    expect(new Set(await statuses(alice))).toEqual(new Set([401]))
    expect((await refresh(server, tokens)).status).toBe(401)
    const next = callerOf(server.main, ((await logIn(server)).body as Tokens).accessToken)
    expect((await next.get('/my/items')).body).toEqual([])
    expect(new Set(await statuses(alice))).toEqual(new Set([401]))
  })
})
