import { describe, expect, test } from 'bun:test'
import { startJob } from '../../src/domain/job/job'
import { requireTable } from '../../src/domain/object/tables'
import { realmSetHash } from '../../src/domain/sync/realm-set'
import { administrator, as } from '../access/setup'
import { DAY, HOUR, MINUTE } from '../auth/setup'
import { byHand } from '../sqlite/by-hand'
import { until } from '../timing'
import { ALICE, BOB, settled, setupHub } from './setup'

const PUBLIC = { realmId: 'rlm-public' }

describe('changes', () => {
  test('reach a client at once, as what differs from its revision (conformance 107, 111)', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    await root.put('todoItems', { id: 'a', title: 'old', done: false, ...PUBLIC })
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
    await settled()
    expect(socket.messages).toEqual([])
    await root.put('todoItems', { id: 'a', title: 'new', done: false, ...PUBLIC })
    const { newRev = '', ...message } = await socket.next()
    expect(message).toEqual({
      type: 'changes',
      baseRev: state.rev,
      realmSetHash: state.realmSetHash,
      changes: [
        {
          table: 'todoItems',
          muts: [{ type: 'update', keys: ['a'], changeSpecs: [{ title: 'new' }] }],
        },
      ],
    })
    expect(newRev).toBe((await scene.pulled(ALICE)).rev)
    socket.ready({ ...state, rev: newRev })
    await root.put('todoItems', { id: 'b', title: 'added', ...PUBLIC })
    const added = await socket.next()
    expect(added).toMatchObject({ baseRev: newRev })
    expect(added.changes?.[0]?.muts).toMatchObject([
      { type: 'upsert', keys: ['b'], values: [{ id: 'b', title: 'added' }] },
    ])
    socket.ready({ ...state, rev: added.newRev ?? '' })
    await root.remove('todoItems', 'a')
    const removed = await socket.next()
    expect(removed.changes).toEqual([
      { table: 'todoItems', muts: [{ type: 'delete', keys: ['a'] }] },
    ])
  })

  test('wait until the client is ready, and come as one message', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    await root.put('todoItems', { id: 'a', title: '1', ...PUBLIC })
    await settled()
    expect(socket.messages).toEqual([])
    socket.ready(state)
    const first = await socket.next()
    for (const title of ['2', '3']) await root.put('todoItems', { id: 'a', title, ...PUBLIC })
    await root.put('notes', { id: 'n', ...PUBLIC })
    await settled()
    expect(socket.messages).toHaveLength(1)
    socket.ready({ ...state, rev: first.newRev ?? '' })
    const second = await socket.next()
    expect(second.changes).toEqual([
      {
        table: 'todoItems',
        muts: [{ type: 'update', keys: ['a'], changeSpecs: [{ title: '3' }] }],
      },
      {
        table: 'notes',
        muts: [
          {
            type: 'upsert',
            keys: ['n'],
            values: [{ id: 'n', realmId: 'rlm-public', owner: null }],
          },
        ],
      },
    ])
    await settled()
    expect(socket.messages).toHaveLength(2)
  })

  test('are not looked up for a socket that is not ready', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    const { newRev = '' } = await socket.next()
    await settled()
    const before = scene.looks()
    for (const id of ['b', 'c']) await root.put('todoItems', { id, ...PUBLIC })
    await settled()
    expect(scene.looks()).toBe(before)
    socket.ready({ ...state, rev: newRev })
    expect((await socket.next()).changes?.[0]?.muts).toMatchObject([{ keys: ['b', 'c'] }])
  })

  test('of rights are told to nobody who is not ready', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    await socket.next()
    await root.put('realms', { realmId: 'rlm-new', owner: ALICE.id })
    await root.put('todoItems', { id: 'b', ...PUBLIC })
    await settled()
    expect(socket.messages).toHaveLength(1)
  })

  test('of a realm with many sockets go to some hundreds of them in one turn', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const sockets = Array.from({ length: 600 }, (_, n) => {
      const socket = scene.connect(ALICE, { identity: `${n}` })
      socket.ready(state)
      return socket
    })
    await settled()
    const before = scene.looks()
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    await until(() => sockets.every(({ messages }) => messages.length === 1))
    expect(scene.looks() - before).toBeGreaterThanOrEqual(3)
  })

  test('of one unit are told together', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const socket = scene.connect(ALICE)
    socket.ready(await scene.pulled(ALICE))
    await settled()
    const ids = Array.from({ length: 500 }, (_, at) => `a${at}`)
    await root.put('todoItems', ...ids.map((id) => ({ id, ...PUBLIC })))
    const { changes = [] } = await socket.next()
    expect(changes.flatMap(({ muts }) => muts.flatMap(({ keys }) => keys))).toHaveLength(500)
  })

  test('leave out rows that were written with the values they had', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    await root.put('notes', { id: 'n', text: 'a', done: true, ...PUBLIC })
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    await root.put('notes', { done: true, text: 'a', ...PUBLIC, id: 'n' })
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    socket.ready(state)
    expect(await socket.next()).toMatchObject({ changes: [{ table: 'todoItems' }] })
  })

  test('do not show what the user may not see', async () => {
    await using scene = await setupHub()
    const { database } = scene
    await as(database, ALICE).put('notes', { id: 'first' })
    const [alice, bob, anyone] = [ALICE, BOB, null].map((person) => scene.connect(person))
    alice?.ready(await scene.pulled(ALICE))
    bob?.ready(await scene.pulled(BOB))
    anyone?.ready(await scene.pulled(null))
    await as(database, ALICE).put('notes', { id: 'second' })
    const message = await alice?.next()
    expect(message?.changes?.[0]?.muts).toMatchObject([{ keys: ['second'] }])
    await settled()
    expect(bob?.messages).toEqual([])
    expect(anyone?.messages).toEqual([])
  })

  test('begin at the revision that a client names, however old it is (conformance 110)', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const states = [await scene.pulled(ALICE)]
    for (const id of ['a', 'b', 'c']) {
      await root.put('todoItems', { id, ...PUBLIC })
      states.push(await scene.pulled(ALICE))
    }
    for (const [position, state] of states.entries()) {
      const socket = scene.connect(ALICE, { identity: `${position}` })
      socket.ready(state)
      const expected = ['a', 'b', 'c'].slice(position)
      if (expected.length === 0) continue
      const { changes } = await socket.next()
      expect(changes?.[0]?.muts.flatMap(({ keys }) => keys)).toEqual(expected)
    }
  })

  test('of an object that moved remove it where it was and add it where it is', async () => {
    await using scene = await setupHub()
    const { database } = scene
    const root = administrator(database)
    await root.put('realms', { realmId: 'rlmA', name: 'A', owner: ALICE.id })
    await root.put('realms', { realmId: 'rlmB', name: 'B', owner: ALICE.id })
    await root.put('members', { id: 'm', realmId: 'rlmA', userId: BOB.id })
    await root.put('notes', { id: 'n', text: 'x', realmId: 'rlmA' })
    const [alice, bob] = [ALICE, BOB].map((person) => scene.connect(person))
    alice?.ready(await scene.pulled(ALICE))
    bob?.ready(await scene.pulled(BOB))
    await root.put('notes', { id: 'n', text: 'x', realmId: 'rlmB' })
    const both = (await alice?.next())?.changes?.flatMap(({ muts }) => muts)
    expect(both?.map(({ type, keys }) => [type, ...keys])).toEqual([
      ['delete', 'n'],
      ['upsert', 'n'],
    ])
    const one = (await bob?.next())?.changes?.flatMap(({ muts }) => muts)
    expect(one).toEqual([{ type: 'delete', keys: ['n'] }])
  })

  test('leave out tables that are hidden, or that the client does not declare', async () => {
    await using scene = await setupHub()
    const { database, clock } = scene
    const root = administrator(database)
    const socket = scene.connect(ALICE)
    await database.write(async (tx) => {
      const client = await tx.syncClients.ensure(ALICE.id, 'one', clock.now())
      await tx.syncClients.put({ ...client, tables: ['todoItems'] })
    })
    const state = await scene.pulled(ALICE)
    socket.ready(state)
    await root.put('notes', { id: 'n', ...PUBLIC })
    await settled()
    expect(socket.messages).toEqual([])
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    const { changes, newRev = '' } = await socket.next()
    expect(changes?.map(({ table }) => table)).toEqual(['todoItems'])
    await database.write(async (tx) => {
      await tx.tables.put({ ...(await requireTable(tx, 'todoItems')), hidden: true })
    })
    socket.ready({ ...state, rev: newRev })
    await settled()
    expect(socket.messages).toHaveLength(1)
  })

  test('show of the members of the public realm the own rows only', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const [alice, bob] = [ALICE, BOB].map((person) => scene.connect(person))
    await root.put('members', { id: 'mA', ...PUBLIC, userId: ALICE.id, roles: ['editor'] })
    alice?.ready(await scene.pulled(ALICE))
    bob?.ready(await scene.pulled(BOB))
    await root.put('members', { id: 'mA', ...PUBLIC, userId: ALICE.id, roles: ['reader'] })
    const { changes } = (await alice?.next()) ?? {}
    expect(changes?.[0]).toMatchObject({
      table: 'members',
      muts: [{ type: 'upsert', keys: ['mA'] }],
    })
    // It may have been an own row of his before.
    const { changes: removed } = (await bob?.next()) ?? {}
    expect(removed).toEqual([{ table: 'members', muts: [{ type: 'delete', keys: ['mA'] }] }])
  })

  test('that a message cannot have are pulled', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    const text = 'x'.repeat(400_000)
    for (const id of ['a', 'b', 'c']) await root.put('todoItems', { id, text, ...PUBLIC })
    socket.ready(state)
    expect((await socket.next()).type).toBe('realms-changed')
  })

  test('that too many slow readers have not taken are pulled by the others', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const slow = Array.from({ length: 40 }, (_, at) =>
      scene.connect(ALICE, { identity: `slow${at}`, send: () => -1 }),
    )
    for (const socket of slow) socket.ready(state)
    await root.put('todoItems', { id: 'a', text: 'x'.repeat(900_000), ...PUBLIC })
    await until(() => slow.every(({ messages }) => messages.length > 0))
    const told = (type: string) => slow.filter(({ messages }) => messages.at(-1)?.type === type)
    // 8 Mi characters may wait.
    expect(told('realms-changed').length).toBe(31)
    for (const socket of told('changes')) socket.close()
    const other = scene.connect(ALICE, { identity: 'other' })
    other.ready(state)
    expect((await other.next()).type).toBe('changes')
  })

  test('that a muted socket has taken at last wait no longer', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const ends = scene.clock.now() + MINUTE
    const slow = Array.from({ length: 9 }, (_, at) =>
      scene.connect(ALICE, { identity: `slow${at}`, ends, send: () => -1 }),
    )
    for (const socket of slow) socket.ready(state)
    await root.put('todoItems', { id: 'a', text: 'x'.repeat(900_000), ...PUBLIC })
    await until(() => slow.every(({ messages }) => messages.length > 0))
    scene.clock.advance(2 * MINUTE)
    scene.hub.tick()
    for (const socket of slow) socket.drained()
    await settled()
    const others = Array.from({ length: 9 }, (_, at) =>
      scene.connect(ALICE, { identity: `other${at}`, send: () => -1 }),
    )
    for (const socket of others) socket.ready(state)
    for (const socket of others) expect((await socket.next()).type).toBe('changes')
  })

  test('of many clients that have to pull are told to some at a time', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const sockets = Array.from({ length: 50 }, (_, at) =>
      scene.connect(ALICE, { identity: `many${at}` }),
    )
    const text = 'x'.repeat(400_000)
    for (const id of ['a', 'b', 'c']) await root.put('todoItems', { id, text, ...PUBLIC })
    let most = 0
    let before = 0
    const told = () => sockets.filter(({ messages }) => messages.length > 0).length
    for (const socket of sockets) socket.ready(state)
    while (before < 50) {
      await Bun.sleep(1)
      const now = told()
      most = Math.max(most, now - before)
      before = now
    }
    expect(most).toBeLessThan(50)
  })

  test('are not pulled by more clients while 64 are being answered', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const answered = Array.from({ length: 64 }, (_, at) => scene.hub.answering(`${at}`, ALICE.id))
    const socket = scene.connect(ALICE, { identity: 'other' })
    const text = 'x'.repeat(400_000)
    for (const id of ['a', 'b', 'c']) await root.put('todoItems', { id, text, ...PUBLIC })
    socket.ready(state)
    await settled()
    scene.hub.tick()
    await settled()
    expect(socket.messages).toEqual([])
    answered[0]?.[Symbol.dispose]()
    expect((await socket.next()).type).toBe('realms-changed')
    answered.push(scene.hub.answering('slow', ALICE.id))
    const late = scene.connect(ALICE, { identity: 'late' })
    late.ready(state)
    await settled()
    expect(late.messages).toEqual([])
    // None of them has come to an end for a minute.
    scene.clock.advance(MINUTE)
    scene.hub.tick()
    expect((await late.next()).type).toBe('realms-changed')
  })

  test('that are damaged are pulled, because only an answer can leave them out', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const socket = scene.connect(ALICE)
    const state = await scene.pulled(ALICE)
    await root.put('todoItems', { id: 'a', title: 'bread', ...PUBLIC })
    expect(byHand(scene.folder, "UPDATE o_4 SET sum = sum + 1 WHERE key = 'a'")).toBe(1)
    socket.ready(state)
    expect((await socket.next()).type).toBe('realms-changed')
    socket.ready(await scene.pulled(ALICE))
    await root.put('todoItems', { id: 'b', ...PUBLIC })
    expect((await socket.next()).type).toBe('changes')
    expect(scene.reports).toEqual([])
  })

  test('of a job come once a second', async () => {
    await using scene = await setupHub()
    const { database, clock, hub } = scene
    const root = administrator(database)
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
    await settled()
    await database.write((tx) => startJob(tx, 'index', {}, clock.now()))
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    await settled()
    expect(socket.messages).toEqual([])
    hub.tick()
    expect((await socket.next()).type).toBe('changes')
  })
})

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
      answering.answered({ serverRevision, revision, realms, inviteRealms, tables })
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
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
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
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
    const answering = scene.hub.answering('one', ALICE.id)
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    const { rev: serverRevision, ...rest } = await scene.pulled(ALICE)
    answering.answered({ serverRevision, tables: new Set(['todoItems']), ...rest })
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
    await scene.database.write((tx) => tx.runs.prune(Infinity, 10))
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
    const state = await scene.pulled(ALICE)
    const socket = scene.connect(ALICE)
    socket.ready(state)
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
    hub.tick()
    await settled()
    expect(socket.messages.at(-1)?.type).toBe('realms-changed')
    clock.advance(1000)
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
    const state = await scene.pulled(ALICE)
    const alice = scene.connect(ALICE)
    alice.ready(state)
    await settled()
    await scene.database.write(async (tx) => {
      const found = await tx.realms.find('rlmA')
      if (found === undefined) throw new Error('no realm')
      await tx.realms.markErasing(found.ref)
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
    socket.ready(await scene.pulled(ALICE))
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
