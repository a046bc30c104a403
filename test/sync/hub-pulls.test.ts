import { describe, expect, test } from 'bun:test'
import { startJob } from '../../src/domain/job/job'
import { administrator } from '../access/setup'
import { MINUTE } from '../auth/setup'
import { byHand } from '../sqlite/by-hand'
import { until } from '../timing'
import { ALICE, settled, setupHub } from './setup'

const PUBLIC = { realmId: 'rlm-public' }

describe('changes', () => {
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

  test('are pulled while 64 are being answered of which one waits for others of its caller', async () => {
    await using scene = await setupHub()
    const root = administrator(scene.database)
    const state = await scene.pulled(ALICE)
    const answered = Array.from({ length: 64 }, (_, at) => scene.hub.answering(`${at}`, ALICE.id))
    const text = 'x'.repeat(400_000)
    for (const id of ['a', 'b', 'c']) await root.put('todoItems', { id, text, ...PUBLIC })
    const connect = async (identity: string) => {
      const socket = scene.connect(ALICE, { identity })
      socket.ready(state)
      await settled()
      return socket
    }
    const socket = await connect('one')
    expect(socket.messages).toEqual([])
    const comeBack = answered[0]?.stepAside()
    expect((await socket.next()).type).toBe('realms-changed')
    comeBack?.()
    expect((await connect('another')).messages).toEqual([])
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
    const { socket } = await scene.follow(ALICE)
    await settled()
    await database.write((tx) => startJob(tx, 'index', {}, clock.now()))
    await root.put('todoItems', { id: 'a', ...PUBLIC })
    await settled()
    expect(socket.messages).toEqual([])
    hub.tick()
    expect((await socket.next()).type).toBe('changes')
  })
})
