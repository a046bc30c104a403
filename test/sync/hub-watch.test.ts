import { expect, test } from 'bun:test'
import { administrator, as } from '../access/setup'
import { MINUTE } from '../auth/setup'
import { fresh } from '../contract/fixture'
import type { LiveEvent } from '../../src/host/live-event'
import type { Hub } from '../../src/sync/hub'
import { until } from '../timing'
import { ALICE, BOB, settled, setupHub } from './setup'

const IN_A = { realmId: 'rlmA' }

test('a follower hears of each commit, and what every session got of it', async () => {
  await using scene = await setupHub()
  const { database, hub, clock } = scene
  const root = administrator(database)
  await root.put('realms', { ...IN_A, owner: ALICE.id })
  const state = await scene.pulled(ALICE)
  scene.connect(ALICE, { identity: 'ready' }).ready(state)
  const old = scene.connect(ALICE, { identity: 'old' })
  scene.connect(ALICE, { identity: 'writer' }).ready(state)
  scene.connect(BOB, { identity: 'bob' }).ready(await scene.pulled(BOB))
  const ends = clock.now() + 1
  scene.connect(ALICE, { identity: 'expired', ends }).ready(state)
  clock.advance(MINUTE)
  hub.tick()
  await settled()
  using follower = followHub(hub)
  await settled()
  expect(await follower.take(6)).toEqual([
    { kind: 'start', at: clock.now(), revision: state.revision },
    ...['ready', 'old', 'writer', 'bob', 'expired'].map(
      (device) =>
        ({
          kind: 'session',
          at: clock.now(),
          device,
          uid: device === 'bob' ? BOB.id : ALICE.id,
          origin: null,
          state: 'there',
        }) as const,
    ),
  ])

  old.ready({ ...state, rev: '["x"]' })
  await settled()
  using answering = hub.answering('writer', ALICE.id)
  clock.advance(MINUTE)
  await as(database, ALICE).put('todoItems', { id: 'a', ...IN_A })
  const { rev: serverRevision, ...rest } = await scene.pulled(ALICE)
  answering.answered({ serverRevision, tables: new Set(['todoItems']), texts: '', ...rest })
  await settled()

  const [commit, ...heard] = await follower.take(6)
  expect(commit).toEqual({
    kind: 'commit',
    at: clock.now(),
    revision: rest.revision,
    tables: [{ table: 'todoItems', puts: 1, deletes: 0, keys: ['a'] }],
    hasMore: false,
    realms: ['rlmA'],
    records: [],
    writer: { uid: ALICE.id, email: null, client: null, device: null, door: null },
  })
  const outcomes = heard.map((event) => {
    if (event.kind !== 'heard') throw new Error(event.kind)
    expect(event).toMatchObject({ after: state.revision, revision: rest.revision })
    expect(event.afterMs).toBeNumber()
    return [event.device, event.outcome]
  })
  expect(Object.fromEntries(outcomes)).toEqual({
    ready: 'sent',
    old: 'behind',
    writer: 'answered',
    bob: 'not-a-member',
    expired: 'token-expired',
  })
})

test('a client that was told to pull and does so is heard of twice', async () => {
  await using scene = await setupHub()
  const { hub } = scene
  const old = scene.connect(ALICE, { identity: 'old' })
  using follower = followHub(hub)
  await settled()
  await administrator(scene.database).put('todoItems', { id: 'a', realmId: 'rlm-public' })
  const { rev: serverRevision, ...rest } = await scene.pulled(ALICE)
  old.ready({ ...rest, rev: '["x"]' })
  await settled()
  using answering = hub.answering('old', ALICE.id)
  answering.answered({ serverRevision, tables: new Set(['todoItems']), texts: '', ...rest })
  const outcomes = async (count: number) =>
    (await follower.take(count)).flatMap((event) => (event.kind === 'heard' ? [event.outcome] : []))
  await settled()
  // The start, the session and the commit come before them.
  expect(await outcomes(5)).toEqual(['told-to-pull', 'answered'])
  answering.answered({ serverRevision, tables: new Set(['todoItems']), texts: '', ...rest })
  await settled()
  expect(await outcomes(0)).toEqual([])
})

test('a unit is told with its deletions, and with the first of very many objects', async () => {
  await using scene = await setupHub()
  const root = administrator(scene.database)
  const inPublic = { realmId: 'rlm-public' }
  await root.put('todoItems', { id: 'gone', ...inPublic })
  using follower = followHub(scene.hub)
  await settled()
  await follower.take()
  await root.remove('todoItems', 'gone')
  await root.put('realms', { ...IN_A, owner: ALICE.id })
  await root.put('todoItems', { id: 'moved', ...inPublic })
  await settled()
  await follower.take()
  await root.put('todoItems', { id: 'moved', ...IN_A })
  const table = await scene.database.read((tx) => tx.tables.find('todoItems'))
  await scene.database.write((tx) =>
    tx.objects.put(
      table!,
      Array.from({ length: 50 }, (_, n) => fresh(`k${n}`)),
      0,
    ),
  )
  await settled()
  const [moved, many] = commitsOf(await follower.take(2))
  expect(moved?.tables).toEqual([{ table: 'todoItems', puts: 1, deletes: 0, keys: ['moved'] }])
  expect(moved?.realms.toSorted()).toEqual(['rlm-public', 'rlmA'])
  expect(many).toMatchObject({ hasMore: true })
  expect(many?.tables[0]?.keys).toHaveLength(20)
})

