import { describe, expect, test } from 'bun:test'
import type { Value } from './oracle-world'
import { DATE, expectDone, expectRefused, FULL, MALLORY, openTeam } from './team'

describe('promoting oneself', () => {
  test('a member gives itself nothing, by permissions or by roles', async () => {
    await using team = await openTeam({ permissions: { add: ['members'] } })
    await team.admin.put('roles', { realmId: 'rlm-public', name: 'boss', permissions: FULL })
    const mine = { id: 'mmbMallory', realmId: 'rlmTeam', userId: 'mallory' }
    expectRefused(await team.mallory.put('members', { ...mine, permissions: FULL }))
    expectRefused(
      await team.mallory.put('members', {
        ...mine,
        permissions: { add: ['members'] },
        roles: ['boss'],
      }),
    )
    expectRefused(
      await team.mallory.put('members', { ...mine, id: 'mmbNew', permissions: FULL }),
      'NOT_AUTHORIZED',
      'permissions',
    )
    expectRefused(
      await team.mallory.put('members', { ...mine, id: 'mmbNew', roles: ['boss'] }),
      'NOT_AUTHORIZED',
      'permissions',
    )
  })

  test('owning the row that grants does not help', async () => {
    await using team = await openTeam({ permissions: { add: ['members'] } })
    const own = { id: 'mmbOwn', realmId: 'rlmTeam', userId: 'mallory' }
    expectDone(await team.mallory.put('members', own))
    expectDone(await team.mallory.put('members', { ...own, permissions: { add: ['members'] } }))
    expectRefused(
      await team.mallory.put('members', { ...own, permissions: { add: ['todoItems'] } }),
      'NOT_AUTHORIZED',
      'permissions',
    )
    expectRefused(
      await team.mallory.put('members', { ...own, permissions: FULL }),
      'NOT_AUTHORIZED',
      'permissions',
    )
  })

  test('an accomplice cannot hand back more than either has (conformance 134)', async () => {
    await using team = await openTeam({ permissions: { manage: ['members'] } })
    const bob = { id: 'mmbBob', realmId: 'rlmTeam', userId: 'bob', owner: null }
    expectDone(await team.mallory.put('members', { ...bob, permissions: { manage: ['members'] } }))
    const mallory = { id: 'mmbMallory', realmId: 'rlmTeam', userId: 'mallory', owner: null }
    for (const permissions of [
      FULL,
      { manage: ['members', 'todoItems'] },
      { add: ['todoItems'] },
    ]) {
      expectRefused(
        await team.bob.put('members', { ...mallory, permissions }),
        'NOT_AUTHORIZED',
        'permissions',
      )
      expectRefused(
        await team.mallory.put('members', { ...bob, permissions }),
        'NOT_AUTHORIZED',
        'permissions',
      )
    }
  })

  test('a role is not filled after it was given', async () => {
    await using team = await openTeam({ permissions: { manage: ['roles', 'members'] } })
    const role = { realmId: 'rlmTeam', name: 'helper' }
    expectDone(await team.mallory.put('roles', { ...role, permissions: { manage: ['roles'] } }))
    expectDone(
      await team.mallory.put('members', {
        id: 'mmbNew',
        realmId: 'rlmTeam',
        userId: 'mallory',
        roles: ['helper'],
      }),
    )
    for (const permissions of [FULL, { add: '*' }, { manage: ['roles', 'todoItems'] }]) {
      expectRefused(
        await team.mallory.put('roles', { ...role, permissions }),
        'NOT_AUTHORIZED',
        'permissions',
      )
    }
  })

  test('a role that is created later gives nothing to those who named it before', async () => {
    await using team = await openTeam({ permissions: { add: ['members'] } })
    const early = { id: 'mmbEarly', realmId: 'rlmTeam', userId: 'mallory', roles: ['admin'] }
    expectRefused(await team.mallory.put('members', early), 'NOT_AUTHORIZED', 'permissions')
    expectDone(
      await team.alice.put('roles', { realmId: 'rlmTeam', name: 'admin', permissions: FULL }),
    )
    expectRefused(await team.mallory.remove('todoItems', 'tdiTeam'))
  })

  test('the owner of a realm may name a role before it is created', async () => {
    await using team = await openTeam()
    const bob = { id: 'mmbBob', realmId: 'rlmTeam', roles: ['later'] }
    expectDone(await team.alice.put('members', bob))
    expectDone(
      await team.alice.put('roles', { realmId: 'rlmTeam', name: 'later', permissions: FULL }),
    )
    expectDone(await team.bob.remove('todoItems', 'tdiTeam'))
  })

  test('a role that members hold is not removed to wait for a stronger one', async () => {
    await using team = await openTeam({ permissions: { manage: ['roles', 'members'] } })
    const role = { realmId: 'rlmTeam', name: 'admin' }
    const early = { id: 'mmbEarly', realmId: 'rlmTeam', userId: 'mallory', roles: ['admin'] }
    expectDone(await team.mallory.put('roles', role))
    expectDone(await team.mallory.put('members', early))
    expectRefused(
      await team.mallory.remove('roles', '["rlmTeam","admin"]'),
      'NOT_AUTHORIZED',
      'permissions',
    )
    expectDone(await team.mallory.remove('members', 'mmbEarly'))
    expectDone(await team.mallory.remove('roles', '["rlmTeam","admin"]'))
  })

  test('a role that hides a stronger one is not taken away', async () => {
    await using team = await openTeam()
    await team.admin.put(
      'roles',
      { realmId: 'rlm-public', name: 'boss', permissions: FULL },
      { realmId: 'rlmTeam', name: 'boss', permissions: { manage: ['roles'] } },
    )
    await team.admin.put('members', {
      id: 'mmbMallory',
      realmId: 'rlmTeam',
      userId: 'mallory',
      roles: ['boss'],
    })
    expectRefused(
      await team.mallory.remove('roles', '["rlmTeam","boss"]'),
      'NOT_AUTHORIZED',
      'permissions',
    )
    expectDone(await team.alice.remove('roles', '["rlmTeam","boss"]'))
    expectDone(await team.mallory.remove('todoItems', 'tdiTeam'))
  })

  test('a stronger invitation or place is not turned to oneself', async () => {
    await using team = await openTeam({
      permissions: { update: { members: ['*', 'owner', 'realmId'] } },
    })
    const pending = {
      id: 'mmbPending',
      realmId: 'rlmTeam',
      email: 'dora@example.com',
      permissions: FULL,
      owner: null,
    }
    await team.admin.put('members', pending)
    expectRefused(
      await team.mallory.put('members', { ...pending, email: MALLORY.email }),
      'NOT_AUTHORIZED',
      'permissions',
    )
    expectDone(await team.mallory.put('members', { ...pending, userId: 'mallory' }))
    expect(await team.alice.get('members', 'mmbPending')).toEqual(pending)
    expectRefused(
      await team.mallory.put('members', { ...pending, userId: 'mallory', accepted: DATE }),
    )
    const bob = { id: 'mmbBob', realmId: 'rlmTeam', permissions: { add: ['todoItems'] } }
    expectRefused(
      await team.mallory.put('members', { ...bob, userId: 'mallory' }),
      'NOT_AUTHORIZED',
      'permissions',
    )
  })

  test('a request does not prepare its own second half', async () => {
    await using team = await openTeam({ permissions: { manage: ['members'] } })
    const row = (id: string, permissions: Value) => ({
      id,
      realmId: 'rlmTeam',
      userId: 'mallory',
      permissions,
    })
    const answer = await team.mallory.put(
      'members',
      row('mmbOne', { manage: ['members'] }),
      row('mmbTwo', FULL),
    )
    expectRefused(answer, 'NOT_AUTHORIZED', 'permissions')
    expect(await team.alice.get('members', 'mmbOne')).toBe('UNKNOWN_OBJECT')
  })

  test('a star in a list of tables is not all of them', async () => {
    await using team = await openTeam({
      permissions: { add: ['*'], manage: ['*'], update: { '*': '*' } },
    })
    expectRefused(
      await team.mallory.put('todoItems', { id: 'tdiNew', realmId: 'rlmTeam' }),
      'NOT_AUTHORIZED',
      'add todoItems',
    )
    expectRefused(
      await team.mallory.remove('todoItems', 'tdiTeam'),
      'NOT_AUTHORIZED',
      'manage todoItems',
    )
    expectRefused(
      await team.mallory.put('todoItems', { id: 'tdiTeam', title: 'mine', done: false }),
      'NOT_AUTHORIZED',
      'update todoItems.title',
    )
  })
})

