import { describe, expect, test } from 'bun:test'
import { createJobRunner } from '../../src/domain/job/job-runner'
import { MAINTENANCE } from '../../src/domain/object/maintenance'
import { MOST_ROWS } from '../../src/domain/rows/member-rows'
import { as } from './setup'
import { expectDone, expectRefused, FULL, openTeam, told } from './team'

describe('the owner of a realm', () => {
  test('has an accepted row in it, which stays while they own it', async () => {
    await using team = await openTeam()
    const row = {
      id: 'mmbTeam',
      realmId: 'rlmTeam',
      userId: 'alice',
      email: 'alice@example.com',
      accepted: { $t: 'Date', v: '2030-01-01T12:00:00.000Z' },
      owner: 'alice',
    }
    expect(await team.alice.get('members', 'mmbTeam')).toEqual(row)
    expectRefused(await team.alice.remove('members', 'mmbTeam'), 'CONFLICT', 'owner')
    const rejected = { $t: 'Date', v: '2030-01-01T13:00:00.000Z' }
    expectRefused(await team.alice.put('members', { ...row, rejected }), 'CONFLICT', 'owner')
    expectDone(await team.alice.put('members', { ...row, name: 'Alice' }))
    expectDone(await team.alice.put('members', { ...row, id: 'mmbSecond' }))
    expectDone(await team.alice.remove('members', 'mmbTeam'))
    expectRefused(await team.alice.remove('members', 'mmbSecond'), 'CONFLICT', 'owner')
    expectDone(await team.alice.remove('realms', 'rlmTeam'))
  })

  test('a former owner may leave', async () => {
    await using team = await openTeam()
    expectDone(await team.alice.put('realms', { realmId: 'rlmTeam', name: 'Team', owner: 'bob' }))
    expectRefused(await team.bob.remove('members', 'mmbBob'), 'CONFLICT', 'owner')
    expectDone(await team.alice.remove('members', 'mmbTeam'))
    expect(await team.bob.list('members')).toMatchObject([{ id: 'mmbBob' }])
  })

  test('gets a row under another key when somebody has taken the one of the realm', async () => {
    await using team = await openTeam({ permissions: { add: ['members'] } })
    const squatter = { id: 'mmbNext', realmId: 'rlmTeam', email: 'x@example.com' }
    expectDone(await team.mallory.put('members', squatter))
    expectDone(await team.alice.put('realms', { realmId: 'rlmNext' }))
    const rows = await team.alice.list('members', [{ path: 'realmId', texts: ['rlmNext'] }])
    expect(rows).toMatchObject([{ userId: 'alice', realmId: 'rlmNext' }])
    expect(rows[0]?.['id']).not.toBe('mmbNext')
  })

  test('has none while the realm has no owner', async () => {
    await using team = await openTeam()
    expectDone(await team.admin.put('realms', { realmId: 'rlmNobody', owner: null }))
    expect(await team.admin.get('members', 'mmbNobody')).toBe('UNKNOWN_OBJECT')
  })
})

test.each([
  ['email', { email: 'dora@example.com' }],
  ['userId', { userId: 'alice' }],
])('nobody has more than a hundred rows with the same %s in a realm', async (reason, person) => {
  await using team = await openTeam()
  const rows = (count: number, more: object) =>
    Array.from({ length: count }, (_, n) => ({
      ...more,
      id: `${JSON.stringify(more)}${n}`,
      realmId: 'rlmTeam',
    }))
  // The owner has one already.
  const most = reason === 'email' ? MOST_ROWS : MOST_ROWS - 1
  expectRefused(await team.alice.put('members', ...rows(most + 1, person)), 'UNPROCESSABLE', reason)
  expectDone(await team.alice.put('members', ...rows(most, person)))
  expectDone(await team.alice.put('members', { ...rows(1, person)[0], name: 'Changed' }))
  expectDone(await team.alice.put('members', { ...rows(1, person)[0], email: 'new@example.com' }))
  expectDone(await team.alice.put('members', ...rows(MOST_ROWS, { email: 'e@example.com' })))
  expectDone(await team.admin.put('members', ...rows(most + 1, person)))
})

test('a realm tied to a private key does not tell whether another user has that key', async () => {
  await using team = await openTeam()
  expectDone(await team.bob.put('notes', { id: '#secret' }))
  const tied = async (key: string) =>
    told(await team.mallory.put('realms', { realmId: `rlm~${key}` }))
  expect(await tied('#secret:bob')).toMatchObject({ code: 'NOT_AUTHORIZED', reason: 'realmId' })
  expect(await tied('#nothing:bob')).toEqual(await tied('#secret:bob'))
  expectDone(await team.bob.put('realms', { realmId: 'rlm~#secret:bob' }))
})

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
    expect(await team.mallory.list('members')).toMatchObject([
      { id: 'mmbTeam', userId: 'mallory', owner: 'mallory' },
    ])
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
    // Her own row stays, with nothing but sight, until she leaves or is removed.
    expectRefused(await given('alice'))
    expectDone(await team.alice.remove('members', 'mmbTeam'))
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
