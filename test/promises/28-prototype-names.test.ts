import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { ALICE, type Caller, setupData } from '../http/setup'

/**
 * Promise 28: `__proto__`, `constructor`, `prototype` and the names of Object are data: they come
 * back as they went and pollute nothing; equal names have one defined outcome, the last one
 * (CVE-2017-12635).
 */

const NAMES = ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty']
const MORE = ['__defineGetter__', '__lookupSetter__', 'isPrototypeOf', 'then', 'toJSON', 'length']

/** The prototype of all objects has no new property. */
function expectClean(): void {
  const plain: Record<string, unknown> = {}
  for (const name of ['x', 'polluted', 'isAdmin', 'scopes', 'realmId', 'owner', 'status']) {
    expect(plain[name]).toBeUndefined()
  }
  expect(Object.keys(Object.prototype)).toEqual([])
  expect(Object.keys(Array.prototype)).toEqual([])
}

const names = fc.constantFrom(...NAMES, ...MORE, 'x', 'polluted', 'isAdmin', 'owner2')

/** JSON text in which the names above come at every depth, some of them twice. */
const { json } = fc.letrec<{ json: string; object: string }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom('1', 'null', '"text"', 'true', '"polluted"'),
    tie('object'),
    fc.array(tie('json'), { maxLength: 3 }).map((parts) => `[${parts.join(',')}]`),
  ),
  object: fc
    .array(fc.tuple(names, tie('json')), { maxLength: 4 })
    .map(
      (pairs) => `{${pairs.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`,
    ),
}))

const members = fc.array(fc.tuple(names, json), { minLength: 1, maxLength: 5 })

async function roundTrip(alice: Caller, id: string, pairs: [string, string][]): Promise<void> {
  const rest = pairs.map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')
  const body = `{"id":"${id}",${rest}}`
  const own = JSON.stringify({ realmId: ALICE, owner: ALICE }).slice(1)
  const expected = `${JSON.stringify(JSON.parse(body)).slice(0, -1)},${own}`
  const posted = await alice.send('POST', '/my/plain', { body })
  expect(posted.text).toBe(expected)
  expect((await alice.get(`/my/plain/${id}`)).text).toBe(expected)
  expectClean()
}

/** More with SATCHEL_RUNS=10000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 250)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 28)

test('promise 28: such names come back as they went, in objects of any shape', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  let count = 0
  await fc.assert(
    fc.asyncProperty(members, (pairs) => roundTrip(alice, `k${(count += 1)}`, pairs)),
    { numRuns: RUNS, seed: SEED },
  )
})

test('promise 28: such names as keys, tables, databases, realms, owners and filters', async () => {
  await using server = await setupData()
  const { root } = server
  for (const name of [...NAMES, ...MORE]) {
    expect((await root.get(`/all/${name}`)).status).toBe(404)
    expect((await root.get(`/all/plain/${name}`)).status).toBe(404)
    expect((await root.get(`/all/plain?${name}=x&${name}.${name}=x`)).text).toBe('[]')
    expect((await root.get(`/all/plain?realmId=${name}`)).text).toBe('[]')
    expect([404, 400]).toContain((await fetch(`${server.url}/${name}/public/plain`)).status)
    const object = { id: name, realmId: 'rlm-public', owner: name }
    expect((await root.post('/all/plain', object)).body).toEqual(object)
    expect((await root.get(`/all/plain/${name}`)).body).toEqual(object)
    expect((await root.remove(`/all/plain/${name}`)).status).toBe(204)
    expectClean()
  }
  await server.push(JSON.parse(`{${NAMES.map((name) => `"${name}":"id"`).join()}}`))
  const [alice, bob] = [await server.as(ALICE), await server.as('bob@example.com')]
  for (const name of NAMES) {
    const realm = { realmId: `rlm${name}`, name }
    expect((await alice.post('/my/realms', realm)).status).toBe(200)
    const object = { id: name, realmId: realm.realmId, owner: ALICE }
    expect((await alice.post(`/my/${name}`, object)).body).toEqual(object)
    expect((await bob.get(`/my/${name}/${name}`)).status).toBe(404)
    expect((await bob.post(`/my/${name}`, { id: name })).status).toBe(403)
    expect((await alice.remove(`/my/${name}/${name}`)).status).toBe(204)
  }
  const person = await server.as('__proto__')
  const stored = await person.post('/my/plain', { id: 'a' })
  expect(stored.body).toMatchObject({ realmId: '__proto__', owner: '__proto__' })
  expect((await person.get('/my/plain')).body).toBeArrayOfSize(1)
  expectClean()
})

test('promise 28: such names in rows that decide who may do what grant nothing', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const bob = await server.as('bob@example.com')
  const { body } = await alice.post('/my/realms', { name: 'List' })
  const { realmId } = body as { realmId: string }
  await alice.post('/my/plain', { id: 'a', realmId, title: 'x' })
  const permissions = JSON.parse(
    '{"__proto__":{"manage":"*"},"update":{"__proto__":"*","constructor":["*"]}}',
  ) as object
  const roles = ['__proto__', 'constructor', 'toString']
  const member = { realmId, userId: 'bob@example.com', permissions, roles }
  expect([200, 422]).toContain((await server.root.post('/all/members', member)).status)
  await server.root.post('/all/members', { realmId, userId: 'bob@example.com', roles })
  expect((await bob.get('/my/plain/a')).status).toBe(200)
  expect((await bob.post('/my/plain', { id: 'a', title: 'y' })).status).toBe(403)
  expect((await bob.post('/my/plain', { id: 'a', title: 'x', toString: 1 })).status).toBe(403)
  expect((await bob.remove('/my/plain/a')).status).toBe(403)
  expectClean()
})

test('promise 28: such names in a token request', async () => {
  await using server = await setupData()
  const { clientId, clientSecret } = server.client
  const base =
    `"grant_type":"client_credentials","client_id":"${clientId}",` +
    `"client_secret":"${clientSecret}","scopes":["ACCESS_DB"]`
  for (const extra of [
    '"__proto__":{"scopes":["GLOBAL_READ"]}',
    '"constructor":{"prototype":{"scopes":["GLOBAL_READ"]}}',
    '"claims":{"sub":"a","__proto__":{"scopes":["GLOBAL_WRITE"]}}',
    '"claims":{"sub":"a","constructor":"x","toString":"y"}',
    '"claims":{"sub":"__proto__"}',
  ]) {
    const body = `{${base},${extra}}`
    const answer = await server.anyone.send('POST', '/token', { body })
    expect([200, 400]).toContain(answer.status)
    if (answer.status === 200) expect(answer.body).toMatchObject({ scope: 'ACCESS_DB' })
    expectClean()
  }
  const twice = `{${base},"scopes":["GLOBAL_READ"],"scopes":["ACCESS_DB"]}`
  const answer = await server.anyone.send('POST', '/token', { body: twice })
  expect(answer.body).toMatchObject({ scope: 'ACCESS_DB' })
})
