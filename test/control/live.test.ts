import { expect, test } from 'bun:test'
import { openSession } from '../../src/control/session'
import type { LiveEvent } from '../../src/host/live-event'
import { codeOf } from '../auth/setup'
import { ALICE, type Answer, BOB, setupData } from '../http/setup'
import { until } from '../timing'
import { callerWith, setupOperations } from './setup'

/** Follows a server through its control listener, until it is disposed. */
async function follow(folder: string) {
  const session = await openSession(folder, () => undefined)
  const events: LiveEvent[] = []
  const ending = new AbortController()
  const emit = async (item: unknown) => void events.push(item as LiveEvent)
  const streams = { emit, signal: ending.signal }
  const following = session.run('live.follow', { database: 'main' }, streams)
  following.catch(() => undefined)
  await until(() => events.length > 0)
  return {
    events,
    following,
    of: <Kind extends LiveEvent['kind']>(kind: Kind) =>
      events.filter((event): event is Extract<LiveEvent, { kind: Kind }> => event.kind === kind),
    async [Symbol.asyncDispose]() {
      ending.abort()
      await session[Symbol.asyncDispose]()
    },
  }
}

test('a follower of a server hears what is written, by whom and through which door', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  await using follower = await follow(server.folder)
  await alice.post('/my/plain', { id: 'a', title: 'One' })
  await server.root.post('/all/plain', { id: 'b', realmId: 'rlm-public' })
  await until(() => follower.of('commit').length === 2)
  const [own, shared] = follower.of('commit')
  const tables = [{ table: 'plain', puts: 1, deletes: 0, keys: ['a'] }]
  const writer = { uid: ALICE, client: null, device: null, door: 'rest' }
  expect(own).toMatchObject({ tables, realms: [ALICE], writer })
  expect(shared).toMatchObject({ writer: { uid: null, client: server.client.clientId } })
})

test('a rejected change is told with its code, rule and sentence, and its device', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const bob = await server.as(BOB)
  await server.root.post('/all/realms', { realmId: 'rlmA', owner: ALICE })
  await server.root.post('/all/members', { id: 'mbrB', realmId: 'rlmA', userId: BOB })
  await alice.post('/my/plain', { id: 'a', realmId: 'rlmA', title: 'of Alice' })
  await using follower = await follow(server.folder)
  const update = {
    type: 'update',
    txid: 't1',
    userId: BOB,
    ts: Date.parse('2030-01-01T12:00:01Z'),
    rev: 1,
    keys: ['a'],
    changeSpecs: [{ title: '<b>' }],
  }
  const marked = { markedForSync: true, initiallySynced: true }
  const answer = await bob.post('/sync', {
    v: 3,
    clientIdentity: 'phone',
    schema: { plain: marked },
    changes: [{ table: 'plain', muts: [update] }],
  })
  expect(answer.status).toBe(200)
  await until(() => follower.of('rejected').length === 1)
  expect(follower.of('rejected')).toEqual([
    {
      kind: 'rejected',
      at: server.clock.now(),
      writer: { uid: BOB, email: BOB, client: null, device: 'phone', door: 'sync' },
      table: 'plain',
      key: 'a',
      code: 'NOT_AUTHORIZED',
      rule: 'update plain.title',
      txid: 't1',
      message: expect.stringContaining('Not authorized'),
    },
  ])
})

test('a write that REST rejects is told with its author, row, code and sentence', async () => {
  await using server = await setupData({ maxBody: 2 ** 16 })
  const { root } = server
  const bob = await server.as(BOB)
  await root.post('/all/realms', { realmId: 'rlmA', owner: ALICE })
  await root.post('/all/members', { id: 'mbrB', realmId: 'rlmA', userId: BOB })
  await root.post('/all/plain', { id: 'a', realmId: 'rlmA', owner: ALICE })
  await using follower = await follow(server.folder)
  const into = { realmId: 'rlmA' }
  const rejected = async (answer: Promise<Answer>, status: number, expected: object) => {
    const count = follower.of('rejected').length
    expect((await answer).status).toBe(status)
    await until(() => follower.of('rejected').length > count)
    const { writer, table, key, code, rule, message } = follower.of('rejected').at(-1)!
    const { uid, client } = writer
    expect({ by: uid ?? client, table, key, code, rule }).toMatchObject(expected)
    expect(message).not.toBe('')
  }
  const add = { by: BOB, table: 'plain', key: 'b', code: 'NOT_AUTHORIZED', rule: 'add plain' }
  await rejected(bob.post('/my/plain', { id: 'b', ...into }), 403, add)
  await rejected(bob.send('PUT', '/my/plain/b', { body: into }), 403, add)
  // In the router, by the short address.
  await rejected(bob.post('/plain', { id: 'b', ...into }), 403, add)
  const many = [{ id: 'c' }, { id: 'b', ...into }]
  await rejected(bob.post('/my/plain', many), 403, add)
  await rejected(bob.remove('/my/plain/a'), 403, { key: 'a', rule: 'manage plain' })
  await rejected(bob.remove('/my/plain/none'), 404, { key: 'none', code: 'UNKNOWN_OBJECT' })
  await rejected(root.post('/all/plain', { id: 'b' }), 422, {
    by: server.client.clientId,
    key: 'b',
    rule: 'realmId',
  })
  await rejected(bob.post('/my/none', {}), 404, { table: 'none', key: null })
  await rejected(bob.post('/all/plain', {}), 403, { by: BOB, table: 'plain' })
  const large = { id: 'd', text: 'x'.repeat(2 ** 17) }
  await rejected(bob.post('/my/plain', large), 413, { code: 'PAYLOAD_TOO_LARGE' })
})

test('nobody hears of reads that are refused, nor of a sync that its client repeats by itself', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  await using follower = await follow(server.folder)
  await alice.get('/my/none')
  await fetch(`${server.main}/sync`, { method: 'POST', headers: { authorization: 'Bearer x' } })
  await alice.post('/sync', { v: 3 })
  await until(() => follower.of('rejected').length > 0)
  expect(follower.of('rejected')).toMatchObject([
    { writer: { uid: ALICE, door: 'sync' }, table: null, key: null, code: 'INVALID_REQUEST' },
  ])
})

test('following ends with the database', async () => {
  await using server = await setupData()
  await using follower = await follow(server.folder)
  await using session = await openSession(server.folder, () => undefined)
  await session.run('db.delete', { database: 'main', hard: true })
  expect(await follower.following).toEqual({})
})

test('there is nothing to follow without a server, nor for callers who may not read', async () => {
  await using server = await setupOperations()
  expect(await codeOf(() => server.run('live.follow'))).toBe('UNPROCESSABLE')
  const follows = () => server.run('live.follow', {}, callerWith('ACCESS_DB'))
  expect(await codeOf(follows)).toBe('NOT_AUTHORIZED')
})
