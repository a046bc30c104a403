import { expect, test } from 'bun:test'
import { administrator, as } from '../access/setup'
import { MINUTE } from '../auth/setup'
import { ALICE, BOB, settled, setupHub } from './setup'

const IN_A = { realmId: 'rlmA' }

test('an observer hears for each commit what every session got of it', async () => {
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
  const deliveries = new Map<string, string>()
  const heard: unknown[] = []
  hub.observe({
    committed: ({ units }) => heard.push(...units.map(({ subject }) => subject)),
    delivered({ client }, delivery, revision) {
      deliveries.set(client.identity, delivery)
      expect(revision).toBeGreaterThan(state.revision)
    },
  })

  old.ready({ ...state, rev: '["x"]' })
  using answering = hub.answering('writer', ALICE.id)
  clock.advance(MINUTE)
  await as(database, ALICE).put('todoItems', { id: 'a', ...IN_A })
  const { rev: serverRevision, ...rest } = await scene.pulled(ALICE)
  answering.answered({ serverRevision, tables: new Set(['todoItems']), texts: '', ...rest })
  await settled()

  expect(heard).toEqual([ALICE.id])
  expect(Object.fromEntries(deliveries)).toEqual({
    ready: 'sent',
    old: 'told-to-pull',
    writer: 'answered',
    bob: 'not-a-member',
    expired: 'token-expired',
  })
})

test('an observer that has left hears nothing', async () => {
  await using scene = await setupHub()
  await scene.follow(ALICE)
  let calls = 0
  scene.hub.observe({ committed: () => (calls += 1), delivered: () => (calls += 1) })
  scene.hub.observe(undefined)
  await administrator(scene.database).put('todoItems', { id: 'a', realmId: 'rlm-public' })
  await settled()
  expect(calls).toBe(0)
})

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
      isFull: false,
    },
    {
      identity: 'two',
      subject: BOB.id,
      phase: 'muted',
      revision: undefined,
      notifiedAt: scene.clock.now(),
      isFull: false,
    },
  ])
  socket.close()
  muted.close()
  expect(listed()).toEqual([])
})
