import { describe, expect, test } from 'bun:test'
import { operationsOf, type Answer as SyncAnswer } from '../domain/sync/setup'
import { byHand } from '../sqlite/by-hand'
import { ALICE, BOB, type Caller, type DataServer, objectsOf, setupData } from './setup'

/** The number of the table `items`, the first after the built-in ones. */
const ITEMS = 'o_4'

interface Damaged extends DataServer {
  readonly alice: Caller
  readonly bob: Caller
}

/** Two objects of Alice, of which the second is damaged by a change that its checksum does not know. */
async function setupDamaged(change = "value = replace(value, 'bread', 'brood')"): Promise<Damaged> {
  const server = await setupData()
  const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
  await alice.post('/my/items', [
    { id: 'itm1', country: 'DE', title: 'milk' },
    { id: 'itm2', country: 'DE', title: 'bread', tags: ['a', 'b'] },
  ])
  expect(byHand(server.folder, `UPDATE ${ITEMS} SET ${change} WHERE key = 'itm2'`)).toBe(1)
  return { ...server, alice, bob }
}

const REFUSAL = {
  code: 'DAMAGED',
  reason: 'itm2',
  message: expect.stringMatching(/"itm2" of the table "items" is damaged .*satchel verify/),
}

async function verify({ commands }: DataServer, accept = false) {
  return commands.run('verify', { database: 'main', accept })
}

describe('a damaged object', () => {
  test.each([
    ['value', "value = replace(value, 'bread', 'brood')"],
    ['value that is no JSON', 'value = substr(value, 2)'],
    ['realm', 'realm = 1'],
    ['sum', 'sum = sum + 1'],
  ])('with another %s is not shown, and named', async (_, change) => {
    await using server = await setupDamaged(change)
    const { root } = server
    for (const path of ['/all/items/itm2', '/all/items', '/all/items?$limit=5']) {
      const answer = await root.get(path)
      expect(answer).toMatchObject({ status: 500, body: REFUSAL })
      expect(answer.text).not.toContain('bro')
    }
    expect(await root.get('/all/items/itm1')).toMatchObject({ status: 200 })
    expect(await verify(server)).toMatchObject({
      found: 1,
      faults: [{ problem: 'damaged', table: 'items', key: 'itm2' }],
    })
    expect(server.lines.some((line) => line.includes('The checksum of the row is wrong'))).toBe(
      true,
    )
  })

  test.each(['/my/items?country=DE', '/my/items?title=milk', '/my/items'])(
    'is not passed over in %s of its readers, and nothing to others',
    async (path) => {
      await using server = await setupDamaged()
      expect(await server.alice.get(path)).toMatchObject({ status: 500, body: REFUSAL })
      expect(objectsOf(await server.bob.get(path))).toEqual([])
      expect(await server.bob.get('/my/items/itm2')).toMatchObject({ status: 404 })
    },
  )

  test.each(['all', 'my'] as const)('is found again in /%s that was read before', async (view) => {
    await using server = await setupDamaged('sum = sum')
    const reader = view === 'all' ? server.root : server.alice
    const path = `/${view}/items`
    for (const _ of [1, 2]) expect(objectsOf(await reader.get(path))).toHaveLength(2)
    byHand(server.folder, `UPDATE ${ITEMS} SET value = replace(value, 'bread', 'brood')`)
    expect(await reader.get(path)).toMatchObject({ status: 500, body: REFUSAL })
    byHand(server.folder, `UPDATE ${ITEMS} SET value = replace(value, 'brood', 'bread')`)
    expect(objectsOf(await reader.get(path))).toHaveLength(2)
  })

  test('can be replaced by its owner, and leaves nothing behind', async () => {
    await using server = await setupDamaged('value = replace(value, \'"a"\', \'"x"\')')
    const { alice, bob } = server
    expect(await bob.post('/my/items', { id: 'itm2' })).toMatchObject({ status: 403 })
    expect(await alice.post('/my/items', { id: 'itm2', tags: ['c'] })).toMatchObject({
      status: 200,
    })
    expect(objectsOf(await alice.get('/my/items'))).toMatchObject([
      { id: 'itm1' },
      { id: 'itm2', tags: ['c'], realmId: ALICE },
    ])
    expect(await verify(server)).toMatchObject({ found: 0 })
  })

  test('can be deleted by its owner, and leaves nothing behind', async () => {
    await using server = await setupDamaged('value = replace(value, \'"a"\', \'"x"\')')
    expect(await server.bob.remove('/my/items/itm2')).toMatchObject({ status: 404 })
    expect(await server.alice.remove('/my/items/itm2')).toMatchObject({ status: 204 })
    expect(objectsOf(await server.alice.get('/my/items'))).toMatchObject([{ id: 'itm1' }])
    expect(await verify(server)).toMatchObject({ found: 0 })
  })

  test('whose owner is damaged can only be replaced by administrators', async () => {
    await using server = await setupDamaged(`owner = '${BOB}'`)
    for (const [caller, view, status] of [
      [server.bob, 'my', 403],
      [server.root, 'all', 200],
    ] as const) {
      const object = { id: 'itm2', realmId: ALICE, title: 'new' }
      expect(await caller.post(`/${view}/items`, object)).toMatchObject({ status })
    }
    expect(await verify(server)).toMatchObject({ found: 0 })
  })
})

