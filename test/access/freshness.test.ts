import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import { listObjects } from '../../src/domain/object/list'
import type { Database } from '../../src/domain/store/store'
import { put, through } from './operation'
import type { Value } from './oracle-world'
import { act, actorFor, ADMINISTRATOR, type Answer, as } from './setup'
import { DATE, expectDone, FULL, MALLORY, openTeam } from './team'

type Team = Awaited<ReturnType<typeof openTeam>>

/** Asks once and again, so that what is known about Mallory is remembered by then. */
async function reach(team: Team) {
  const ask = async () => ({
    reads: (await team.mallory.get('todoItems', 'tdiTeam')) !== 'UNKNOWN_OBJECT',
    lists: (await team.mallory.list('todoItems')).some(({ id }) => id === 'tdiTeam'),
    writes: !(
      (await team.mallory.put('todoItems', {
        id: `tdi${Math.random()}`,
        realmId: 'rlmTeam',
      })) instanceof Error
    ),
  })
  const first = await ask()
  expect(await ask()).toEqual(first)
  return first
}

const OUT = { reads: false, lists: false, writes: false }
const READER = { reads: true, lists: true, writes: false }
const WRITER = { reads: true, lists: true, writes: true }

const mallory = (given: Value = {}): Value => ({
  id: 'mmbMallory',
  realmId: 'rlmTeam',
  userId: 'mallory',
  owner: null,
  ...given,
})
const writing = { permissions: { add: ['todoItems'] } }

/** Each is a commit that changes what Mallory may do, and what she may do before and after it. */
const CHANGES: Readonly<
  Record<
    string,
    {
      readonly start?: Value
      readonly prepare?: (team: Team) => Promise<unknown>
      readonly before: typeof OUT
      readonly change: (team: Team) => Promise<unknown>
      readonly after: typeof OUT
    }
  >
> = {
  'a member row that appears': {
    before: OUT,
    change: (team) => team.admin.put('members', mallory(writing)),
    after: WRITER,
  },
  'a member row that goes': {
    start: writing,
    before: WRITER,
    change: (team) => team.alice.remove('members', 'mmbMallory'),
    after: OUT,
  },
  'a member row that gives more': {
    start: {},
    before: READER,
    change: (team) => team.alice.put('members', mallory(writing)),
    after: WRITER,
  },
  'a member row that gives less': {
    start: writing,
    before: WRITER,
    change: (team) => team.alice.put('members', mallory()),
    after: READER,
  },
  'a member row that moves away': {
    start: writing,
    prepare: (team) => team.admin.put('realms', { realmId: 'rlmElse', owner: 'alice' }),
    before: WRITER,
    change: (team) => team.admin.put('members', mallory({ ...writing, realmId: 'rlmElse' })),
    after: OUT,
  },
  'a member row that changes its person': {
    start: writing,
    before: WRITER,
    change: (team) => team.admin.put('members', mallory({ ...writing, userId: 'carol' })),
    after: OUT,
  },
  'an invitation that is accepted': {
    start: { userId: null, email: 'mallory@example.com', ...writing },
    before: OUT,
    change: (team) =>
      team.mallory.put(
        'members',
        mallory({ userId: null, email: 'mallory@example.com', ...writing, accepted: DATE }),
      ),
    after: WRITER,
  },
  'a membership that is refused': {
    start: writing,
    before: WRITER,
    change: (team) => team.mallory.put('members', mallory({ ...writing, rejected: DATE })),
    after: OUT,
  },
  'a role of the realm that appears': {
    start: { roles: ['writer'] },
    before: READER,
    change: (team) => team.alice.put('roles', { realmId: 'rlmTeam', name: 'writer', ...writing }),
    after: WRITER,
  },
  'a global role that appears, put through /public': {
    start: { roles: ['writer'] },
    before: READER,
    change: (team) =>
      act(
        team.database,
        ADMINISTRATOR,
        through('public', put('roles', { name: 'writer', ...writing })),
      ),
    after: WRITER,
  },
  'a role of the realm that hides the global one': {
    start: { roles: ['writer'] },
    prepare: (team) =>
      team.admin.put('roles', { realmId: 'rlm-public', name: 'writer', ...writing }),
    before: WRITER,
    change: (team) => team.alice.put('roles', { realmId: 'rlmTeam', name: 'writer' }),
    after: READER,
  },
  'a role of the realm that goes': {
    start: { roles: ['writer'] },
    prepare: (team) => team.alice.put('roles', { realmId: 'rlmTeam', name: 'writer', ...writing }),
    before: WRITER,
    change: (team) => team.alice.remove('roles', '["rlmTeam","writer"]'),
    after: READER,
  },
  'the ownership of the realm': {
    before: OUT,
    change: (team) => team.admin.put('realms', { realmId: 'rlmTeam', owner: 'mallory' }),
    after: WRITER,
  },
  'the end of that ownership': {
    prepare: (team) => team.admin.put('realms', { realmId: 'rlmTeam', owner: 'mallory' }),
    before: WRITER,
    change: (team) => team.admin.put('realms', { realmId: 'rlmTeam', owner: 'alice' }),
    // The row that she had as the owner stays.
    after: READER,
  },
  'the end of the realm': {
    start: writing,
    before: WRITER,
    change: (team) => team.alice.remove('realms', 'rlmTeam'),
    after: OUT,
  },
}

