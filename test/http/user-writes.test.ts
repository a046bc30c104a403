import { describe, expect, test } from 'bun:test'
import { DAY } from '../auth/setup'
import { ALICE, BOB, type Caller, type DataServer, setupData } from './setup'
import { share } from '../setup'

const NOW = '2030-01-01T12:00:00.000Z'
const AN_HOUR_LATER = '2030-01-01T13:00:00.000Z'

interface Shown {
  readonly userId: string
  readonly [name: string]: unknown
}

async function write(caller: Caller, users: unknown): Promise<Shown[]> {
  const { status, body, text } = await caller.post('/users', users)
  if (status !== 200) throw new Error(`Not written: ${status} ${text}`)
  return body as Shown[]
}

async function show({ root }: DataServer, id: string): Promise<Shown | undefined> {
  const { status, body } = await root.get(`/users/${encodeURIComponent(id)}`)
  return status === 200 ? (body as Shown) : undefined
}

describe('POST /users creates', () => {
  test('users, who need an id and a type, and answers what they are now', async () => {
    await using server = await setupData()
    const [ada, bob, carl] = await write(server.root, [
      { userId: 'ada', type: 'prod' },
      {
        userId: 'Bob@Example.COM',
        type: 'eval',
        evalDaysLeft: 7,
        validUntil: '2030-06-01T02:00:00+02:00',
        deactivated: false,
        data: { displayName: 'Bob', email: 'b@example.com', deep: { n: [1, null] } },
      },
      { userId: 'carl', type: 'demo', deactivated: '2029-12-31T00:00:00.000Z', data: null },
    ])
    expect(ada).toEqual({
      userId: 'ada',
      created: NOW,
      updated: NOW,
      lastLogin: null,
      type: 'prod',
      maxAllowedEvalDaysLeft: 30,
      deactivated: null,
      data: null,
    })
    expect(bob).toMatchObject({
      userId: BOB,
      type: 'eval',
      evalDaysLeft: 7,
      validUntil: '2030-06-01T00:00:00.000Z',
      data: { displayName: 'Bob', email: 'b@example.com', deep: { n: [1, null] } },
    })
    expect(carl).toMatchObject({ type: 'demo', deactivated: '2029-12-31T00:00:00.000Z' })
    expect(await show(server, BOB)).toMatchObject({ ...bob })
  })

  test('one user from an object, and none from an empty array', async () => {
    await using server = await setupData()
    const { status, body } = await server.root.post('/users', { userId: 'ada', type: 'prod' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ userId: 'ada' })
    expect(await write(server.root, [])).toEqual([])
  })

  test('evaluations as long as the policy says, and no longer', async () => {
    await using server = await setupData()
    const nothing = { newUsers: null, seats: null, hookUrl: null }
    await server.commands.run('policy.set', { database: 'main', evalDays: 14, ...nothing })
    const [ada] = await write(server.root, [{ userId: 'ada', type: 'eval' }])
    expect(ada).toMatchObject({ evalDaysLeft: 14, maxAllowedEvalDaysLeft: 14 })
    await write(server.root, [{ userId: 'ada', evalDaysLeft: 14 }])
    const { status, body } = await server.root.post('/users', [{ userId: 'ada', evalDaysLeft: 15 }])
    expect(status).toBe(422)
    expect(body).toMatchObject({ reason: '[0].evalDaysLeft' })
  })
})