describe('a client that syncs', () => {
  const marked = { markedForSync: true, initiallySynced: true }
  const device = { v: 3, clientIdentity: 'device', schema: { items: marked }, baseRevs: [] }

  async function sync(caller: Caller, more: object = {}) {
    const answer = await caller.post('/sync', { ...device, changes: [], ...more })
    const { serverRevision, realms, inviteRealms } = answer.body as SyncAnswer
    const lastPull = { serverRevision, realms, inviteRealms }
    return { ...answer, operations: operationsOf(answer.body as SyncAnswer), lastPull }
  }

  test.each([
    ['value', "value = replace(value, 'bread', 'brood')"],
    ['realm and value', "realm = 1, value = replace(value, 'bread', 'brood')"],
    // A first sync does not need it.
    ['history', 'entered = entered + 1', ['upsert items itm1', 'upsert items itm2']],
  ])('gets everything but a row whose %s is damaged, and keeps its own copy', async (...given) => {
    const [, change, first = ['upsert items itm1']] = given
    await using server = await setupDamaged('sum = sum')
    const { alice, folder, lines } = server
    const { lastPull, operations } = await sync(alice)
    expect(operations).toEqual(['upsert items itm1', 'upsert items itm2'])
    await alice.post(
      '/my/items',
      ['itm1', 'itm2'].map((id) => ({ id, title: 'bread, twice' })),
    )
    byHand(folder, `UPDATE ${ITEMS} SET ${change} WHERE key = 'itm2'`)
    for (const [state, expected] of [
      [{ lastPull }, ['update items itm1']],
      [{}, first],
    ] as const) {
      const answer = await sync(alice, state)
      expect(answer).toMatchObject({ status: 200, operations: expected })
      expect(answer.text).not.toContain('brood')
      // Afterwards it is in step.
      expect(await sync(alice, { lastPull: answer.lastPull })).toMatchObject({ operations: [] })
    }
    expect(lines.join('\n')).toContain('a client syncs without it')
    expect(await verify(server)).toMatchObject({ faults: [{ table: 'items', key: 'itm2' }] })
    await server.root.post('/all/items', { id: 'itm2', realmId: ALICE, owner: ALICE })
    expect((await sync(alice, { lastPull })).operations).toContain('upsert items itm2')
  })

  test('gets everything but a row that was damaged after others had read it', async () => {
    await using server = await setupDamaged('sum = sum')
    const { alice, folder } = server
    const objects = Array.from({ length: 700 }, (_, n) => ({ id: `more${n}`, title: `Row ${n}` }))
    await alice.post('/my/items', objects)
    for (const _ of [1, 2]) expect((await sync(alice)).operations).toHaveLength(702)
    byHand(folder, `UPDATE ${ITEMS} SET value = replace(value, 'bread', 'brood')`)
    const { operations } = await sync(alice)
    expect(operations).toHaveLength(701)
    expect(operations).not.toContain('upsert items itm2')
    byHand(folder, `UPDATE ${ITEMS} SET value = replace(value, 'brood', 'bread')`)
    expect((await sync(alice)).operations).toHaveLength(702)
  })

  test('that changes a damaged object is not stopped by it', async () => {
    await using server = await setupDamaged()
    const { alice } = server
    const { lastPull } = await sync(alice)
    const common = { userId: ALICE, ts: 1, opNo: 1, rev: 1 }
    const update = (key: string, title: string) => ({
      table: 'items',
      muts: [{ type: 'update', keys: [key], changeSpecs: [{ title }], txid: key, ...common }],
    })
    const changes = [update('itm1', 'oat milk'), update('itm2', 'buns')]
    const answer = await sync(alice, { lastPull, changes })
    expect(answer).toMatchObject({ status: 200, operations: [] })
    expect((await alice.get('/my/items/itm1')).body).toMatchObject({ title: 'oat milk' })
    expect((answer.body as SyncAnswer).rejections).toMatchObject([{ txid: 'itm2' }])
  })
})

describe('a damaged row of members', () => {
  test('gives an error where it is read, and can be replaced and deleted by administrators', async () => {
    await using server = await setupData()
    const { root } = server
    await root.post('/all/realms', { realmId: 'rlm1', owner: ALICE })
    const row = { id: 'mmb1', realmId: 'rlm1', userId: BOB, roles: [] }
    await root.post('/all/members', row)
    byHand(server.folder, "UPDATE o_2 SET value = replace(value, 'bob', 'eve') WHERE key = 'mmb1'")
    expect(await root.get('/all/members')).toMatchObject({ status: 500, body: { code: 'DAMAGED' } })
    expect(await root.post('/all/members', row)).toMatchObject({ status: 200 })
    expect(objectsOf(await root.get('/all/members?id=mmb1'))).toMatchObject([{ userId: BOB }])
    byHand(server.folder, "UPDATE o_2 SET value = replace(value, 'bob', 'eve') WHERE key = 'mmb1'")
    expect(await root.remove('/all/members/mmb1')).toMatchObject({ status: 204 })
    expect(await verify(server)).toMatchObject({ found: 0 })
  })
})

describe('a damaged record', () => {
  test.each([
    ['users', "UPDATE users SET data = replace(data, 'bob', 'eve')", '/users'],
    ['users', 'UPDATE users SET valid_until = 1', '/users'],
    ['clients', 'UPDATE clients SET scopes = \'["ACCESS_DB"]\'', undefined],
  ])('of %s by %p is named', async (table, sql, path) => {
    await using server = await setupData()
    await server.as(BOB)
    expect(byHand(server.folder, sql)).toBeGreaterThan(0)
    if (path !== undefined) {
      const reader = await server.token({ scopes: ['ACCESS_DB', 'GLOBAL_READ', 'MANAGE_DB'] })
      const answer = await fetch(server.main + path, {
        headers: { authorization: `Bearer ${reader}` },
      })
      expect(answer.status).toBe(500)
      expect(await answer.json()).toMatchObject({ code: 'DAMAGED' })
    }
    const { faults } = await verify(server)
    expect(faults.map((fault) => [fault.problem, fault.table])).toContainEqual(['damaged', table])
  })
})
