import { describe, expect, test } from 'bun:test'
import { ALICE, BOB, type Caller, setupData } from './setup'

const put = (caller: Caller, path: string, body: unknown, headers = {}) =>
  caller.send('PUT', path, { body, headers })

describe('PUT of an object (protocol.md §14.1)', () => {
  test('creates it, then replaces all of it but realm and owner', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const created = await put(alice, '/my/plain/a', { title: 'x', n: 1 })
    expect(created).toMatchObject({
      status: 200,
      text: `{"title":"x","n":1,"id":"a","realmId":"${ALICE}","owner":"${ALICE}"}`,
    })
    const replaced = await put(alice, '/my/plain/a', { id: 'a', title: 'y' })
    expect(replaced.body).toEqual({ id: 'a', title: 'y', realmId: ALICE, owner: ALICE })
    expect((await alice.get('/my/plain/a')).text).toBe(replaced.text)
    const quiet = await put(alice, '/my/plain/a', {}, { prefer: 'return=minimal' })
    expect(quiet).toMatchObject({ status: 204, text: '' })
    expect((await alice.get('/my/plain/a')).body).toEqual({
      id: 'a',
      realmId: ALICE,
      owner: ALICE,
    })
  })

  test('has the realm of its view', async () => {
    await using server = await setupData()
    const { root } = server
    const missing = await put(root, '/all/plain/a', { n: 1 })
    expect(missing).toMatchObject({ status: 422, body: { reason: 'realmId' } })
    expect((await put(root, '/all/plain/a', { realmId: BOB })).status).toBe(200)
    expect((await put(root, '/public/plain/a', {})).status).toBe(409)
    expect((await put(root, '/public/plain/b', {})).body).toEqual({
      id: 'b',
      realmId: 'rlm-public',
      owner: null,
    })
    const elsewhere = await put(root, '/public/plain/c', { realmId: BOB })
    expect(elsewhere).toMatchObject({ status: 422, body: { reason: 'realmId' } })
  })

  test('takes its key from the address, a compound one in its parts', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const address = `/my/pairs/${encodeURIComponent('["x",1]')}`
    expect((await put(alice, address, { n: 1 })).body).toMatchObject({ a: 'x', b: 1, n: 1 })
    expect((await put(alice, address, { a: 'x', b: 1, n: 2 })).body).toMatchObject({ n: 2 })
    expect((await put(alice, address, { a: 'x', n: 3 })).body).toMatchObject({ b: 1, n: 3 })
    const other = await put(alice, address, { a: 'y', n: 4 })
    expect(other).toMatchObject({ status: 422, body: { code: 'UNPROCESSABLE', reason: 'a' } })
    expect((await alice.get('/my/pairs')).body).toMatchObject([{ n: 3 }])
    expect((await put(alice, '/my/pairs/x', {})).status).toBe(400)
  })

  test('of a key that lies inside a property is told by the object', async () => {
    await using server = await setupData()
    await server.push({ deep: 'at.key' })
    const alice = await server.as(ALICE)
    const missing = await put(alice, '/my/deep/a', { n: 1 })
    expect(missing).toMatchObject({ status: 422, body: { reason: 'at.key' } })
    const stored = await put(alice, '/my/deep/a', { at: { key: 'a' } })
    expect(stored.body).toMatchObject({ at: { key: 'a' } })
    expect(await put(alice, '/my/deep/b', { at: { key: 'a' } })).toMatchObject({ status: 422 })
  })

  test('of a table that makes its keys has the key that its address says', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    expect((await put(alice, '/my/items/own', {})).body).toMatchObject({ id: 'own' })
    expect((await put(alice, '/my/items/own', { id: null })).body).toMatchObject({ id: 'own' })
  })

  test('of a private key is the one of its user', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    for (const [caller, who] of [
      [alice, ALICE],
      [bob, BOB],
    ] as const) {
      const stored = await put(caller, '/my/plain/%23theme', { who })
      expect(stored.body).toEqual({ who, id: `#theme:${who}`, realmId: who, owner: who })
      for (const id of ['#theme', `#theme:${who}`]) {
        expect((await put(caller, '/my/plain/%23theme', { id, who })).status).toBe(200)
      }
      expect((await caller.get('/my/plain/%23theme')).body).toMatchObject({ who })
    }
    const foreign = await put(bob, '/my/plain/%23theme', { id: `#theme:${ALICE}` })
    expect(foreign.status).toBe(422)
    expect((await alice.get('/my/plain/%23theme')).body).toMatchObject({ who: ALICE })
  })

  test('is refused for another key, for a list and for a non-object, and nothing changes', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    await put(alice, '/my/plain/a', { n: 1 })
    for (const [body, status, code] of [
      [{ id: 'b' }, 422, 'UNPROCESSABLE'],
      [{ id: 7 }, 422, 'UNPROCESSABLE'],
      [[{ id: 'a' }], 422, 'UNPROCESSABLE'],
      [[], 422, 'UNPROCESSABLE'],
      [null, 422, 'UNPROCESSABLE'],
      ['text', 400, 'INVALID_REQUEST'],
      ['{"n": 1', 400, 'INVALID_REQUEST'],
    ] as const) {
      const refused = await put(alice, '/my/plain/a', body)
      expect(refused).toMatchObject({ status, body: { code } })
    }
    const type = { 'content-type': 'text/plain' }
    expect((await put(alice, '/my/plain/a', '{}', type)).status).toBe(415)
    expect((await put(alice, '/my/none/a', {})).body).toMatchObject({ code: 'UNKNOWN_TABLE' })
    expect((await alice.get('/my/plain')).body).toMatchObject([{ id: 'a', n: 1 }])
  })

  test('of rows that decide who may do what obeys their rules', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const realm = await put(alice, '/my/realms/rlm-list', { name: 'List' })
    expect(realm.body).toMatchObject({ realmId: 'rlm-list', owner: ALICE })
    const role = `/my/roles/${encodeURIComponent('["rlm-list","doer"]')}`
    expect((await put(alice, role, { permissions: { add: '*' } })).body).toMatchObject({
      realmId: 'rlm-list',
      name: 'doer',
    })
    const member = { realmId: 'rlm-list', email: BOB, roles: ['doer'] }
    expect((await put(alice, '/my/members/mmb1', member)).status).toBe(200)
    expect((await put(bob, role, { permissions: { manage: '*' } })).status).toBe(403)
    expect((await put(bob, '/my/realms/rlm-list', { name: 'Mine' })).status).toBe(403)
    const promoted = { ...member, roles: [], permissions: { manage: '*' } }
    expect((await put(bob, '/my/members/mmb1', promoted)).status).toBe(403)
  })
})
