import { describe, expect, test } from 'bun:test'
import { DAY } from '../../auth/setup'
import { ALICE, type Answer, BOB, type Caller, setupData } from '../setup'
import { share } from '../../setup'

interface User {
  readonly userId: string
  readonly [name: string]: unknown
}

interface List {
  readonly data: readonly User[]
  readonly hasMore: boolean
  readonly pagingKey?: string
}

const NOW = '2030-01-01T12:00:00.000Z'
const GLOBAL = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']

function listOf({ status, body, text }: Answer): List {
  if (status !== 200) throw new Error(`No list: ${status} ${text}`)
  return body as List
}

async function ids(caller: Caller, query = ''): Promise<string[]> {
  return listOf(await caller.get(`/users${query}`)).data.map(({ userId }) => userId)
}

async function setupPeople() {
  const server = await setupData()
  const { status } = await server.root.post('/users', [
    { userId: 'carl@example.com', type: 'prod', data: { displayName: 'Åke Öberg' } },
    { userId: 'ada', type: 'eval', data: { displayName: 'Zoë', email: 'ada@example.com' } },
    { userId: 'dora@demo.local', type: 'demo' },
    { userId: 'bob@example.com', type: 'prod', deactivated: true, data: { displayName: 'bob' } },
    {
      userId: 'eve%_*"@x.y',
      type: 'prod',
      validUntil: '2031-01-01T00:00:00Z',
      data: { displayName: 'Alf' },
    },
  ])
  if (status !== 200) throw new Error('The people could not be written')
  return server
}