describe('the last holder of full rights', () => {
  const owned = { realmId: 'rlmTeam', name: 'Team' }

  test('does not leave, hand over less or demote themselves while others remain', async () => {
    await using team = await openTeam()
    await team.admin.put('realms', { ...owned, owner: null })
    const alice = {
      id: 'mmbAlice',
      realmId: 'rlmTeam',
      userId: 'alice',
      roles: ['boss'],
      owner: null,
    }
    await team.admin.put('roles', { realmId: 'rlmTeam', name: 'boss', permissions: FULL })
    await team.admin.put('members', alice)
    expectDone(await team.alice.put('realms', { realmId: 'rlmAlice' }))
    expectRefused(await team.alice.put('members', { ...alice, realmId: 'rlmAlice' }), 'CONFLICT')
    expectRefused(await team.alice.remove('members', 'mmbAlice'), 'CONFLICT')
    expectRefused(await team.alice.put('members', { ...alice, roles: [] }), 'CONFLICT')
    expectRefused(await team.alice.put('members', { ...alice, rejected: DATE }), 'CONFLICT')
    expectRefused(await team.alice.put('members', { ...alice, userId: null }), 'CONFLICT')
    expectRefused(
      await team.alice.put('roles', { realmId: 'rlmTeam', name: 'boss', permissions: {} }),
      'CONFLICT',
    )
    expectRefused(await team.alice.remove('roles', '["rlmTeam","boss"]'), 'CONFLICT')
    expect(await team.alice.get('members', 'mmbAlice')).toEqual(alice)
    expectDone(await team.alice.remove('members', 'mmbBob'))
    expectDone(await team.alice.remove('members', 'mmbTeam'))
    expectDone(await team.alice.remove('members', 'mmbAlice'))
  })

  test('may leave once another holds them, or when GLOBAL_WRITE does it', async () => {
    await using team = await openTeam()
    await team.admin.put('realms', { ...owned, owner: null })
    const alice = {
      id: 'mmbAlice',
      realmId: 'rlmTeam',
      userId: 'alice',
      permissions: FULL,
      owner: null,
    }
    await team.admin.put('members', alice)
    expectDone(
      await team.alice.put('members', {
        id: 'mmbBob',
        realmId: 'rlmTeam',
        userId: 'bob',
        permissions: FULL,
      }),
    )
    expectDone(await team.alice.remove('members', 'mmbAlice'))
    expectDone(await team.admin.remove('members', 'mmbBob'))
  })
})
