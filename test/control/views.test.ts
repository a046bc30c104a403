import { describe, expect, test } from 'bun:test'
import { codeOf, createTestClock } from '../auth/setup'
import type { Caller } from '../../src/control/caller'
import { HOUR } from '../../src/domain/value/time'
import { type Caller as Client, type DataServer, objectsOf, setupData } from '../http/setup'
import { share } from '../setup'
import { callerWith, setupOperations } from './setup'

const USERS = Array.from({ length: 6 }, (_, n) => `u${n}@example.com`)
const OBJECTS = 50
const TABLES = ['plain', 'realms', 'members', 'roles'] as const
const MAIN = { database: 'main' }

/** The same numbers in each run, from 0 to below `most`. */
function createDice(seed: number): (most: number) => number {
  let state = seed
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
}

/** A database with random realms, members, roles and objects, and its users. */
async function setupWorld() {
  const server = await setupData()
  const { root } = server
  const dice = createDice(20300101)
  const pick = <T>(choices: readonly T[]): T => choices[dice(choices.length)]!
  const callers = new Map<string, Client>()
  for (const userId of USERS) {
    await root.post('/users', { userId, type: 'prod' })
    callers.set(userId, await server.as(userId))
  }
  const realms = ['rlm0', 'rlm1', 'rlm2', 'rlm3']
  for (const realmId of realms) await root.post('/all/realms', { realmId, owner: pick(USERS) })
  const permissions = { doer: { update: { plain: ['title'] } }, boss: { manage: '*' } }
  for (const [name, given] of Object.entries(permissions)) {
    await root.post('/all/roles', { realmId: 'rlm-public', name, permissions: given })
  }
  await root.post('/all/roles', { realmId: 'rlm1', name: 'doer', permissions: { add: ['plain'] } })
  for (let n = 0; n < 24; n += 1) {
    const user = pick(USERS)
    const answer = pick(['accepted', 'accepted', 'rejected', null])
    await root.post('/all/members', {
      id: `mbr${n}`,
      realmId: pick([...realms, 'rlm-public']),
      ...pick([{ userId: user }, { email: user }, { userId: user, email: user }]),
      ...(answer === null ? {} : { [answer]: '2030-01-01T00:00:00.000Z' }),
      roles: pick([[], ['doer'], ['boss'], ['doer', 'gone']]),
      permissions: pick([{}, {}, { update: { plain: '*' } }, { manage: ['plain'] }]),
    })
  }
  const keys: string[] = []
  for (let n = 0; n < OBJECTS; n += 1) {
    const key = `k${n}`
    const realmId = pick([...realms, ...realms, 'rlm-public', ...USERS])
    const owner = pick([null, ...USERS])
    const answer = await root.post('/all/plain', { id: key, realmId, owner, title: 'old', n: 0 })
    if (answer.status === 200) keys.push(key)
  }
  expect(keys.length).toBeGreaterThan(OBJECTS / 2)
  const shared = () => ({ server, callers, keys })
  return { ...shared(), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

describe('in a random world', () => {
  const world = share(setupWorld)

  test('See as shows exactly what the user has at /my, in the same order', async () => {
    const { server, callers } = world()
    for (const [user, caller] of callers) {
      for (const table of TABLES) {
        const own = objectsOf(await caller.get(`/my/${table}`))
        const seen = await seenBy(server, user, table)
        expect([user, table, seen]).toEqual([user, table, own])
      }
    }
  })

  test('explain says for a thousand questions what /my does', async () => {
    const { server, callers, keys } = world()
    let questions = 0
    for (const key of keys) {
      const { value: object } = await server.commands.run('object.show', {
        ...MAIN,
        table: 'plain',
        key,
      })
      for (const [user, caller] of callers) {
        const attempts = {
          'read ': () => caller.get(`/my/plain/${key}`),
          'update title': () => caller.post('/my/plain', { ...object, title: 'new' }),
          'update n': () => caller.post('/my/plain', { ...object, n: 1 }),
          'delete ': () => caller.remove(`/my/plain/${key}`),
        }
        for (const [question, attempt] of Object.entries(attempts)) {
          const [act = '', property = ''] = question.split(' ')
          const { allowed, rule } = await server.commands.run('explain', {
            ...MAIN,
            as: user,
            do: act as 'read',
            table: 'plain',
            key,
            property,
          })
          const { status } = await attempt()
          if (act !== 'read' && status < 300) await server.root.post('/all/plain', object)
          questions += 1
          expect([key, user, question, rule, status < 300]).toEqual([
            key,
            user,
            question,
            rule,
            allowed,
          ])
        }
      }
    }
    expect(questions).toBeGreaterThan(1_000)
  })

  test('the users who see an object are those who can read it, with what they may do', async () => {
    const { server, callers, keys } = world()
    for (const key of keys) {
      const input = { ...MAIN, table: 'plain', key }
      const { isPublic, seers, cursor } = await server.commands.run('object.seers', input)
      expect(cursor).toBeNull()
      const readers: string[] = []
      for (const [user, caller] of callers) {
        if ((await caller.get(`/my/plain/${key}`)).status === 200) readers.push(user)
      }
      if (isPublic) expect(readers).toEqual(USERS)
      else expect([...new Set(seers.map(({ userId }) => userId))].toSorted()).toEqual(readers)
      for (const { userId, mayUpdate, mayDelete } of seers) {
        for (const [act, may] of [
          ['update', mayUpdate],
          ['delete', mayDelete],
        ] as const) {
          const { allowed } = await server.commands.run('explain', {
            ...input,
            as: userId,
            do: act,
          })
          expect([key, userId, act, may]).toEqual([key, userId, act, allowed])
        }
      }
    }
  })
})

/** The objects of all pages of See as. */
async function seenBy({ commands }: DataServer, user: string, table: string) {
  const seen: unknown[] = []
  let cursor: string | null = null
  do {
    const page: { objects: readonly { value: unknown }[]; cursor: string | null } =
      await commands.run('object.listAs', { ...MAIN, user, table, limit: 7, cursor })
    for (const { value } of page.objects) seen.push(value)
    ;({ cursor } = page)
  } while (cursor !== null)
  return seen
}

describe('See as', () => {
  test('needs IMPERSONATE, and is recorded once for all its pages', async () => {
    await using server = await setupOperations({ todoItems: '@id' })
    for (const id of ['a', 'b']) {
      const value = { id, realmId: 'rlm-public' }
      await server.run('object.put', { table: 'todoItems', value })
    }
    const before = await server.audited()
    const input = { user: 'Alice@example.com', table: 'todoItems', limit: 1 }
    const reader = callerWith('ACCESS_DB', 'GLOBAL_READ')
    expect(await codeOf(() => server.run('object.listAs', input, reader))).toBe('NOT_AUTHORIZED')
    expect(await server.audited()).toEqual(before)
    const page = await server.run('object.listAs', input)
    expect(page).toMatchObject({ state: 'unknown', objects: [{ key: 'a' }] })
    await server.run('object.listAs', { ...input, cursor: page.cursor })
    expect(await server.audited()).toEqual([...before, 'object.listAs done'])
  })

  test('is recorded for each cursor that is not of a page before', async () => {
    const clock = createTestClock()
    await using server = await setupOperations({ todoItems: '@id', others: '@id' }, clock)
    for (const table of ['todoItems', 'others']) {
      for (const id of ['a', 'b', 'c']) {
        await server.run('object.put', { table, value: { id, realmId: 'rlm-public' } })
      }
    }
    const listed = async () =>
      (await server.audited()).filter((line) => line === 'object.listAs done').length
    const input = { user: 'alice@example.com', table: 'todoItems', limit: 1 }
    const { cursor } = await server.run('object.listAs', input)
    expect(cursor).not.toBeNull()
    expect(await listed()).toBe(1)
    const keysFrom = async (changes: object, caller?: Caller) => {
      const page = await server.run('object.listAs', { ...input, cursor, ...changes }, caller)
      return page.objects.map(({ key }) => key)
    }
    expect(await keysFrom({})).toEqual(['b'])
    await keysFrom({ search: 'rlm' })
    expect(await listed()).toBe(1)
    expect(await keysFrom({ cursor: '[0]' })).toEqual(['a'])
    const position = cursor?.slice(cursor.indexOf('[')) ?? ''
    await keysFrom({ cursor: position })
    await keysFrom({ cursor: cursor?.replace(position, '[0]') })
    await keysFrom({ user: 'bob@example.com' })
    await keysFrom({ table: 'others' })
    await keysFrom({}, callerWith('ACCESS_DB', 'GLOBAL_READ', 'IMPERSONATE'))
    expect(await listed()).toBe(7)
    clock.advance(HOUR)
    await keysFrom({})
    expect(await listed()).toBe(8)
    expect(await codeOf(() => keysFrom({ cursor: 'x' }))).toBe('INVALID_REQUEST')
  })

  test('shows nothing to a deactivated user', async () => {
    await using server = await setupOperations({ todoItems: '@id' })
    const value = { id: 'a', realmId: 'rlm-public' }
    await server.run('object.put', { table: 'todoItems', value })
    const user = { userId: 'bob@example.com', type: 'prod', deactivated: true }
    await server.run('user.write-all', { users: user })
    const input = { user: 'bob@example.com', table: 'todoItems' }
    expect(await server.run('object.listAs', input)).toEqual({
      state: 'deactivated',
      objects: [],
      cursor: null,
    })
  })
})

describe('the traces of an object', () => {
  test('say when it came, where it went and which property was written when', async () => {
    await using server = await setupData()
    const { commands, root, clock } = server
    await root.post('/all/realms', { realmId: 'rlmA', owner: USERS[0] })
    await root.post('/all/plain', { id: 'a', realmId: 'rlm-public', title: 'one' })
    const traces = async () =>
      (await commands.run('object.traces', { ...MAIN, table: 'plain', key: 'a' })).traces
    const born = clock.now()
    expect(await traces()).toMatchObject([{ at: born, text: 'Was created', by: null }])
    clock.advance(1_000)
    await root.post('/all/plain', { id: 'a', realmId: 'rlm-public', title: '<b>' })
    expect((await traces()).map(({ at, text }) => [at, text])).toEqual([
      [born, 'Was created'],
      [clock.now(), '"title" was written'],
    ])
    clock.advance(1_000)
    await root.post('/all/plain', { id: 'a', realmId: 'rlmA', title: '<b>' })
    const texts = async () => (await traces()).map(({ text }) => text)
    const moves = (await traces()).filter(({ text }) => text.includes('realm "'))
    expect(moves.map(({ at, text }) => `${at} ${text}`).toSorted()).toEqual([
      `${clock.now()} Came into the realm "rlmA"`,
      `${clock.now()} Left the realm "rlm-public"`,
    ])
    await root.remove('/all/plain/a')
    expect(await texts()).toEqual(['Was deleted in the realm "rlmA"'])
    const none = () => commands.run('object.traces', { ...MAIN, table: 'plain', key: 'x' })
    expect(await codeOf(none)).toBe('UNKNOWN_OBJECT')
  })
})
