import { expect, test } from 'bun:test'
import { objectsOf } from '../http/setup'
import { setupExecutable } from '../promises/setup'

/** conformance.md 37: what the SDK asks for (protocol.md §14.1, SDK 0.1.0 `data.ts`). */

const ALICE = 'alice@example.com'
const BOB = 'bob@example.com'

test('37: objects are created, listed, read, replaced and deleted by the addresses of the SDK', async () => {
  await using executable = await setupExecutable()
  const [alice, bob] = [await executable.as(ALICE), await executable.as(BOB)]
  const created = await alice.post('/items', {
    country: 'SE',
    due: { $t: 'Date', v: '2030-01-31' },
  })
  expect(created.status).toBe(200)
  const { id } = created.body as { id: string }
  expect(created.body).toEqual({
    country: 'SE',
    due: { $t: 'Date', v: '2030-01-31' },
    id,
    realmId: ALICE,
    owner: ALICE,
  })
  expect(await alice.get(`/items/${id}`)).toMatchObject({ status: 200, text: created.text })
  const replaced = await alice.send('PUT', `/items/${id}`, { body: { country: 'DK' } })
  expect(replaced).toMatchObject({
    status: 200,
    body: { country: 'DK', id, realmId: ALICE, owner: ALICE },
  })
  expect(replaced.body).not.toHaveProperty('due')
  expect(await bob.get(`/items/${id}`)).toMatchObject({ status: 404 })
  expect(await bob.send('PUT', `/items/${id}`, { body: {} })).toMatchObject({ status: 403 })
  expect(objectsOf(await alice.get('/items'))).toEqual([replaced.body as Record<string, unknown>])
  expect((await alice.remove(`/items/${id}`)).status).toBe(204)
  expect((await alice.get(`/items/${id}`)).status).toBe(404)
  expect((await alice.remove(`/items/${id}`)).status).toBe(404)
})

test('37: a list is that of one realm with ?realm=', async () => {
  await using executable = await setupExecutable()
  const [alice, root] = [await executable.as(ALICE), await executable.root()]
  await root.post('/public/items', { id: 'p', country: 'SE' })
  await alice.post('/items', [
    { id: 'a', country: 'SE' },
    { id: 'b', country: 'DK', realm: 'rlm-public' },
  ])
  const idsOf = async (path: string) => objectsOf(await alice.get(path)).map(({ id }) => String(id))
  expect(await idsOf('/items')).toEqual(['p', 'a', 'b'])
  expect(await idsOf('/items?realm=rlm-public')).toEqual(['p'])
  expect(await idsOf(`/items?realm=${encodeURIComponent(ALICE)}`)).toEqual(['a', 'b'])
  expect(await idsOf(`/items?realm=${ALICE}&country=SE`)).toEqual(['a'])
  expect(await idsOf(`/items?realm=rlm-public&realm=${ALICE}&country=DK`)).toEqual(['b'])
  expect(await idsOf('/items?realm=rlm-none')).toEqual([])
  // Elsewhere it is a property like any other.
  expect(await idsOf('/my/items?realm=rlm-public')).toEqual(['b'])
  const { headers } = await alice.get(`/items?realm=${ALICE}&$limit=1`)
  const next = /<(\?[^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''
  expect(await idsOf(`/items${next}`)).toEqual(['b'])
})

test('37: what an address of the database is already is no table', async () => {
  await using executable = await setupExecutable()
  const root = await executable.root()
  expect((await root.get('/users')).body).toMatchObject({ hasMore: false })
  expect((await root.get('/auth-providers')).body).toMatchObject({ providers: [] })
  for (const [method, path, status] of [
    ['GET', '/token', 405],
    ['POST', '/auth-providers', 405],
    ['PUT', '/users/alice', 405],
    ['DELETE', '/my/items', 405],
    ['GET', '/whitelist', 405],
    ['GET', '/changes', 400],
  ] as const) {
    const options = method === 'GET' ? {} : { body: {} }
    expect({ path, status: (await root.send(method, path, options)).status }).toEqual({
      path,
      status,
    })
  }
})
