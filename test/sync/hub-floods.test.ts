import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import { FIXED_LIMITS } from '../../src/domain/value/fixed-limits'
import { createGate } from '../../src/sync/gate'
import { createTestClock, MINUTE, SECOND } from '../auth/setup'
import { ALICE, settled, setupHub } from './setup'

const JUNK = 'x'.repeat(15)
const PING = JSON.stringify({ type: 'ping' })
const VISITOR = { identity: 'one', network: '192.0.2.1' }
const ANYONE = { ...VISITOR, user: null }

describe('a client that sends more than it may', () => {
  test('has its excess texts dropped, is told to pull when it is done, and stays connected', async () => {
    await using scene = await setupHub()
    const { clock, hub } = scene
    const { state, socket } = await scene.follow(ALICE)
    await settled()
    for (let n = 0; n < 10_000; n += 1) socket.flood(PING)
    expect(socket.messages.filter(({ type }) => type === 'pong').length).toBeWithin(1, 61)
    const answered = socket.messages.length
    // Its `ready` is dropped too: nothing that is sent may be parsed.
    socket.ready(state)
    hub.tick()
    expect(socket.messages).toHaveLength(answered)
    clock.advance(SECOND)
    hub.tick()
    hub.tick()
    expect(socket.messages.slice(answered)).toMatchObject([{ type: 'realms-changed' }])
    expect(socket.isCut).toBe(false)
    clock.advance(10 * SECOND)
    hub.tick()
    expect(socket.messages).toHaveLength(answered + 1)
    socket.say({ type: 'ping' })
    expect(socket.messages.at(-1)).toEqual({ type: 'pong' })
  })

  test('is not told to pull for binary frames, of which the server knows none', async () => {
    await using scene = await setupHub()
    const { socket } = await scene.follow(ALICE)
    await settled()
    // As after a long time offline: an update for each key that was pressed.
    for (let n = 0; n < 50_000; n += 1) socket.flood(new Uint8Array(30))
    scene.clock.advance(10 * SECOND)
    scene.hub.tick()
    await settled()
    expect({ messages: socket.messages, isCut: socket.isCut }).toEqual({
      messages: [],
      isCut: false,
    })
  })

  test.each([
    ['anonymous', null, JUNK, FIXED_LIMITS.networkFrames.most],
    ['logged in', ALICE, JUNK, FIXED_LIMITS.userFrames.most],
    [
      'logged in, and its frames are large',
      ALICE,
      new Uint8Array(2 ** 26),
      FIXED_LIMITS.userFrames.most / 1_024,
    ],
  ])('is cut off in the end when it is %s', async (_, person, frame, most) => {
    await using scene = await setupHub()
    const socket = scene.connect(person)
    let sent = 0
    while (!socket.isCut && sent < 2 * most + 100) {
      socket.flood(frame)
      sent += 1
    }
    expect(socket.isCut).toBe(true)
    expect(sent).toBeWithin(Math.floor(most), most + 63)
    expect(() => scene.connect(person)).toThrow(/sent more than it may.* in 60 seconds/)
    scene.clock.advance(MINUTE)
    scene.connect(person)
  })
})

describe('the gate', () => {
  function setup() {
    const clock = createTestClock(0)
    const gate = createGate(clock)
    const isRefused = (visitor: Parameters<typeof gate.enter>[0]) => {
      try {
        gate.enter(visitor)
        return false
      } catch (error) {
        expect(error).toBeInstanceOf(SatchelError)
        expect(error).toMatchObject({ code: 'TOO_MANY_REQUESTS' })
        return (error as SatchelError).retryAfter
      }
    }
    return { clock, gate, isRefused }
  }

  test('counts the frames of all anonymous clients of a network, and those of a user alone', () => {
    const { clock, gate, isRefused } = setup()
    const tickets = Array.from({ length: 20 }, (_, n) =>
      gate.enter({ ...ANYONE, identity: `${n}` }),
    )
    let dropped = 0
    while (tickets.every((ticket) => !ticket.dropped('x'))) dropped += tickets.length
    expect(dropped).toBe(FIXED_LIMITS.networkFrames.most)
    clock.advance(20 * SECOND)
    expect(isRefused(ANYONE)).toBe(40)
    expect(isRefused({ ...ANYONE, network: '192.0.2.2' })).toBe(false)
    expect(isRefused({ ...VISITOR, user: 'alice' })).toBe(false)
    clock.advance(40 * SECOND)
    expect(isRefused(ANYONE)).toBe(false)
  })

  test('refuses a client for a minute after a frame that was too large', () => {
    const { clock, gate, isRefused } = setup()
    const alice = { ...VISITOR, user: 'alice' }
    gate.enter(alice).closed(true)
    gate.enter({ ...alice, identity: 'two' }).closed(false)
    expect(isRefused(alice)).toBe(60)
    for (const other of [{ ...alice, identity: 'two' }, { ...alice, user: 'bob' }, ANYONE]) {
      expect(isRefused(other)).toBe(false)
    }
    clock.advance(MINUTE)
    expect(isRefused(alice)).toBe(false)
    gate.enter(ANYONE).closed(true)
    expect(isRefused({ ...ANYONE, identity: 'two' })).toBe(60)
    expect(isRefused(alice)).toBe(false)
  })

  test('lets a network have so many anonymous sockets at a time, and users as many as they need', () => {
    const { gate, isRefused } = setup()
    const tickets = Array.from({ length: FIXED_LIMITS.anonymousSockets.most }, () => {
      const ticket = gate.enter(ANYONE)
      ticket.opened()
      return ticket
    })
    expect(isRefused(ANYONE)).toBe(60)
    expect(isRefused({ ...ANYONE, network: '192.0.2.2' })).toBe(false)
    expect(isRefused({ ...VISITOR, user: 'alice' })).toBe(false)
    tickets[0]?.closed(false)
    expect(isRefused(ANYONE)).toBe(false)
  })
})
