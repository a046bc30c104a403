import { describe, expect, test } from 'bun:test'
import { requireTable } from '../../src/domain/object/tables'
import { administrator, as } from '../access/setup'
import { until } from '../timing'
import { ALICE, BOB, settled, setupHub } from './setup'

const PUBLIC = { realmId: 'rlm-public' }

describe('changes', () => {
  test('reach a client at once, as what differs from its revision (conformance 107, 111)', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    await root.put('todoItems', { id: 'a', title: 'old', done: false, ...PUBLIC })
    const { state, socket } = await scene.follow(ALICE)
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
    const { state, socket } = await scene.follow(ALICE)
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
    const { socket } = await scene.follow(ALICE)
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
    await database.write((tx) => {
      const client = tx.syncClients.ensure(ALICE.id, 'one', clock.now())
      tx.syncClients.put({ ...client, tables: ['todoItems'] })
    })
    const state = await scene.pulled(ALICE)
    socket.ready(state)
    await root.put('notes', { id: 'n', ...PUBLIC })
    await settled()
    expect(socket.messages).toEqual([])
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    const { changes, newRev = '' } = await socket.next()
    expect(changes?.map(({ table }) => table)).toEqual(['todoItems'])
    await database.write((tx) => {
      tx.tables.put({ ...requireTable(tx, 'todoItems'), hidden: true })
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
    alice?.ready(await scene.pulled(ALICE))
    await root.put('members', { id: 'mA', ...PUBLIC, userId: BOB.id, roles: ['reader'] })
    expect((await alice?.next())?.changes).toEqual([
      { table: 'members', muts: [{ type: 'delete', keys: ['mA'] }] },
    ])
    // He was not told the key of her row.
    expect((await bob?.next())?.changes).toMatchObject([
      { table: 'members', muts: [{ type: 'upsert', keys: ['mA'] }] },
    ])
  })
})
