import { describe, expect, test } from 'bun:test'
import { type AdminRights, createAdminSessions } from '../../../src/auth/admin/sessions'
import { SatchelError } from '../../../src/domain/value/error'
import type { Scope } from '../../../src/domain/value/scope'
import { HOUR, MINUTE } from '../../../src/domain/value/time'
import { turns } from '../../timing'
import { codeOf, createTestClock } from '../setup'

const OWNER: AdminRights = { database: null, isReadOnly: false, client: null }
const CLIENT: AdminRights = {
  database: 'main',
  isReadOnly: false,
  client: { id: 'c1', email: 'ann@example.com' },
}

function setup() {
  const clock = createTestClock()
  const clients = new Map<string, readonly Scope[]>([['main c1', ['MANAGE_DB', 'GLOBAL_READ']]])
  /** What a look at a client of this database waits for. */
  const broken = new Map<string, Promise<void>>()
  const looks: string[] = []
  const timers = new Set<() => void>()
  const sessions = createAdminSessions({
    clock,
    findScopes: async (database, client) => {
      looks.push(database)
      if (broken.has(database)) await broken.get(database)
      return clients.get(`${database} ${client}`)
    },
    every(_ms, work) {
      timers.add(work)
      return { [Symbol.dispose]: () => void timers.delete(work) }
    },
  })
  return {
    clock,
    clients,
    broken,
    looks,
    sessions,
    timers,
    begin: (rights = OWNER, life: number | null = null) => sessions.begin(rights, life, '::1'),
    /** A second passes. */
    tick: async () => {
      clock.advance(1_000)
      for (const work of timers) work()
      await turns()
    },
  }
}

test('the id of a login can be given to a command: it is never taken for an option', async () => {
  const { begin } = setup()
  for (let count = 0; count < 50; count += 1) {
    const { session } = await begin()
    expect(session.id).toMatch(/^s[\w-]{22}$/)
  }
})

describe('a link', () => {
  const order = { database: null, isReadOnly: false, life: null }

  test('works once', () => {
    const { sessions } = setup()
    const { code } = sessions.invite(order)
    expect(code).toMatch(/^[\w-]{43}$/)
    expect(sessions.redeem(code)).toEqual(order)
    expect(sessions.redeem(code)).toBeUndefined()
    expect(sessions.redeem('')).toBeUndefined()
  })

  test('works for ten minutes', () => {
    const { sessions, clock } = setup()
    const [one, other] = [sessions.invite(order), sessions.invite(order)]
    expect(one.expires - clock.now()).toBe(10 * MINUTE)
    clock.advance(10 * MINUTE - 1)
    expect(sessions.redeem(one.code)).toEqual(order)
    clock.advance(1)
    expect(sessions.redeem(other.code)).toBeUndefined()
  })

  test('has expired also when the clock of the machine is set back', () => {
    const { sessions, clock } = setup()
    const { code } = sessions.invite(order)
    clock.advance(10 * MINUTE)
    sessions.list()
    clock.advance(-HOUR)
    expect(sessions.redeem(code)).toBeUndefined()
  })

  test('ends when all sessions are revoked', () => {
    const { sessions } = setup()
    const { code } = sessions.invite(order)
    sessions.end(null)
    expect(sessions.redeem(code)).toBeUndefined()
  })

  test('is the oldest of a hundred when another one is made', () => {
    const { sessions } = setup()
    const codes = Array.from({ length: 101 }, () => sessions.invite(order).code)
    expect(sessions.redeem(codes[0]!)).toBeUndefined()
    expect(sessions.redeem(codes[1]!)).toEqual(order)
  })
})

