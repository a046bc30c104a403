import { describe, expect, test } from 'bun:test'
import { realmSetHash } from '../../src/domain/sync/realm-set'
import { administrator, as } from '../access/setup'
import { DAY, HOUR, MINUTE } from '../auth/setup'
import { ALICE, BOB, settled, setupHub } from './setup'

const PUBLIC = { realmId: 'rlm-public' }

describe('a client', () => {
  test('hears nothing while it is answered, and nothing of what the answer says (conformance 109)', async () => {
    await using scene = await setupHub()
    const { database, hub } = scene
    const socket = scene.connect(ALICE)
    const other = scene.connect(ALICE, { identity: 'two' })
    const state = await scene.pulled(ALICE)
    socket.ready(state)
    other.ready(state)
    using answering = hub.answering('one', ALICE.id)
    await as(database, ALICE).put('notes', { id: 'own' })
    expect((await other.next()).type).toBe('changes')
    await settled()
    expect(socket.messages).toEqual([])
    const after = await scene.pulled(ALICE)
    const { rev: serverRevision, revision, realms, inviteRealms } = after
    answering.answered({
      serverRevision,
      revision,
      realms,
      inviteRealms,
      tables: new Set(['notes', 'todoItems']),
      texts: '',
    })
    answering[Symbol.dispose]()
    await settled()
    expect(socket.messages).toEqual([])
    await as(database, ALICE).put('notes', { id: 'later' })
    const { baseRev, changes } = await socket.next()
    expect(baseRev).toBe(serverRevision)
    expect(changes?.[0]?.muts).toMatchObject([{ keys: ['later'] }])
  })

  test('with several sockets hears the same on each of them (conformance 112)', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    let state = await scene.pulled(ALICE)
    const [one, other] = [scene.connect(ALICE), scene.connect(ALICE)] as const
    for (const id of ['a', 'b']) {
      one.ready(state)
      other.ready(state)
      await root.put('todoItems', { id, ...PUBLIC })
      const message = await one.next()
      expect(message).toMatchObject({ baseRev: state.rev, changes: [{ muts: [{ keys: [id] }] }] })
      expect(await other.next()).toEqual(message)
      state = { ...state, rev: message.newRev ?? '' }
    }
    one.close()
    other.ready(state)
    await root.put('todoItems', { id: 'c', ...PUBLIC })
    expect((await other.next()).changes).toMatchObject([{ muts: [{ keys: ['c'] }] }])
  })

  test('whose answer lists a realm that was lost meanwhile, or leaves one out, pulls again', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    await root.put('realms', { realmId: 'rlmA', owner: ALICE.id })
    await root.put('members', { id: 'm', realmId: 'rlmA', userId: BOB.id })
    const socket = scene.connect(BOB)
    const state = await scene.pulled(BOB)
    socket.ready(state)
    await settled()
    const answer = async (given: typeof state) => {
      using answering = scene.hub.answering('one', BOB.id)
      await settled()
      const { rev: serverRevision, revision, realms, inviteRealms } = given
      const tables = new Set(['todoItems'])
      answering.answered({ serverRevision, revision, realms, inviteRealms, tables, texts: '' })
      return realmSetHash(realms, inviteRealms)
    }
    await root.remove('members', 'm')
    expect(await socket.next()).toEqual({ type: 'realm-removed', realm: 'rlmA' })
    // The answer was read before the loss.
    const hash = await answer(state)
    socket.ready({ rev: state.rev, realmSetHash: hash })
    expect((await socket.next()).type).toBe('realms-changed')
    // The revision of the client was too old: it fetches its own realm anew.
    const now = await scene.pulled(BOB)
    const without = { ...now, realms: now.realms.filter((realm) => realm !== BOB.id) }
    socket.ready({ rev: now.rev, realmSetHash: await answer(without) })
    expect((await socket.next()).type).toBe('realms-changed')
    socket.ready({ rev: now.rev, realmSetHash: await answer(now) })
    await settled()
    expect(socket.messages).toHaveLength(3)
  })

  test('hears everything again when its request failed', async () => {
    await using scene = await setupHub()
    const socket = scene.connect(ALICE)
    await as(scene.database, ALICE).put('notes', { id: 'first' })
    socket.ready(await scene.pulled(ALICE))
    const answering = scene.hub.answering('one', ALICE.id)
    const second = scene.hub.answering('one', ALICE.id)
    await as(scene.database, ALICE).put('notes', { id: 'own' })
    answering[Symbol.dispose]()
    answering[Symbol.dispose]()
    await settled()
    expect(socket.messages).toEqual([])
    second[Symbol.dispose]()
    expect((await socket.next()).changes?.[0]?.muts).toMatchObject([{ keys: ['own'] }])
  })

  test('that could not apply a message pulls, and is asked again every minute', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const root = administrator(scene.database)
    const { state, socket } = await scene.follow(ALICE)
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    expect((await socket.next()).type).toBe('changes')
    socket.ready(state)
    expect((await socket.next()).type).toBe('realms-changed')
    // Again and again, every minute.
    for (let times = 2; times < 5; times += 1) {
      socket.ready(state)
      hub.tick()
      await settled()
      expect(socket.messages).toHaveLength(times)
      clock.advance(MINUTE)
      hub.tick()
      expect((await socket.next()).type).toBe('realms-changed')
    }
    socket.ready(await scene.pulled(ALICE))
    await root.put('todoItems', { id: 'b', ...PUBLIC })
    expect((await socket.next()).type).toBe('changes')
  })

  test('that ignored a message on an answer it had not received gets it again', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const { state, socket } = await scene.follow(ALICE)
    const answering = scene.hub.answering('one', ALICE.id)
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    const { rev: serverRevision, ...rest } = await scene.pulled(ALICE)
    answering.answered({ serverRevision, tables: new Set(['todoItems']), texts: '', ...rest })
    answering[Symbol.dispose]()
    await root.put('todoItems', { id: 'b', ...PUBLIC })
    expect(await socket.next()).toMatchObject({ type: 'changes', baseRev: serverRevision })
    socket.ready({ ...state, rev: serverRevision })
    expect(await socket.next()).toMatchObject({ type: 'changes', baseRev: serverRevision })
  })

  test('with a revision that was never given out pulls (conformance 117)', async () => {
    await using scene = await setupHub()
    const state = await scene.pulled(ALICE)
    for (const [position, rev] of ['["other","1"]', '["x"]', ''].entries()) {
      const socket = scene.connect(ALICE, { identity: `${position}` })
      socket.ready({ ...state, rev })
      expect(await socket.next()).toEqual({
        type: 'realms-changed',
        realmsHash: state.realmSetHash,
      } as never)
    }
  })

  test('that is behind what was forgotten pulls', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    await root.put('notes', { id: 'n', ...PUBLIC })
    const state = await scene.pulled(ALICE)
    await root.remove('notes', 'n')
    await scene.database.write((tx) => tx.prune('history', Infinity, 10))
    await root.put('notes', { id: 'm', ...PUBLIC })
    const socket = scene.connect(ALICE)
    socket.ready(state)
    expect(await socket.next()).toMatchObject({ type: 'realms-changed' })
    const current = await scene.pulled(ALICE)
    const other = scene.connect(ALICE, { identity: 'two' })
    other.ready(current)
    await root.remove('notes', 'm')
    expect(await other.next()).toMatchObject({ type: 'changes', baseRev: current.rev })
  })

  test('that hears nothing for a day gets the newest revision', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const { state, socket } = await scene.follow(ALICE)
    await as(scene.database, BOB).put('notes', { id: 'n' })
    clock.advance(HOUR)
    hub.tick()
    await settled()
    expect(socket.messages).toEqual([])
    clock.advance(DAY)
    hub.tick()
    const { rev } = await scene.pulled(ALICE)
    expect(await socket.next()).toMatchObject({ baseRev: state.rev, newRev: rev, changes: [] })
  })

  test('that reads slowly gets nothing more until its socket is empty', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    let result = -1
    const socket = scene.connect(ALICE, { send: () => result })
    socket.ready(state)
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    const { newRev = '' } = await socket.next()
    socket.ready({ ...state, rev: newRev })
    socket.say({ type: 'ping' })
    await root.put('todoItems', { id: 'b', ...PUBLIC })
    await settled()
    expect(socket.messages).toHaveLength(1)
    // The text is dropped: it is made again when the socket is empty.
    result = 0
    socket.drained()
    await settled()
    result = 1
    socket.drained()
    expect((await socket.next()).changes?.[0]?.muts).toMatchObject([{ keys: ['b'] }])
  })

  test('that sends too much waits for the next second', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const socket = scene.connect(ALICE)
    for (let count = 0; count < 500; count += 1) socket.say({ type: 'ping' })
    expect(socket.messages).toHaveLength(60)
    socket.ready({ rev: '["other","1"]', realmSetHash: '' })
    await settled()
    expect(socket.messages).toHaveLength(60)
    clock.advance(1000)
    hub.tick()
    await settled()
    expect(socket.messages.at(-1)?.type).toBe('realms-changed')
    for (let count = 0; count < 500; count += 1) socket.say({ type: 'ping' })
    expect(socket.messages).toHaveLength(71)
  })

  test('may send anything without harm', async () => {
    await using scene = await setupHub()
    const socket = scene.connect(ALICE)
    const long = { type: 'ready', rev: 'x'.repeat(5000), realmSetHash: '' }
    for (const text of [null, 1, 'x', [], {}, { type: 'ready' }, { type: 'ready', rev: 1 }, long]) {
      socket.say(text)
    }
    await settled()
    expect(socket.messages).toEqual([])
    expect(scene.reports).toEqual([])
    socket.close()
    expect([...scene.reports, ...socket.messages]).toEqual([])
  })
})
