import { describe, expect, test } from 'bun:test'
import { ALICE, BOB, type Caller, callerOf, objectsOf } from '../http/setup'
import { type Executable, setupExecutable } from '../promises/setup'

/** conformance.md, the users of section (a) and what tokens say of them in section (c). */

interface List {
  readonly data: readonly { readonly userId: string }[]
  readonly hasMore: boolean
  readonly pagingKey?: string
}

async function list(caller: Caller, query: string): Promise<List> {
  const { status, body, text } = await caller.get(`/users?${query}`)
  if (status !== 200) throw new Error(`No list: ${status} ${text}`)
  return body as List
}

const idsOf = ({ data }: List) => data.map(({ userId }) => userId)

const logIn = ({ anyone, client }: Executable, claims: object) =>
  anyone.post('/token', {
    grant_type: 'client_credentials',
    client_id: client.clientId,
    client_secret: client.clientSecret,
    scopes: ['ACCESS_DB'],
    claims,
  })

describe('users', () => {
  test('33: GET /users searches, narrows, sorts and pages', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    await root.post('/users', [
      { userId: ALICE, type: 'prod', data: { displayName: 'Alice Ödegård' } },
      { userId: BOB, type: 'eval', evalDaysLeft: 3 },
      { userId: 'carl', type: 'prod', data: { email: 'carl@odegard.example' }, deactivated: true },
      { userId: 'dora@demo.local', type: 'demo', validUntil: '2099-01-01' },
    ])
    expect(await list(root, '')).toMatchObject({ hasMore: false })
    expect(await list(root, '')).not.toHaveProperty('pagingKey')
    expect(idsOf(await list(root, 'search=ODEGARD'))).toEqual([ALICE, 'carl'])
    expect(idsOf(await list(root, 'active=false'))).toEqual(['carl'])
    expect(idsOf(await list(root, 'type=demo'))).toEqual(['dora@demo.local'])
    expect(idsOf(await list(root, 'sort=displayName&desc'))).toHaveLength(4)
    const first = await list(root, 'sort=created&desc=true&limit=3')
    expect(first.hasMore).toBe(true)
    expect(typeof first.pagingKey).toBe('string')
    const rest = `sort=created&desc=true&limit=3&pagingKey=${first.pagingKey}`
    expect(idsOf(await list(root, rest))).toEqual([ALICE])
    expect((await list(root, 'limit=1000')).data).toHaveLength(4)
  })

  test('34: GET, POST and DELETE of users; unknown properties fail', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    const created = await root.post('/users', [{ userId: BOB, type: 'eval', data: { team: 'x' } }])
    expect(created).toMatchObject({ status: 200, body: [{ userId: BOB, type: 'eval' }] })
    const changed = await root.post('/users', [{ userId: BOB, type: 'prod' }])
    expect(changed).toMatchObject({ status: 200, body: [{ type: 'prod', data: { team: 'x' } }] })
    for (const property of ['color', 'created', 'lastLogin', 'maxAllowedEvalDaysLeft']) {
      const { status } = await root.post('/users', [{ userId: BOB, type: 'eval', [property]: 1 }])
      expect({ property, status }).toEqual({ property, status: 422 })
    }
    expect((await root.get(`/users/${BOB}`)).body).toMatchObject({ userId: BOB, type: 'prod' })
    expect((await root.remove(`/users/${BOB}`)).status).toBe(204)
    expect((await root.get(`/users/${BOB}`)).status).toBe(404)
  })

  test('35: deactivation locks a user out and keeps their data, reactivation lets them in', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    const alice = await executable.as(ALICE)
    await alice.post('/my/plain', { id: 'hers' })
    const set = (deactivated: unknown) => root.post('/users', [{ userId: ALICE, deactivated }])
    expect(await set(true)).toMatchObject({ status: 200 })
    expect((await alice.get('/my/plain')).status).toBe(403)
    expect(objectsOf(await root.get('/all/plain'))).toMatchObject([{ id: 'hers' }])
    expect(await set(null)).toMatchObject({ status: 200, body: [{ deactivated: null }] })
    expect(objectsOf(await alice.get('/my/plain'))).toMatchObject([{ id: 'hers' }])
  })

  test('36: deleting the own account removes private objects and leaves shared ones', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    const alice = await executable.as(ALICE)
    const bob = await executable.as(BOB)
    await alice.post('/my/realms', { realmId: 'rlmTeam', name: 'Team' })
    await root.post('/all/members', { realmId: 'rlmTeam', userId: BOB })
    await alice.post('/my/plain', [{ id: 'private' }, { id: 'shared', realmId: 'rlmTeam' }])
    expect((await alice.remove(`/users/${ALICE}`)).status).toBe(204)
    expect(objectsOf(await root.get('/all/plain'))).toMatchObject([{ id: 'shared' }])
    expect(objectsOf(await bob.get('/my/plain'))).toMatchObject([{ id: 'shared' }])
    // It had no other manager: Bob is one now.
    expect((await bob.post('/my/realms', { realmId: 'rlmTeam', name: 'Ours' })).status).toBe(200)
    expect((await alice.get('/my/plain')).status).toBe(401)
  })
})

describe('claims about users in tokens', () => {
  test('76: when the token ends, in ms, and the address in lower case', async () => {
    await using executable = await setupExecutable()
    const claims = { sub: 'Alice@Example.COM', email: 'Alice@Example.COM', name: 'Alice' }
    const { body } = await logIn(executable, claims)
    expect(body).toMatchObject({ claims: { sub: ALICE, email: ALICE }, userId: ALICE })
    const { accessTokenExpiration } = body as { accessTokenExpiration: number }
    expect(accessTokenExpiration).toBeGreaterThan(Date.now() + 5 * 60_000)
    expect(accessTokenExpiration).toBeLessThan(Date.now() + 2 * 3_600_000)
  })

  test('77: the licence, which is looked at again with every request', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    const claims = { sub: ALICE, email: ALICE, name: 'Alice' }
    const { body } = await logIn(executable, claims)
    expect(body).toMatchObject({ userType: 'prod', claims: { license: 'ok' } })
    const alice = callerOf(executable.main, (body as { accessToken: string }).accessToken)
    await root.post('/users', [{ userId: ALICE, validUntil: '2001-01-01' }])
    expect((await logIn(executable, claims)).body).toMatchObject({
      claims: { license: 'expired' },
      userValidUntil: Date.UTC(2001, 0, 1),
      alerts: [{ type: 'warning', messageCode: 'LICENSE_EXPIRED' }],
    })
    expect((await alice.get('/token/validate')).body).toMatchObject({
      claims: { license: 'expired' },
    })
    expect((await alice.get('/my/plain')).status).toBe(200)
    expect((await alice.post('/my/plain', { id: 'x' })).status).toBe(403)
    await root.post('/users', [{ userId: ALICE, deactivated: true }])
    expect(await logIn(executable, claims)).toMatchObject({
      status: 403,
      body: { code: 'USER_DEACTIVATED' },
    })
    expect((await alice.get('/my/plain')).status).toBe(403)
  })
})