describe('the very next read, list and write know', () => {
  test.each(Object.entries(CHANGES))(
    '%s',
    async (_name, { start, prepare, before, change, after }) => {
      await using team = await openTeam(start)
      await prepare?.(team)
      expect(await reach(team)).toEqual(before)
      expect(await change(team)).toHaveProperty('texts')
      expect(await reach(team)).toEqual(after)
    },
  )
})

/**
 * Starts one after the other in a single turn of the event loop, so that they wait for the writer
 * together and in this order.
 */
async function inOneGroup(database: Database, calls: readonly (() => Promise<Answer>)[]) {
  let commits = 0
  const stop = database.onCommit(() => {
    commits += 1
  })
  const started: Promise<Answer>[] = []
  for (const call of calls) {
    started.push(call())
    for (let step = 0; step < 200; step += 1) await Promise.resolve()
  }
  const answers = await Promise.all(started)
  stop()
  // A group ends after some milliseconds, of which a busy machine may take some away.
  expect(commits).toBeLessThan(calls.length)
  return answers
}

const code = (answer: Answer | undefined) =>
  answer instanceof SatchelError ? answer.code : undefined

const isDone = (answer: Answer): boolean => !(answer instanceof Error)

describe('units of one group', () => {
  const item = (id: string) => ({ id, realmId: 'rlmTeam' })

  test('see what the ones before them have changed', async () => {
    await using team = await openTeam(writing)
    await reach(team)
    const answers = await inOneGroup(team.database, [
      () => team.mallory.put('todoItems', item('tdi1')),
      () => team.alice.put('members', mallory()),
      () => team.mallory.put('todoItems', item('tdi2')),
      () => team.alice.put('members', mallory(writing)),
      () => team.mallory.put('todoItems', item('tdi3')),
      () => team.alice.put('roles', { realmId: 'rlmTeam', name: 'boss', permissions: FULL }),
      () => team.alice.put('members', mallory({ roles: ['boss'] })),
      () => team.mallory.put('members', { id: 'mmbNew', realmId: 'rlmTeam', permissions: FULL }),
    ])
    expect(answers.map(isDone)).toEqual([true, true, false, true, true, true, true, true])
  })

  test('do not see what was taken back', async () => {
    await using team = await openTeam(writing)
    await reach(team)
    const [failed, kept] = await inOneGroup(team.database, [
      () => team.admin.put('members', mallory(), { id: 'mmbWrong', realmId: 'rlmNone' }),
      () => team.mallory.put('todoItems', item('tdi1')),
    ])
    expect([failed, kept].map(code)).toEqual(['UNKNOWN_REALM', undefined])
    const [refused, outside] = await inOneGroup(team.database, [
      () =>
        team.admin.put('members', mallory({ permissions: FULL }), { id: 'x', realmId: 'rlmNone' }),
      () => team.mallory.remove('todoItems', 'tdiTeam'),
    ])
    expect([refused, outside].map(code)).toEqual(['UNKNOWN_REALM', 'NOT_AUTHORIZED'])
    expect(await reach(team)).toEqual(WRITER)
  })

  test('of a realm that goes and of the same id revived stay apart', async () => {
    await using team = await openTeam(writing)
    await reach(team)
    const answers = await inOneGroup(team.database, [
      () => team.admin.remove('realms', 'rlmTeam'),
      () => team.mallory.put('todoItems', item('tdi1')),
      () => team.admin.put('realms', { realmId: 'rlmTeam', owner: 'alice' }),
      () => team.mallory.put('todoItems', item('tdi2')),
    ])
    expect(answers.map(isDone)).toEqual([true, false, true, false])
    expect(await reach(team)).toEqual(OUT)
  })
})

test('the first object creates the private realm, also for the second put of the same request', async () => {
  await using team = await openTeam()
  const newcomer = as(team.database, { id: 'newcomer' })
  expect(await newcomer.list('todoItems')).toEqual([])
  expectDone(
    await newcomer.put('todoItems', { id: 'tdi1', title: 'one' }, { id: 'tdi1', title: 'two' }),
  )
  expect(await newcomer.list('todoItems')).toMatchObject([{ id: 'tdi1', title: 'two' }])
})

test.each([
  ['by leaving', [], 'members', 'mmbMallory'],
  ['by leaving', [{ path: 'realmId', texts: ['rlmTeam'] }], 'members', 'mmbMallory'],
  ['with the realm', [{ path: 'realmId', texts: ['rlmTeam'] }], 'realms', 'rlmTeam'],
] as const)(
  'a list under way shows nothing more to a reader who loses the realm %s, filtered by %j',
  async (_how, filters, table, key) => {
    await using team = await openTeam(writing)
    const objects = Array.from({ length: 4_000 }, (_, number) => ({
      id: `tdi${number}`,
      realmId: 'rlmTeam',
    }))
    expectDone(await team.alice.put('todoItems', ...objects))
    const actor = actorFor(MALLORY, 'my')
    const first = await listObjects(team.database, actor, 'my', 'todoItems', { filters })
    expect(countIn(first.texts)).toBeLessThan(2_000)
    expectDone(await team.alice.remove(table, key))
    let shown = 0
    for (let part = await first.more?.(); part !== undefined; part = await part.more?.()) {
      shown += countIn(part.texts)
    }
    expect(shown).toBe(0)
  },
)

const countIn = (texts: readonly string[]): number =>
  (JSON.parse(`[${texts.join(',')}]`) as unknown[]).length