test('more commits than a person reads are counted, and told once a second', async () => {
  await using scene = await setupHub()
  const root = administrator(scene.database)
  using follower = followHub(scene.hub)
  await settled()
  await follower.take()
  for (let n = 0; n < 110; n += 1) {
    await root.put('todoItems', { id: `k${n}`, realmId: 'rlm-public' })
  }
  await settled()
  expect(await follower.take(100)).toHaveLength(100)
  scene.hub.tick()
  expect(await follower.take()).toEqual([{ kind: 'missed', count: 10 }])
  await root.put('todoItems', { id: 'a', realmId: 'rlm-public' })
  await settled()
  expect(await follower.take(1)).toHaveLength(1)
})

test('a flood of rejected writes leaves room for commits', async () => {
  await using scene = await setupHub()
  using follower = followHub(scene.hub)
  await settled()
  await follower.take()
  const rejection = {
    subject: null,
    device: null,
    door: 'rest',
    txid: null,
    table: 'todoItems',
    key: 'a',
    code: 'INVALID_TOKEN',
    rule: null,
    message: 'No',
  } as const
  for (let n = 0; n < 200; n += 1) {
    scene.hub.rejected(() => ({ first: [rejection], count: 1 }))
  }
  await administrator(scene.database).put('todoItems', { id: 'b', realmId: 'rlm-public' })
  await settled()
  const told = await follower.take(51)
  expect(told.filter(({ kind }) => kind === 'rejected')).toHaveLength(50)
  expect(commitsOf(told)).toHaveLength(1)
  scene.hub.tick()
  expect(await follower.take()).toEqual([{ kind: 'missed', count: 150 }])
})

test('a rejected write is not looked at while nobody follows', async () => {
  await using scene = await setupHub()
  let looks = 0
  const look = () => {
    looks += 1
    return undefined
  }
  scene.hub.rejected(look)
  expect(looks).toBe(0)
  using follower = followHub(scene.hub)
  scene.hub.rejected(look)
  expect({ looks, isEnded: follower.isEnded }).toEqual({ looks: 1, isEnded: false })
})

test('sockets that open and close are told', async () => {
  await using scene = await setupHub()
  using follower = followHub(scene.hub)
  await settled()
  await follower.take()
  const { socket } = await scene.follow(ALICE)
  socket.close()
  await settled()
  const states = (await follower.take(2)).map((event) =>
    event.kind === 'session' ? `${event.device} ${event.state}` : event.kind,
  )
  expect(states).toEqual(['one opened', 'one closed'])
})

test('a follower that has left hears nothing, and nobody reads for it', async () => {
  await using scene = await setupHub()
  const follower = followHub(scene.hub)
  await settled()
  await follower.take()
  follower[Symbol.dispose]()
  const looks = scene.looks()
  await administrator(scene.database).put('todoItems', { id: 'a', realmId: 'rlm-public' })
  await settled()
  expect(scene.looks()).toBe(looks)
  expect(await follower.take()).toEqual([])
})

test('a database has twenty followers at most, who hear of its end', async () => {
  await using scene = await setupHub()
  using stack = new DisposableStack()
  const followers = Array.from({ length: 20 }, () => stack.use(followHub(scene.hub)))
  expect(() => followHub(scene.hub)).toThrow('At most 20 can follow')
  followers[0]?.[Symbol.dispose]()
  followers.push(stack.use(followHub(scene.hub)))
  scene.hub.end()
  expect(followers.slice(1).map(({ isEnded }) => isEnded)).toEqual(
    followers.slice(1).map(() => true),
  )
})

/** Follows a hub; `take` gives the events since it was called before, at least `count` of them. */
function followHub(hub: Hub) {
  let events: LiveEvent[] = []
  let isEnded = false
  const following = hub.follow({
    take: (event) => void events.push(event),
    ended: () => (isEnded = true),
  })
  return {
    get isEnded() {
      return isEnded
    },
    async take(count = 0) {
      await until(() => events.length >= count)
      // Another follower begins after all that is to be told by now.
      const { promise, resolve } = Promise.withResolvers<LiveEvent>()
      using _ = hub.follow({ take: resolve, ended: () => undefined })
      await promise
      const taken = events
      events = []
      return taken
    },
    [Symbol.dispose]: () => following[Symbol.dispose](),
  }
}

function commitsOf(events: readonly LiveEvent[]) {
  return events.flatMap((event) => (event.kind === 'commit' ? [event] : []))
}

test('the sockets that are open are listed with what their clients have', async () => {
  await using scene = await setupHub()
  const { state, socket } = await scene.follow(ALICE)
  const muted = scene.connect(BOB, { identity: 'two', ends: scene.clock.now() })
  scene.hub.tick()
  await settled()
  const listed = () =>
    Array.from(scene.hub.sessions, (session) => ({
      identity: session.client.identity,
      subject: session.caller?.actor.subject,
      ...session.describe(),
    }))
  expect(listed()).toEqual([
    {
      identity: 'one',
      subject: ALICE.id,
      phase: 'waiting',
      revision: state.rev,
      notifiedAt: 0,
    },
    {
      identity: 'two',
      subject: BOB.id,
      phase: 'muted',
      revision: undefined,
      notifiedAt: scene.clock.now(),
    },
  ])
  socket.close()
  muted.close()
  expect(listed()).toEqual([])
})