describe('a session', () => {
  test('is found by both halves', async () => {
    const { sessions, begin } = setup()
    const [{ session, cookie, key }, other] = [await begin(), await begin()]
    const { scopes } = session
    expect(await sessions.use([cookie], key)).toMatchObject({ id: session.id, scopes })
    for (const [sealed, half] of [
      [cookie, other.key],
      [other.cookie, key],
      [cookie, ''],
      ['', key],
      [`${cookie}x`, key],
    ] as const) {
      expect(await codeOf(() => sessions.use([sealed], half))).toBe('SESSION_ENDED')
    }
  })

  test('is not opened by the cookie of another process', async () => {
    const [one, other] = [setup(), setup()]
    const { cookie, key } = await one.begin()
    await other.begin()
    expect(await codeOf(() => other.sessions.use([cookie], key))).toBe('SESSION_ENDED')
  })

  test('ends after thirty minutes without use', async () => {
    const { sessions, begin, clock } = setup()
    const { cookie, key } = await begin()
    for (const wait of [0, 29, 29, 29]) {
      clock.advance(wait * MINUTE)
      await sessions.use([cookie], key)
    }
    clock.advance(30 * MINUTE)
    expect(sessions.list()).toEqual([])
    expect(await codeOf(() => sessions.use([cookie], key))).toBe('SESSION_ENDED')
    clock.advance(-30 * MINUTE)
    expect(await codeOf(() => sessions.use([cookie], key))).toBe('SESSION_ENDED')
  })

  test('ends after twelve hours however often it is used, or earlier', async () => {
    const { sessions, begin, clock } = setup()
    const opened = [await begin(OWNER, 24 * HOUR), await begin(OWNER, HOUR)]
    const use = async () => {
      const uses = opened.map(({ cookie, key }) => sessions.use([cookie], key))
      return (await Promise.allSettled(uses)).map(({ status }) => status === 'fulfilled')
    }
    for (let passed = 0; passed < 12 * 60; passed += 20) {
      expect([passed, await use()]).toEqual([passed, [true, passed < 60]])
      clock.advance(20 * MINUTE)
    }
    expect(await use()).toEqual([false, false])
  })

  test('ends when it is revoked', async () => {
    const { sessions, begin } = setup()
    const [one, other] = [await begin(), await begin()]
    expect(sessions.end(one.session.id)).toBe(1)
    expect(sessions.end(one.session.id)).toBe(0)
    expect(await codeOf(() => sessions.use([one.cookie], one.key))).toBe('SESSION_ENDED')
    expect(await sessions.use([other.cookie], other.key)).toMatchObject({ id: other.session.id })
    expect(sessions.end(null)).toBe(1)
    expect(sessions.list()).toEqual([])
  })

  test('shows secrets for ten minutes after a login, and after each confirmation', async () => {
    const { sessions, begin, clock } = setup()
    const { session, cookie, key } = await begin()
    const mayShow = async () => {
      const { at, confirmedUntil } = await sessions.use([cookie], key)
      return at < confirmedUntil
    }
    clock.advance(10 * MINUTE - 1)
    expect(await mayShow()).toBe(true)
    clock.advance(1)
    expect(await mayShow()).toBe(false)
    sessions.confirm(session.id)
    expect(await mayShow()).toBe(true)
    clock.advance(10 * MINUTE)
    expect(await mayShow()).toBe(false)
  })

  test('makes room beyond a hundred: the one used least recently ends', async () => {
    const { sessions, begin, clock } = setup()
    const opened = []
    for (let count = 0; count < 100; count += 1) {
      clock.advance(1)
      opened.push(await begin())
    }
    clock.advance(1)
    const [first, second] = opened
    await sessions.use([first!.cookie], first!.key)
    await begin()
    expect(sessions.list().length).toBe(100)
    expect(await codeOf(() => sessions.use([second!.cookie], second!.key))).toBe('SESSION_ENDED')
    await sessions.use([first!.cookie], first!.key)
  })
})

describe('the session of a client', () => {
  test('is one of ten at most, and ends before those of the owner of the data folder', async () => {
    const { sessions, begin, clock, clients } = setup()
    const owner = await begin()
    for (let count = 0; count < 11; count += 1) {
      clock.advance(1)
      await begin(CLIENT)
    }
    expect(sessions.list().length).toBe(11)
    for (let other = 2; other < 12; other += 1) {
      clients.set(`main c${other}`, [])
      const rights = { ...CLIENT, client: { id: `c${other}`, email: 'bob@example.com' } }
      for (let count = 0; count < 10; count += 1) await begin(rights)
    }
    expect(sessions.list().length).toBe(100)
    expect(await sessions.use([owner.cookie], owner.key)).toMatchObject({ client: null })
  })

  test('has the scopes that the client has at each request', async () => {
    const { sessions, begin, clients } = setup()
    const { session, cookie, key } = await begin(CLIENT)
    expect(session.scopes).toEqual(['MANAGE_DB', 'GLOBAL_READ'])
    clients.set('main c1', ['GLOBAL_READ'])
    expect((await sessions.use([cookie], key)).scopes).toEqual(['GLOBAL_READ'])
  })

  test('ends with the client, and does not come back with it', async () => {
    const { sessions, begin, clients } = setup()
    const { cookie, key } = await begin(CLIENT)
    clients.clear()
    expect(await codeOf(() => sessions.use([cookie], key))).toBe('SESSION_ENDED')
    clients.set('main c1', ['MANAGE_DB'])
    expect(await codeOf(() => sessions.use([cookie], key))).toBe('SESSION_ENDED')
  })

  test('does not begin for a client that is gone', async () => {
    const { begin, clients, sessions } = setup()
    clients.clear()
    expect(await codeOf(() => begin(CLIENT))).toBe('SESSION_ENDED')
    expect(sessions.list()).toEqual([])
  })
})

