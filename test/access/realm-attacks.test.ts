import { describe, expect, test } from 'bun:test'
import { createJobRunner } from '../../src/domain/job/job-runner'
import { MAINTENANCE } from '../../src/domain/object/maintenance'
import { as } from './setup'
import { expectDone, expectRefused, FULL, openTeam } from './team'

describe('taking over a realm', () => {
  test('a deleted realm id is not to be had again, before and after its erasure', async () => {
    await using team = await openTeam()
    expectDone(await team.alice.remove('realms', 'rlmTeam'))
    expectRefused(await team.mallory.put('realms', { realmId: 'rlmTeam' }), 'CONFLICT')
    expectRefused(await team.alice.put('realms', { realmId: 'rlmTeam' }), 'CONFLICT')
    await using jobs = createJobRunner(team.database, MAINTENANCE, () => undefined)
    await jobs.idle()
    expectRefused(await team.mallory.put('realms', { realmId: 'rlmTeam' }), 'CONFLICT')
    expectRefused(await team.mallory.put('todoItems', { id: 'tdiNew', realmId: 'rlmTeam' }))
  })

  test('a realm that GLOBAL_WRITE revives brings back no rows, members, roles or rights', async () => {
    await using team = await openTeam()
    await team.alice.put('roles', { realmId: 'rlmTeam', name: 'boss', permissions: FULL })
    await team.alice.remove('realms', 'rlmTeam')
    expectDone(await team.admin.put('realms', { realmId: 'rlmTeam', owner: 'mallory' }))
    expect(await team.mallory.list('todoItems')).toEqual([])
    expect(await team.mallory.list('members')).toEqual([])
    expect(await team.mallory.list('roles')).toEqual([])
    expect(await team.alice.get('realms', 'rlmTeam')).toBe('UNKNOWN_OBJECT')
    expectRefused(await team.bob.put('todoItems', { id: 'tdiNew', realmId: 'rlmTeam' }))
    await using jobs = createJobRunner(team.database, MAINTENANCE, () => undefined)
    expectDone(await team.mallory.put('todoItems', { id: 'tdiTeam', realmId: 'rlmTeam' }))
    await jobs.idle()
    expect(await team.mallory.get('todoItems', 'tdiTeam')).toMatchObject({ owner: 'mallory' })
  })

  test('a realm tied to an object of others is refused, seen or not, even with an own object of that key', async () => {
    await using team = await openTeam({ permissions: { add: '*', update: '*' } })
    expectRefused(
      await team.mallory.put('realms', { realmId: 'rlm~tdiTeam' }),
      'NOT_AUTHORIZED',
      'realmId',
    )
    expectRefused(
      await team.mallory.put('realms', { realmId: 'rlm~tdiAlice' }),
      'NOT_AUTHORIZED',
      'realmId',
    )
    expectDone(await team.mallory.put('notes', { id: 'tdiAlice' }))
    expectRefused(
      await team.mallory.put('realms', { realmId: 'rlm~tdiAlice' }),
      'NOT_AUTHORIZED',
      'realmId',
    )
    expectDone(await team.alice.put('realms', { realmId: 'rlm~tdiTeam' }))
  })

  test('a manager of an object’s table may tie a realm to the object', async () => {
    await using team = await openTeam({ permissions: { manage: ['todoItems'] } })
    expectDone(await team.mallory.put('realms', { realmId: 'rlm~tdiTeam' }))
  })

  test('the second put of a tied realm changes nothing and answers what is stored', async () => {
    await using team = await openTeam()
    await team.alice.put('realms', { realmId: 'rlm~tdiAlice', name: 'hers' })
    await team.admin.put('members', { id: 'mmbTied', realmId: 'rlm~tdiAlice', userId: 'mallory' })
    const stored = await team.alice.get('realms', 'rlm~tdiAlice')
    const answer = await team.mallory.put('realms', { realmId: 'rlm~tdiAlice', owner: 'mallory' })
    expect(answer).toEqual({ texts: [JSON.stringify(stored)] })
    expect(await team.alice.get('realms', 'rlm~tdiAlice')).toEqual(stored)
    expectRefused(
      await team.bob.put('realms', { realmId: 'rlm~tdiAlice' }),
      'NOT_AUTHORIZED',
      'realmId',
    )
  })

  test.each([
    [{ permissions: { update: { realms: ['*', 'owner'] } } }],
    [{ permissions: { manage: ['realms', 'members', 'roles', 'todoItems'] } }],
  ])('the owner of a realm is not to be replaced with %j', async (mallory) => {
    await using team = await openTeam(mallory)
    for (const owner of ['mallory', 'bob', null]) {
      expectRefused(
        await team.mallory.put('realms', { realmId: 'rlmTeam', name: 'Team', owner }),
        'NOT_AUTHORIZED',
        'owner',
      )
    }
  })

  test('a realm goes to an accepted member only, and then is theirs', async () => {
    await using team = await openTeam()
    await team.alice.put('members', {
      id: 'mmbCarol',
      realmId: 'rlmTeam',
      email: 'carol@example.com',
    })
    const given = (owner: string | null) =>
      team.alice.put('realms', { realmId: 'rlmTeam', name: 'Team', owner })
    for (const owner of ['carol', 'stranger', null]) expectRefused(await given(owner))
    expectDone(await given('bob'))
    expect(await team.alice.get('realms', 'rlmTeam')).toBe('UNKNOWN_OBJECT')
    expectDone(
      await team.bob.put('members', { id: 'mmbNew', realmId: 'rlmTeam', permissions: FULL }),
    )
  })

  test('a realm is deleted by neither strangers, invited nor mere members', async () => {
    await using team = await openTeam({
      permissions: { add: '*', update: '*', manage: ['members', 'roles', 'todoItems'] },
    })
    await team.alice.put('members', {
      id: 'mmbCarol',
      realmId: 'rlmTeam',
      email: 'carol@example.com',
      permissions: FULL,
    })
    expectRefused(await team.mallory.remove('realms', 'rlmTeam'), 'NOT_AUTHORIZED', 'manage realms')
    expectRefused(await team.carol.remove('realms', 'rlmTeam'), 'NOT_AUTHORIZED', 'manage realms')
    expectRefused(
      await as(team.database, { id: 'stranger' }).remove('realms', 'rlmTeam'),
      'UNKNOWN_OBJECT',
    )
  })

  test('no write can turn a private realm into a realm, a member or a role', async () => {
    await using team = await openTeam()
    for (const realmId of ['bob', 'mallory', 'rlm-public']) {
      expectRefused(await team.mallory.put('realms', { realmId }), 'UNPROCESSABLE', 'realmId')
    }
    for (const realmId of ['bob', 'mallory']) {
      const row = { realmId, userId: 'mallory', permissions: FULL }
      expectRefused(
        await team.mallory.put('members', { id: 'mmbNew', ...row }),
        'UNPROCESSABLE',
        'realmId',
      )
      expectRefused(
        await team.admin.put('members', { id: 'mmbNew', ...row }),
        'UNPROCESSABLE',
        'realmId',
      )
      expectRefused(
        await team.admin.put('roles', { realmId, name: 'boss', permissions: FULL }),
        'UNPROCESSABLE',
        'realmId',
      )
    }
  })
})
