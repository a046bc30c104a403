import { describe, expect, test } from 'bun:test'
import { administrator, as } from '../access/setup'
import { HOUR, MINUTE } from '../auth/setup'
import { ALICE, BOB, settled, setupHub } from './setup'

const PUBLIC = { realmId: 'rlm-public' }

describe('realms', () => {
  test('that come, are accepted and go are named once (conformance 115)', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const bob = scene.connect(BOB)
    bob.ready(await scene.pulled(BOB))
    await settled()
    await root.put('realms', { realmId: 'rlmA', name: 'A', owner: ALICE.id })
    await root.put('members', { id: 'm', realmId: 'rlmA', email: BOB.email, invite: true })
    expect(await bob.next()).toEqual({ type: 'realm-added', realm: 'rlmA' })
    await root.put('notes', { id: 'hidden', realmId: 'rlmA' })
    bob.ready(await scene.pulled(BOB))
    await settled()
    expect(bob.messages).toHaveLength(1)
    const accepted = { $t: 'Date', v: '2030-01-01T00:00:00.000Z' }
    await as(scene.database, BOB).put('members', {
      id: 'm',
      realmId: 'rlmA',
      email: BOB.email,
      invite: true,
      accepted,
    })
    expect(await bob.next()).toEqual({ type: 'realm-accepted', realm: 'rlmA' })
    bob.ready(await scene.pulled(BOB))
    await root.put('notes', { id: 'seen', realmId: 'rlmA' })
    expect((await bob.next()).changes?.[0]?.muts).toMatchObject([{ keys: ['seen'] }])
    bob.ready(await scene.pulled(BOB))
    await settled()
    await root.remove('members', 'm')
    expect(await bob.next()).toEqual({ type: 'realm-removed', realm: 'rlmA' })
    await root.put('notes', { id: 'later', realmId: 'rlmA' })
    await settled()
    expect(bob.messages).toHaveLength(4)
  })

  test('of an invitation show its realm and the own row', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    await root.put('realms', { realmId: 'rlmA', name: 'A', owner: ALICE.id })
    await root.put('members', { id: 'm', realmId: 'rlmA', email: BOB.email, invite: true })
    const bob = scene.connect(BOB)
    bob.ready(await scene.pulled(BOB))
    await root.put('notes', { id: 'hidden', realmId: 'rlmA' })
    await root.put('members', { id: 'o', realmId: 'rlmA', email: 'carol@example.com' })
    await settled()
    expect(bob.messages).toEqual([])
    await root.put('realms', { realmId: 'rlmA', name: 'B', owner: ALICE.id })
    const { changes } = await bob.next()
    expect(changes).toEqual([
      {
        table: 'realms',
        muts: [{ type: 'update', keys: ['rlmA'], changeSpecs: [{ name: 'B' }] }],
      },
    ])
  })

  test('of an invitation tell the user which own rows are gone, and nothing of others', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const bob = scene.connect(BOB)
    await root.put('realms', { realmId: 'rlmA', name: 'A', owner: ALICE.id })
    for (const id of ['m1', 'm2', 'm3']) {
      await root.put('members', { id, realmId: 'rlmA', email: BOB.email })
    }
    for (const id of ['o1', 'o2']) {
      await root.put('members', { id, realmId: 'rlmA', email: 'carol@example.com' })
    }
    const state = await scene.pulled(BOB)
    await root.remove('members', 'o1')
    await root.put('members', { id: 'o2', realmId: 'rlmA', email: 'dora@example.com' })
    await root.remove('members', 'm1')
    await root.put('members', { id: 'm2', realmId: 'rlmA', email: 'dora@example.com' })
    bob.ready(state)
    expect((await bob.next()).changes).toEqual([
      { table: 'members', muts: [{ type: 'delete', keys: ['m1', 'm2'] }] },
    ])
  })

  test('that the client does not know as the server does are pulled', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready({ ...state, realmSetHash: 'other' })
    expect((await socket.next()).type).toBe('realms-changed')
    socket.ready({ ...state, realmSetHash: 'other' })
    clock.advance(MINUTE - 1)
    hub.tick()
    await settled()
    expect(socket.messages).toHaveLength(1)
    clock.advance(1)
    hub.tick()
    expect((await socket.next()).type).toBe('realms-changed')
  })

  test('of the same id that took the place of another are pulled', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const realm = { realmId: 'rlmA', name: 'A', owner: ALICE.id }
    await root.put('realms', realm)
    const { state, socket: alice } = await scene.follow(ALICE)
    await settled()
    await scene.database.write((tx) => {
      const found = tx.realms.find('rlmA')
      if (found === undefined) throw new Error('no realm')
      tx.realms.markErasing(found.ref)
    })
    await root.put('realms', realm)
    expect((await alice.next()).type).toMatch(/^realm/)
    const reconnected = scene.connect(ALICE)
    reconnected.ready(state)
    expect((await reconnected.next()).type).toBe('realms-changed')
  })
})

describe('a token', () => {
  test('that ends mutes its socket, which is told so every minute (conformance 113)', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const socket = scene.connect(ALICE, { facts: {}, ends: clock.now() + HOUR })
    clock.advance(HOUR - 1)
    hub.tick()
    expect(socket.messages).toEqual([])
    clock.advance(1)
    hub.tick()
    expect(socket.messages).toEqual([{ type: 'token-expired' }])
    const { rev: serverRevision, ...state } = await scene.pulled(ALICE)
    socket.ready({ rev: serverRevision, ...state })
    // A pull of its client, too, is no reason to be told before the minute is over.
    using answering = hub.answering('one', ALICE.id)
    answering.answered({ serverRevision, ...state, tables: new Set(['todoItems']), texts: '' })
    await administrator(scene.database).put('todoItems', { id: 'a', ...PUBLIC })
    await settled()
    hub.tick()
    expect(socket.messages).toHaveLength(1)
    socket.say({ type: 'ping' })
    clock.advance(MINUTE)
    hub.tick()
    expect(socket.messages.slice(1)).toEqual([{ type: 'pong' }, { type: 'token-expired' }])
  })

  test('cannot help a socket whose database is gone: it is muted, and told why', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const ended = scene.connect(ALICE, { facts: {}, ends: clock.now() - 1 })
    const sockets = [scene.connect(ALICE), scene.connect(null), ended]
    sockets[0]?.ready(await scene.pulled(ALICE))
    hub.tick()
    hub.end()
    const error = { type: 'error', error: 'The database no longer exists' }
    for (const socket of sockets) expect(socket.messages.at(-1)).toEqual(error)
    await administrator(scene.database).put('todoItems', { id: 'a', ...PUBLIC })
    await settled()
    expect(sockets[0]?.messages).toHaveLength(1)
    clock.advance(MINUTE)
    hub.tick()
    expect(sockets[0]?.messages).toEqual([error, error])
  })
})