describe('an answer that goes on', () => {
  test('ends within a second when its session is idle, old or revoked', async () => {
    const { sessions, begin, clock, tick } = setup()
    const endings: [string, (id: string) => void][] = [
      ['idle', () => clock.advance(30 * MINUTE)],
      ['old', () => clock.advance(12 * HOUR)],
      ['revoked', (id) => void sessions.end(id)],
    ]
    for (const [name, end] of endings) {
      const { session } = await begin()
      using stream = sessions.stream(session)
      await tick()
      expect([name, stream.signal.aborted]).toEqual([name, false])
      end(session.id)
      await tick()
      const ended = expect.objectContaining({ code: 'SESSION_ENDED' })
      expect([name, stream.signal.reason]).toEqual([name, ended])
    }
  })

  test('ends within a second when the client is gone, or has other scopes', async () => {
    const { sessions, begin, clients, tick } = setup()
    using one = sessions.stream((await begin(CLIENT)).session)
    await tick()
    expect(one.signal.aborted).toBe(false)
    clients.set('main c1', ['GLOBAL_READ'])
    await tick()
    expect(one.signal.reason).toMatchObject({ code: 'NOT_AUTHORIZED' })
    using other = sessions.stream((await begin(CLIENT)).session)
    clients.clear()
    await tick()
    expect(other.signal.reason).toMatchObject({ code: 'SESSION_ENDED' })
  })

  test('ends when its client cannot be looked up', async () => {
    const { sessions, begin, broken, tick } = setup()
    const { session } = await begin(CLIENT)
    using one = sessions.stream(session)
    using other = sessions.stream((await begin()).session)
    broken.set('main', Promise.reject(new SatchelError('STORAGE_FAILED', 'The disk failed')))
    await tick()
    expect(one.signal.reason).toMatchObject({ code: 'STORAGE_FAILED' })
    broken.set('main', Promise.reject(new Error('a fault')))
    using third = sessions.stream(session)
    await tick()
    expect(third.signal.reason).toMatchObject({ code: 'BUSY' })
    expect(other.signal.aborted).toBe(false)
  })

  test('waits for no look at another database, and ends when its own takes ten seconds', async () => {
    const { sessions, begin, clients, broken, looks, tick } = setup()
    clients.set('slow c2', ['GLOBAL_READ'])
    const patient = { ...CLIENT, database: 'slow', client: { id: 'c2', email: 'bob@example.com' } }
    using slow = sessions.stream((await begin(patient)).session)
    using other = sessions.stream((await begin(CLIENT)).session)
    const hanging = Promise.withResolvers<void>()
    broken.set('slow', hanging.promise)
    looks.length = 0
    for (let second = 0; second < 3; second += 1) await tick()
    expect(looks).toEqual(['slow', 'main', 'main', 'main'])
    clients.set('main c1', ['GLOBAL_READ'])
    await tick()
    expect(other.signal.reason).toMatchObject({ code: 'NOT_AUTHORIZED' })
    expect(slow.signal.aborted).toBe(false)
    for (let second = 0; second < 7; second += 1) await tick()
    expect(slow.signal.reason).toMatchObject({ code: 'BUSY' })
    hanging.resolve()
  })

  test('ends at once when its session has ended before it begins', async () => {
    const { sessions, begin } = setup()
    const { session } = await begin()
    sessions.end(session.id)
    using stream = sessions.stream(session)
    expect(stream.signal.reason).toMatchObject({ code: 'SESSION_ENDED' })
  })

  test('ends when the server stops', async () => {
    const { sessions, begin } = setup()
    using stream = sessions.stream((await begin()).session)
    sessions[Symbol.dispose]()
    expect(stream.signal.reason).toMatchObject({ code: 'BUSY' })
  })

  test('is looked at as long as there are any', async () => {
    const { sessions, begin, timers } = setup()
    const { session } = await begin()
    expect(timers.size).toBe(0)
    const streams = [sessions.stream(session), sessions.stream(session)]
    expect(timers.size).toBe(1)
    for (const stream of streams) stream[Symbol.dispose]()
    expect(timers.size).toBe(0)
  })
})
