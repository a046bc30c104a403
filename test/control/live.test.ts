import { expect, test } from 'bun:test'
import { openSession } from '../../src/control/session'
import type { LiveEvent } from '../../src/host/live-event'
import { codeOf } from '../auth/setup'
import { ALICE, BOB, setupData } from '../http/setup'
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
      writer: { uid: BOB, email: null, client: null, device: 'phone', door: 'sync' },
      table: 'plain',
      key: 'a',
      code: 'NOT_AUTHORIZED',
      rule: 'update plain.title',
      txid: 't1',
      message: expect.stringContaining('Not authorized'),
    },
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
