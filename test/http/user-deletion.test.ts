import { describe, expect, test } from 'bun:test'
import { ALICE, BOB, type Caller, type DataServer, objectsOf, setupData } from './setup'

const ALL = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
const keysOf = async (caller: Caller, path: string) =>
  objectsOf(await caller.get(path)).map(({ id, realmId }) => String(id ?? realmId))

/** Alice with something private, a realm of her own and one that Bob is in. */
async function setupEstate(): Promise<DataServer & { alice: Caller; bob: Caller }> {
  const server = await setupData()
  const { root } = server
  const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
  await alice.post('/my/realms', [
    { realmId: 'rlmDiary', name: 'Diary' },
    { realmId: 'rlmTeam', name: 'Team' },
  ])
  await root.post('/all/members', {
    realmId: 'rlmTeam',
    userId: BOB,
    permissions: { add: ['plain'] },
  })
  await alice.post('/my/plain', [
    { id: 'private' },
    { id: 'diary', realmId: 'rlmDiary' },
    { id: 'shared', realmId: 'rlmTeam' },
  ])
  await alice.post('/my/items', { country: 'SE', tags: ['a', 'b'] })
  await bob.post('/my/plain', { id: 'his' })
  await root.post('/public/plain', { id: 'public' })
  return { ...server, alice, bob }
}

describe('DELETE /users/<userId>', () => {
  test('erases what was private, and leaves what is shared to those who share it', async () => {
    await using server = await setupEstate()
    const { root, bob } = server
    const { status, text, headers } = await root.remove(`/users/${ALICE}`)
    expect({ status, text }).toEqual({ status: 204, text: '' })
    expect(headers.get('cache-control')).toBe('private, no-store')
    for (const method of ['DELETE', 'GET']) {
      const answer = await root.send(method, `/users/${ALICE}`)
      expect(answer).toMatchObject({ status: 404, body: { code: 'UNKNOWN_USER' } })
    }
    expect(await keysOf(root, '/all/plain')).toEqual(['shared', 'his', 'public'])
    expect(await keysOf(root, '/all/items')).toEqual([])
    expect(await keysOf(root, '/all/items?country=SE')).toEqual([])
    expect(objectsOf(await root.get('/all/realms'))).toEqual([
      expect.objectContaining({ realmId: 'rlmTeam', owner: null }),
    ])
    expect(objectsOf(await root.get('/all/members'))).toMatchObject([
      { userId: BOB, permissions: { add: ['plain'], manage: '*' } },
    ])
    expect(await keysOf(bob, '/my/plain')).toEqual(['shared', 'his', 'public'])
    expect((await bob.remove('/my/plain/shared')).status).toBe(204)
  })

  test('leaves no write in progress to the next user with the id', async () => {
    await using server = await setupData()
    const text = 'x'.repeat(2_000)
    for (let round = 0; round < 5; round += 1) {
      const alice = await server.as(ALICE)
      const ids = Array.from({ length: 60 }, (_, n) => `r${round}-${n}`)
      const writes = ids.map(async (id, n) => {
        await Bun.sleep(n % 6)
        if (n % 4 === 0) await alice.send('PUT', `/blob/${id}`, { body: id })
        else if (n % 4 === 1) await alice.send('PUT', `/my/plain/${id}`, { body: { text } })
        else await alice.post('/my/plain', { id, text })
      })
      await Bun.sleep(2)
      expect((await server.root.remove(`/users/${ALICE}`)).status).toBe(204)
      await Promise.all(writes)
      const next = await server.as(ALICE)
      expect(await keysOf(next, '/my/plain')).toEqual([])
      for (const id of ids) expect((await next.send('HEAD', `/blob/1:${id}`)).status).toBe(404)
      expect((await server.root.remove(`/users/${ALICE}`)).status).toBe(204)
    }
  })

  test('is for everybody about themselves, with ACCESS_DB alone (conformance 36)', async () => {
    await using server = await setupEstate()
    const { alice, root } = server
    expect((await alice.remove(`/users/${encodeURIComponent('Alice@Example.com')}`)).status).toBe(
      204,
    )
    expect((await root.get(`/users/${ALICE}`)).status).toBe(404)
    expect((await (await server.as(BOB, [])).remove(`/users/${BOB}`)).status).toBe(403)
  })

  test('of others takes all three scopes, in the words of spec.md §7', async () => {
    await using server = await setupEstate()
    const { root, bob, anyone } = server
    expect((await anyone.remove(`/users/${ALICE}`)).status).toBe(401)
    for (const missing of ALL) {
      const caller = await server.as(
        BOB,
        ALL.filter((scope) => scope !== missing),
      )
      expect(await caller.remove(`/users/${ALICE}`)).toMatchObject({
        status: 403,
        body: { code: 'NOT_AUTHORIZED', message: 'Not authorized', reason: `scope ${missing}` },
      })
    }
    // Whether there is such a user is not for Bob to know.
    expect((await bob.remove('/users/nobody')).status).toBe(403)
    expect((await root.get(`/users/${ALICE}`)).status).toBe(200)
    expect((await (await server.as(BOB, ALL)).remove(`/users/${ALICE}`)).status).toBe(204)
  })

  test('knows no users who are none', async () => {
    await using server = await setupEstate()
    const { root, client } = server
    for (const id of ['nobody', 'rlmTeam', 'rlm-public', '%23x', '%20', client.clientId]) {
      const { status } = await root.remove(`/users/${id}`)
      expect({ id, status }).toEqual({ id, status: 404 })
    }
    expect((await root.remove('/users/%')).status).toBe(400)
    expect((await root.remove('/users')).status).toBe(405)
    expect(objectsOf(await root.get('/all/realms'))).toHaveLength(2)
  })

  test('leaves nothing for a new user with the same id, however it is created', async () => {
    await using server = await setupEstate()
    const { root, bob } = server
    await root.post('/users', [{ userId: ALICE, data: { displayName: 'Alice', note: 'old' } }])
    const before = (await root.get(`/users/${ALICE}`)).body as { created: string }
    server.clock.advance(1_000)
    expect((await root.remove(`/users/${ALICE}`)).status).toBe(204)
    const again = await server.as(ALICE)
    const { body } = await again.get(`/users/${ALICE}`)
    expect(body).toMatchObject({ userId: ALICE, data: { displayName: ALICE, email: ALICE } })
    expect(body).not.toMatchObject({ created: before.created })
    expect(JSON.stringify(body)).not.toContain('old')
    expect(await keysOf(again, '/my/plain')).toEqual(['public'])
    expect(await keysOf(again, '/my/items')).toEqual([])
    expect(await keysOf(again, '/my/realms')).toEqual([])
    expect(await keysOf(again, '/my/members')).toEqual([])
    // The keys of the private objects are free, that of the shared object is not.
    expect((await again.post('/my/plain', { id: 'private' })).status).toBe(200)
    expect((await again.post('/my/plain', { id: 'shared' })).status).toBe(403)
    expect(await keysOf(again, '/my/plain')).toEqual(['public', 'private'])
    // They cannot reach objects that they owned in the team, though the rows still name them.
    expect(objectsOf(await bob.get('/my/plain?id=shared'))).toMatchObject([{ owner: ALICE }])
    expect((await again.remove('/my/plain/shared')).status).toBe(404)
  })
})