describe('GET /users', () => {
  const shared = share(setupPeople)

  test('shows users with everything there is to say of them', async () => {
    await using server = await setupPeople()
    const list = listOf(await server.root.get('/users'))
    expect(list).toEqual({
      hasMore: false,
      data: [
        {
          userId: 'ada',
          created: NOW,
          updated: NOW,
          lastLogin: null,
          type: 'eval',
          evalDaysLeft: 30,
          maxAllowedEvalDaysLeft: 30,
          deactivated: null,
          data: { displayName: 'Zoë', email: 'ada@example.com' },
        },
        {
          userId: 'bob@example.com',
          created: NOW,
          updated: NOW,
          lastLogin: null,
          type: 'prod',
          maxAllowedEvalDaysLeft: 30,
          deactivated: NOW,
          data: { displayName: 'bob' },
        },
        expect.objectContaining({ userId: 'carl@example.com', deactivated: null }),
        expect.objectContaining({ userId: 'dora@demo.local', type: 'demo', data: null }),
        expect.objectContaining({
          userId: 'eve%_*"@x.y',
          validUntil: '2031-01-01T00:00:00.000Z',
        }),
      ],
    })
  })

  test('counts the days of evaluation by the clock of the server, and shows the last login', async () => {
    await using server = await setupPeople()
    server.clock.advance(2.5 * DAY)
    await server.as('ada')
    const admin = await server.as('zora', GLOBAL)
    const ada = { evalDaysLeft: 28, lastLogin: '2030-01-04T00:00:00.000Z', updated: NOW }
    expect((await admin.get('/users/ada')).body).toMatchObject(ada)
    const { data } = listOf(await admin.get('/users?sort=lastLogin&desc&limit=2'))
    expect(data).toMatchObject([{ userId: 'zora' }, { userId: 'ada', ...ada }])
    server.clock.advance(40 * DAY)
    const later = await server.as('zora', GLOBAL)
    expect((await later.get('/users/ada')).body).toMatchObject({ evalDaysLeft: 0 })
  })

  test('searches user id, e-mail and name, without case and accents (conformance 33)', async () => {
    await using server = await setupPeople()
    const found = (search: string) => ids(server.root, `?search=${encodeURIComponent(search)}`)
    expect(await found('oberg')).toEqual(['carl@example.com'])
    expect(await found('ÖBERG')).toEqual(['carl@example.com'])
    expect(await found('ake o')).toEqual(['carl@example.com'])
    expect(await found('zoe')).toEqual(['ada'])
    expect(await found('ada@')).toEqual(['ada'])
    expect(await found('example.com')).toEqual(['ada', 'bob@example.com', 'carl@example.com'])
    expect(await found('o')).toHaveLength(4)
    expect(await found('ob')).toEqual(['bob@example.com', 'carl@example.com'])
    for (const text of ['%', '_', '*', '"', '%_', '_*"', 'e%_*"@']) {
      expect(await found(text)).toEqual(['eve%_*"@x.y'])
    }
    expect(await found('nobody')).toEqual([])
    expect(await found('a%m')).toEqual([])
    expect(await ids(server.root, '?search=')).toHaveLength(5)
    expect(await ids(server.root, '?search=ake+o')).toEqual(['carl@example.com'])
  })

  test('shows the active or the others, or those of a type', async () => {
    await using server = await setupPeople()
    const { root } = server
    expect(await ids(root, '?active=false')).toEqual(['bob@example.com'])
    expect(await ids(root, '?active=true')).toHaveLength(4)
    expect(await ids(root, '?type=demo')).toEqual(['dora@demo.local'])
    expect(await ids(root, '?type=eval&active=true')).toEqual(['ada'])
    expect(await ids(root, '?type=eval&active=false')).toEqual([])
    expect(await ids(root, '?type=prod&search=b&active=false')).toEqual(['bob@example.com'])
  })

  test.each([
    ['', ['ada', 'bob', 'carl', 'dora', 'eve']],
    ['?sort=userId', ['ada', 'bob', 'carl', 'dora', 'eve']],
    ['?desc', ['eve', 'dora', 'carl', 'bob', 'ada']],
    ['?desc=', ['eve', 'dora', 'carl', 'bob', 'ada']],
    ['?desc=true', ['eve', 'dora', 'carl', 'bob', 'ada']],
    ['?desc=false', ['ada', 'bob', 'carl', 'dora', 'eve']],
    // Names without case and accents; users without a name come first.
    ['?sort=displayName', ['dora', 'carl', 'eve', 'bob', 'ada']],
    ['?sort=displayName&desc', ['ada', 'bob', 'eve', 'carl', 'dora']],
    ['?sort=validUntil&desc=true', ['eve', 'bob', 'dora', 'ada', 'carl']],
    ['?sort=evalDaysLeft', ['carl', 'dora', 'bob', 'eve', 'ada']],
    ['?sort=type', ['dora', 'ada', 'carl', 'bob', 'eve']],
    ['?sort=created', ['carl', 'ada', 'dora', 'bob', 'eve']],
    ['?sort=updated&desc', ['eve', 'bob', 'dora', 'ada', 'carl']],
    ['?sort=lastLogin', ['carl', 'ada', 'dora', 'bob', 'eve']],
  ])('%p is in the order %j', async (query, expected) => {
    const found = await ids(shared().root, query)
    expect(found.map((id) => id.split(/[^a-z]/)[0])).toEqual(expected)
  })

  test('comes in pages of at most 1,000, each with the key to the next', async () => {
    await using server = await setupData()
    const people = Array.from({ length: 2_300 }, (_, at) => ({
      userId: `user${String(at).padStart(5, '0')}`,
      type: 'prod',
    }))
    expect((await server.root.post('/users', people)).status).toBe(200)
    const first = listOf(await server.root.get('/users'))
    expect(first.data).toHaveLength(1_000)
    expect(first.hasMore).toBe(true)
    expect(listOf(await server.root.get('/users?limit=5000')).data).toHaveLength(1_000)
    const seen: string[] = []
    let query = '/users?limit=700&sort=created&desc'
    for (;;) {
      const page = listOf(await server.root.get(query))
      seen.push(...page.data.map(({ userId }) => userId))
      expect(page.hasMore).toBe(page.pagingKey !== undefined)
      if (page.pagingKey === undefined) break
      expect(page.pagingKey).toMatch(/^[\w-]+$/)
      query = `/users?limit=700&sort=created&desc&pagingKey=${page.pagingKey}`
    }
    expect(seen).toEqual(people.map(({ userId }) => userId).toReversed())
    // The last page may be full.
    const exact = listOf(await server.root.get('/users?limit=700&search=user01'))
    const rest = listOf(
      await server.root.get(`/users?limit=300&search=user01&pagingKey=${exact.pagingKey}`),
    )
    expect([exact.data.length, rest.data.length, rest.hasMore]).toEqual([700, 300, false])
  })

  test.each([
    ['?limit=0', 'limit'],
    ['?limit=-1', 'limit'],
    ['?limit=1.5', 'limit'],
    ['?limit=', 'limit'],
    ['?limit=ten', 'limit'],
    ['?active=yes', 'active'],
    ['?active', 'active'],
    ['?type=client', 'type'],
    ['?type=', 'type'],
    ['?sort=name', 'sort'],
    ['?sort=', 'sort'],
    ['?desc=no', 'desc'],
    ['?serach=x', 'serach'],
    ['?__proto__=x', '__proto__'],
    ['?type=prod&type=eval', 'type'],
    ['?pagingKey=', 'pagingKey'],
    ['?pagingKey=nonsense', 'pagingKey'],
    ['?pagingKey=WyJ1c2VySWQiLDAsWyJ4Il0sMV0', 'pagingKey'],
    [`?search=${'x'.repeat(1_001)}`, 'search'],
    ['?search=%ff', 'address'],
  ])('refuses %p, naming what is wrong', async (query, named) => {
    const { status, body } = await shared().root.get(`/users${query}`)
    expect(status).toBe(400)
    expect(body).toMatchObject({ code: 'INVALID_REQUEST', message: expect.stringContaining(named) })
  })

  test('answers an invented key, or rejects it', async () => {
    await using server = await setupPeople()
    const values = ['x', '', 1, -1.5, 1e308, '%', "' OR 1=1 --", '\u0000', null, {}, [], true]
    const numbers = [0, -1, 1, 2 ** 53 - 1, 2 ** 53, 1.5, '1', null]
    const forged = [
      ...values.map((value) => JSON.stringify(['userId', 0, value, 1])),
      ...numbers.map((number) => JSON.stringify(['userId', 0, 'a', number])),
      '["userId",0,1e400,1]',
      '["userId",0,"\\ud800",1]',
      '["userId",0,"a"]',
      '["userId",0,"a",1,1]',
      '["created",0,1,1]',
      '{"0":"userId"}',
      '['.repeat(4_000),
      `["userId",0,"${'x'.repeat(5_000)}",1]`,
    ]
    const seen: number[] = []
    for (const json of forged) {
      const key = Buffer.from(json).toString('base64url')
      const { status } = await server.root.get(`/users?pagingKey=${key}`)
      expect({ json, isKnown: [200, 400].includes(status) }).toEqual({ json, isKnown: true })
      seen.push(status)
    }
    expect(seen.filter((status) => status === 400).length).toBeGreaterThan(12)
    // Any key that means a place in the list is valid, even without a user there.
    const beyond = Buffer.from('["userId",0,"b",1]').toString('base64url')
    expect(await ids(server.root, `?pagingKey=${beyond}`)).toHaveLength(4)
  })

  test('takes a key only with the order it was given for', async () => {
    await using server = await setupPeople()
    const { root } = server
    const { pagingKey } = listOf(await root.get('/users?limit=1&sort=created'))
    for (const query of ['', '&sort=updated', '&sort=created&desc']) {
      expect((await root.get(`/users?limit=1${query}&pagingKey=${pagingKey}`)).status).toBe(400)
    }
    expect((await root.get(`/users?sort=created&pagingKey=${pagingKey}`)).status).toBe(200)
  })

  test('needs ACCESS_DB and GLOBAL_READ', async () => {
    await using server = await setupPeople()
    expect((await server.anyone.get('/users')).status).toBe(401)
    for (const scopes of [['ACCESS_DB'], ['GLOBAL_READ'], ['GLOBAL_WRITE', 'ACCESS_DB'], []]) {
      const { status, body } = await (await server.as(ALICE, scopes)).get('/users')
      expect(status).toBe(403)
      expect(body).toMatchObject({ code: 'NOT_AUTHORIZED', message: 'Not authorized' })
    }
    expect((await (await server.as(ALICE, GLOBAL.slice(0, 2))).get('/users')).status).toBe(200)
  })
})