describe('POST /users changes', () => {
  test('the named properties, and nothing else (conformance 34)', async () => {
    await using server = await setupData()
    const data = { displayName: 'Ada', likes: 'engines' }
    await write(server.root, [{ userId: 'ada', type: 'eval', data }])
    server.clock.advance(60 * 60 * 1000)
    const root = await server.as('zora', ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'])
    const [ada] = await write(root, [{ userId: 'ada', validUntil: '2031-01-01' }])
    expect(ada).toMatchObject({
      created: NOW,
      updated: AN_HOUR_LATER,
      type: 'eval',
      evalDaysLeft: 30,
      validUntil: '2031-01-01T00:00:00.000Z',
      data,
    })
    const [replaced] = await write(root, [
      { userId: 'ada', validUntil: null, data: { displayName: 'A' } },
    ])
    expect(replaced?.['data']).toEqual({ displayName: 'A' })
    expect(replaced).not.toHaveProperty('validUntil')
    expect((await write(root, [{ userId: 'ada', data: null }]))[0]?.['data']).toBeNull()
  })

  test('eval to prod and prod to eval (spec.md §3)', async () => {
    await using server = await setupData()
    const { root, clock } = server
    await write(root, [
      { userId: 'ada', type: 'eval', evalDaysLeft: 10 },
      { userId: 'bob', type: 'prod' },
    ])
    const [ada, bob] = await write(root, [
      { userId: 'ada', type: 'prod' },
      { userId: 'bob', type: 'eval' },
    ])
    expect(ada).toMatchObject({ type: 'prod' })
    // An evaluation begins with a term.
    expect(bob).toMatchObject({ type: 'eval', evalDaysLeft: 30 })
    clock.advance(4 * DAY)
    const later = await server.as('zora', ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE'])
    // To and fro begins no new one; null does.
    expect(await write(later, [{ userId: 'ada', type: 'eval' }])).toMatchObject([
      { type: 'eval', evalDaysLeft: 6 },
    ])
    expect(await write(later, [{ userId: 'ada', evalDaysLeft: null }])).toMatchObject([
      { evalDaysLeft: 30 },
    ])
    expect(await write(later, [{ userId: 'bob', evalDaysLeft: 0 }])).toMatchObject([
      { evalDaysLeft: 0 },
    ])
  })

  test('deactivates and reactivates', async () => {
    await using server = await setupData()
    const { root } = server
    await write(root, [{ userId: 'ada', type: 'prod' }])
    const set = async (deactivated: unknown) =>
      (await write(root, [{ userId: 'ada', deactivated }]))[0]?.['deactivated']
    expect(await set(true)).toBe(NOW)
    server.clock.advance(60 * 1000)
    expect(await set(true)).toBe(NOW)
    expect(await set(null)).toBeNull()
    expect(await set(true)).toBe('2030-01-01T12:01:00.000Z')
    expect(await set(false)).toBeNull()
    expect(await set('2029-05-05T05:05:05Z')).toBe('2029-05-05T05:05:05.000Z')
    expect(await set(undefined)).toBe('2029-05-05T05:05:05.000Z')
  })

  test('in the order of the request, and creates in between', async () => {
    await using server = await setupData()
    const answer = await write(server.root, [
      { userId: 'ada', type: 'eval' },
      { userId: 'bob', type: 'prod' },
      { userId: 'ada', deactivated: true },
      { userId: 'ada', type: 'prod', data: { n: 2 } },
    ])
    expect(answer.map(({ userId }) => userId)).toEqual(['ada', 'bob', 'ada', 'ada'])
    const ada = { type: 'prod', deactivated: NOW, data: { n: 2 } }
    expect(answer).toMatchObject([ada, { type: 'prod' }, ada, ada])
  })

  test('keeps names that mean something to JavaScript as data', async () => {
    await using server = await setupData()
    const body = '[{"userId":"ada","type":"prod","data":{"__proto__":{"x":1},"constructor":2}}]'
    expect((await server.root.post('/users', body)).text).toContain(
      '"data":{"__proto__":{"x":1},"constructor":2}',
    )
    expect(({} as { x?: unknown }).x).toBeUndefined()
    expect((await server.root.get('/users/ada')).text).toContain('"__proto__":{"x":1}')
  })
})

describe('POST /users refuses', () => {
  const shared = share(setupData)

  test.each([
    [{ type: 'prod' }, '[1].userId'],
    [{ userId: '', type: 'prod' }, '[1].userId'],
    [{ userId: 'rlm-x', type: 'prod' }, '[1].userId'],
    [{ userId: '#x', type: 'prod' }, '[1].userId'],
    [{ userId: 5, type: 'prod' }, '[1].userId'],
    [{ userId: 'a\u0000', type: 'prod' }, '[1].userId'],
    [{ userId: 'new' }, '[1].type'],
    [{ userId: 'x', type: 'client' }, '[1].type'],
    [{ userId: 'x', type: null }, '[1].type'],
    [{ userId: 'x', type: ['prod'] }, '[1].type'],
    [{ userId: 'x', type: 'prod', validUntil: 'tomorrow' }, '[1].validUntil'],
    [{ userId: 'x', type: 'prod', validUntil: '2030-01-01T00:00:00' }, '[1].validUntil'],
    [{ userId: 'x', type: 'prod', validUntil: '2030-13-01' }, '[1].validUntil'],
    [{ userId: 'x', type: 'prod', validUntil: 1_900_000_000_000 }, '[1].validUntil'],
    [{ userId: 'x', type: 'prod', validUntil: true }, '[1].validUntil'],
    [{ userId: 'x', type: 'eval', evalDaysLeft: 31 }, '[1].evalDaysLeft'],
    [{ userId: 'x', type: 'eval', evalDaysLeft: -1 }, '[1].evalDaysLeft'],
    [{ userId: 'x', type: 'eval', evalDaysLeft: 1.5 }, '[1].evalDaysLeft'],
    [{ userId: 'x', type: 'eval', evalDaysLeft: '5' }, '[1].evalDaysLeft'],
    [{ userId: 'x', type: 'prod', deactivated: 'yes' }, '[1].deactivated'],
    [{ userId: 'x', type: 'prod', deactivated: 1 }, '[1].deactivated'],
    [{ userId: 'x', type: 'prod', data: 'text' }, '[1].data'],
    [{ userId: 'x', type: 'prod', data: ['list'] }, '[1].data'],
    [{ userId: 'x', type: 'prod', data: { email: 5 } }, '[1].data'],
    [{ userId: 'x', type: 'prod', data: { displayName: {} } }, '[1].data'],
    [{ userId: 'x', type: 'prod', data: { long: 'x'.repeat(70_000) } }, '[1].data'],
    [{ userId: 'x', type: 'prod', created: '2030-01-01' }, '[1].created'],
    [{ userId: 'x', type: 'prod', updated: '2030-01-01' }, '[1].updated'],
    [{ userId: 'x', type: 'prod', lastLogin: null }, '[1].lastLogin'],
    [{ userId: 'x', type: 'prod', maxAllowedEvalDaysLeft: 90 }, '[1].maxAllowedEvalDaysLeft'],
    [{ userId: 'x', type: 'prod', displayName: 'X' }, '[1].displayName'],
    [{ userId: 'x', type: 'prod', incarnation: 1 }, '[1].incarnation'],
    [{ userId: 'x', type: 'prod', constructor: 1 }, '[1].constructor'],
    [{ userId: 'x', type: 'prod', ['y'.repeat(300)]: 1 }, `[1].${'y'.repeat(96)}`],
    [null, '[1]'],
    ['ada', '[1]'],
    [[{ userId: 'x', type: 'prod' }], '[1]'],
  ])('%j, and everything with it', async (user, reason) => {
    const server = shared()
    const { status, body } = await server.root.post('/users', [
      { userId: 'first', type: 'prod' },
      user,
    ])
    expect(status).toBe(422)
    expect(body).toMatchObject({ code: 'UNPROCESSABLE', reason })
    expect(await show(server, 'first')).toBeUndefined()
    expect(await show(server, 'x')).toBeUndefined()
  })

  test('a body that is no array and no object', async () => {
    await using server = await setupData()
    for (const body of ['5', '"ada"', 'null', 'true']) {
      expect((await server.root.post('/users', body)).status).toBe(422)
    }
    expect((await server.root.post('/users', '[')).status).toBe(400)
    const unnamed = await server.root.post('/users', { userId: 'x', type: 'prod', foo: 1 })
    expect(unnamed.body).toMatchObject({ reason: 'foo' })
  })

  test('more users than a unit should hold', async () => {
    await using server = await setupData()
    const users = Array.from({ length: 10_001 }, (_, at) => ({ userId: `u${at}`, type: 'prod' }))
    expect((await server.root.post('/users', users)).status).toBe(413)
  })

  test('a caller without one of the scopes, in the words of spec.md §7', async () => {
    await using server = await setupData()
    const all = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
    const users = [{ userId: 'ada', type: 'prod' }]
    for (const missing of all) {
      const caller = await server.as(
        ALICE,
        all.filter((scope) => scope !== missing),
      )
      const { status, body } = await caller.post('/users', users)
      expect(status).toBe(403)
      expect(body).toMatchObject({
        code: 'NOT_AUTHORIZED',
        message: 'Not authorized',
        reason: `scope ${missing}`,
      })
    }
    expect((await server.anyone.post('/users', users)).status).toBe(401)
    expect(await show(server, 'ada')).toBeUndefined()
  })
})
