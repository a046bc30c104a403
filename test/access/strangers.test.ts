import { describe, expect, test } from 'bun:test'
import type { Database, ReadTx, WriteTx } from '../../src/domain/store/store'
import { act, actorFor, ADMINISTRATOR, as, get, list } from './setup'
import { put, through } from './operation'
import { ALICE, BOB, DATE, expectDone, MALLORY, openTeam } from './team'
import { user } from '../contract/user-fixture'
import { countingTest } from '../missing'

type Team = Awaited<ReturnType<typeof openTeam>>

/** Parts of a transaction that hold policy. */
const POLICY = new Set(['users', 'memberships', 'clients', 'logins', 'settings', 'origins'])

/** The database, with a list of the reads of policy that it is asked for. */
function watching(database: Database) {
  const reads: string[] = []
  const watched = <T extends object>(part: T, name: string): T =>
    new Proxy(part, {
      get(target, method) {
        const member: unknown = Reflect.get(target, method, target)
        if (typeof member !== 'function') return member
        return (...parameters: unknown[]) => {
          const [table] = parameters as [{ builtIn?: boolean }?]
          const isRow = name === 'objects' && table?.builtIn === true
          if (POLICY.has(name) || isRow) reads.push(`${name}.${String(method)}`)
          return Reflect.apply(member, target, parameters) as unknown
        }
      },
    })
  const wrap = <Tx extends ReadTx>(tx: Tx): Tx =>
    new Proxy(tx, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member === 'function') return member.bind(target) as unknown
        return typeof member === 'object' && member !== null
          ? watched(member, String(name))
          : member
      },
    })
  const stage: Database = {
    ...database,
    read: (work) => database.read((tx: ReadTx) => work(wrap(tx))),
    write: (work, options) => database.write((tx: WriteTx) => work(wrap(tx)), options),
  }
  return { database: stage, reads }
}

/** Changes of policy that mean nothing to Bob. */
const CHANGES: Readonly<Record<string, (team: Team) => Promise<unknown>>> = {
  'a new member of another realm': async (team) => {
    await team.carol.put('realms', { realmId: 'rlmCarols' })
    expectDone(
      await team.carol.put('members', { id: 'mmbNew', realmId: 'rlmCarols', email: 'new@x.org' }),
    )
  },
  'a new member of his realm': async (team) =>
    expectDone(
      await team.alice.put('members', { id: 'mmbNew', realmId: 'rlmTeam', email: 'new@x.org' }),
    ),
  'an answer in his realm': async (team) => {
    const row = { id: 'mmbNew', realmId: 'rlmTeam', email: MALLORY.email }
    expectDone(await team.alice.put('members', row))
    expectDone(await team.mallory.put('members', { ...row, accepted: DATE }))
  },
  'a change of another member': async (team) =>
    expectDone(
      await team.admin.put('members', { id: 'mmbCarol', realmId: 'rlmTeam', userId: 'carol' }),
    ),
  'a new name of his own row': async (team) =>
    expectDone(
      await team.alice.put('members', {
        id: 'mmbBob',
        realmId: 'rlmTeam',
        name: 'Bobby',
        permissions: { add: ['todoItems'] },
        roles: ['boss'],
      }),
    ),
  'a new realm': async (team) => expectDone(await team.carol.put('realms', {})),
  'a new name of his realm': async (team) =>
    expectDone(await team.alice.put('realms', { realmId: 'rlmTeam', name: 'Other' })),
  'the end of another realm': async (team) => {
    await team.carol.put('realms', { realmId: 'rlmCarols' })
    expectDone(await team.carol.remove('realms', 'rlmCarols'))
  },
  'a role of another realm': async (team) => {
    await team.carol.put('realms', { realmId: 'rlmCarols' })
    expectDone(await team.carol.put('roles', { realmId: 'rlmCarols', name: 'boss' }))
  },
  'a new user': (team) => team.database.write((tx) => tx.users.put(user('newcomer'))),
  'the first object of another user': async (team) =>
    expectDone(await team.carol.put('todoItems', { id: 'tdiCarol' })),
}

describe('after a change that is none of theirs, a user pays nothing for', () => {
  test.each(Object.entries(CHANGES))('%s', async (_name, change) => {
    await using team = await openTeam()
    const boss = {
      realmId: 'rlm-public',
      name: 'boss',
      permissions: { update: { notes: ['text'] } },
    }
    expectDone(await act(team.database, ADMINISTRATOR, through('all', put('roles', boss))))
    const row = { id: 'mmbBob', realmId: 'rlmTeam', userId: 'bob', roles: ['boss'] }
    expectDone(await team.admin.put('members', { ...row, permissions: { add: ['todoItems'] } }))
    expectDone(await team.bob.put('todoItems', { id: 'tdiBob' }))
    const { database, reads } = watching(team.database)
    const actor = actorFor(BOB, 'my')
    const use = async () => {
      expect(await get(database, actor, 'my', 'todoItems', 'tdiTeam')).toMatchObject({
        title: 'ours',
      })
      expect(await list(database, actor, 'my', 'todoItems')).toHaveLength(2)
      expectDone(await as(database, BOB).put('todoItems', { id: 'tdiBob', realmId: 'rlmTeam' }))
      expectDone(await as(database, BOB).put('todoItems', { id: 'tdiBob', realmId: 'bob' }))
    }
    await use()
    reads.length = 0
    await change(team)
    await use()
    expect(reads).toEqual([])
  })

  test('but reads again after one that is theirs', async () => {
    await using team = await openTeam()
    const { database, reads } = watching(team.database)
    const actor = actorFor(ALICE, 'my')
    await list(database, actor, 'my', 'todoItems')
    expectDone(await team.alice.put('realms', {}))
    reads.length = 0
    await list(database, actor, 'my', 'todoItems')
    expect(reads).not.toEqual([])
  })
})

countingTest('a role that a user has in many realms is read once', async () => {
  await using team = await openTeam()
  const boss = { realmId: 'rlm-public', name: 'boss', permissions: { add: ['todoItems'] } }
  expectDone(await act(team.database, ADMINISTRATOR, through('all', put('roles', boss))))
  const { database, reads } = watching(team.database)
  const join = async (n: number) => {
    expectDone(await team.alice.put('realms', { realmId: `rlm${n}` }))
    const row = { realmId: `rlm${n}`, userId: 'bob', roles: ['boss'] }
    expectDone(await team.admin.put('members', row))
  }
  /** The reads of rows of roles for the first request after a change of the own rights. */
  const readsOfRoles = async () => {
    reads.length = 0
    await list(database, actorFor(BOB, 'my'), 'my', 'todoItems')
    return reads.filter((read) => read === 'objects.findMany')
  }
  await join(1)
  expect(await readsOfRoles()).toHaveLength(1)
  for (let n = 2; n <= 12; n += 1) await join(n)
  expect(await readsOfRoles()).toEqual([])
})