describe('GET /users/<userId>', () => {
  test('shows one user, by an id in any case if it is an e-mail address', async () => {
    await using server = await setupPeople()
    for (const id of ['carl@example.com', 'Carl%40EXAMPLE.com']) {
      expect(await server.root.get(`/users/${id}`)).toMatchObject({
        status: 200,
        body: { userId: 'carl@example.com', type: 'prod', deactivated: null, lastLogin: null },
      })
    }
    const odd = await server.root.get(`/users/${encodeURIComponent('eve%_*"@x.y')}`)
    expect(odd.body).toMatchObject({ userId: 'eve%_*"@x.y' })
    expect(odd.headers.get('cache-control')).toBe('private, no-store')
  })

  test('shows users their own row, and others only with GLOBAL_READ', async () => {
    await using server = await setupPeople()
    const alice = await server.as(ALICE)
    expect((await alice.get(`/users/${ALICE}`)).body).toMatchObject({
      userId: ALICE,
      lastLogin: NOW,
      data: { email: ALICE, displayName: ALICE },
    })
    for (const id of ['ada', 'nobody', BOB]) {
      expect(await alice.get(`/users/${id}`)).toMatchObject({
        status: 403,
        body: { code: 'NOT_AUTHORIZED', message: 'Not authorized', reason: 'scope GLOBAL_READ' },
      })
    }
    expect((await (await server.as(ALICE, [])).get(`/users/${ALICE}`)).status).toBe(403)
    expect((await server.anyone.get(`/users/${ALICE}`)).status).toBe(401)
  })

  test('answers 404 where there is none', async () => {
    await using server = await setupPeople()
    for (const id of ['nobody', 'rlm-public', '%23x', 'ADA', '%20', server.client.clientId]) {
      const { status, body } = await server.root.get(`/users/${id}`)
      expect({ id, status }).toEqual({ id, status: 404 })
      expect(body).toMatchObject({ code: 'UNKNOWN_USER' })
    }
    expect((await server.root.get('/users/%')).status).toBe(400)
    expect((await server.root.send('PUT', '/users/ada')).status).toBe(405)
  })
})
