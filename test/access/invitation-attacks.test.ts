import { describe, expect, test } from 'bun:test'
import type { Value } from './oracle-world'
import { as } from './setup'
import { BOB, CAROL, DATE, expectDone, expectRefused, FULL, openTeam, told } from './team'

describe('joining by force', () => {
  const row = { id: 'mmbNew', realmId: 'rlmTrap' }

  test('a user cannot add another user to a realm without an invitation', async () => {
    await using team = await openTeam()
    await team.mallory.put('realms', { realmId: 'rlmTrap' }, { realmId: 'rlmTrap2' })
    expectRefused(
      await team.mallory.put('members', { ...row, userId: 'bob' }),
      'NOT_AUTHORIZED',
      'userId',
    )
    for (const answer of [
      { accepted: DATE },
      { rejected: DATE },
      { invitedBy: { userId: 'bob' } },
      { invitedDate: DATE },
    ]) {
      expectRefused(
        await team.mallory.put('members', { ...row, email: BOB.email, ...answer }),
        'NOT_AUTHORIZED',
        Object.keys(answer)[0],
      )
    }
    expectDone(await team.mallory.put('members', { ...row, email: BOB.email }))
    expectRefused(
      await team.mallory.put('members', { ...row, email: BOB.email, userId: 'bob' }),
      'NOT_AUTHORIZED',
      'userId',
    )
    expectRefused(
      await team.mallory.put('members', { ...row, email: BOB.email, accepted: DATE }),
      'NOT_AUTHORIZED',
      'accepted',
    )
    expect(await team.bob.list('todoItems')).toHaveLength(1)
  })

  test('an accepted row is neither moved to another realm nor written again under its key', async () => {
    await using team = await openTeam()
    await team.mallory.put('realms', { realmId: 'rlmTrap' }, { realmId: 'rlmTrap2' })
    await team.mallory.put('members', { ...row, email: BOB.email })
    expectDone(
      await team.bob.put('members', {
        ...row,
        email: BOB.email,
        owner: 'mallory',
        accepted: DATE,
      }),
    )
    const accepted = (await team.bob.get('members', 'mmbNew')) as Value
    expect(accepted).toMatchObject({ userId: 'bob', accepted: DATE })
    expectRefused(
      await team.mallory.put('members', { ...accepted, realmId: 'rlmTrap2' }),
      'NOT_AUTHORIZED',
      'userId',
    )
    expectDone(await team.bob.remove('members', 'mmbNew'))
    expectRefused(await team.mallory.put('members', accepted), 'NOT_AUTHORIZED', 'userId')
    expect(await team.bob.get('realms', 'rlmTrap')).toBe('UNKNOWN_OBJECT')
  })

  test('an invitation with the user id of its author makes only the invitee a member', async () => {
    await using team = await openTeam({ permissions: { add: ['members'] } })
    const asSent = { id: 'mmbNew', realmId: 'rlmTeam', email: CAROL.email, userId: 'mallory' }
    const answer = await team.mallory.put('members', asSent)
    const { userId: _, ...corrected } = asSent
    expect(told(answer)).toEqual({ texts: [JSON.stringify({ ...corrected, owner: 'mallory' })] })
    expect(await team.carol.get('realms', 'rlmTeam')).toMatchObject({ name: 'Team' })
    const row = (await team.carol.get('members', 'mmbNew')) as Value
    expectDone(await team.carol.put('members', { ...row, accepted: DATE }))
    expect(await team.carol.get('members', 'mmbNew')).toMatchObject({ userId: 'carol' })
  })

  test('an invitee who rejected stays out until they accept themselves', async () => {
    await using team = await openTeam()
    await team.mallory.put('realms', { realmId: 'rlmTrap' })
    await team.mallory.put('members', { ...row, email: BOB.email })
    const invited = (await team.bob.get('members', 'mmbNew')) as Value
    expectDone(await team.bob.put('members', { ...invited, rejected: DATE }))
    // Clients list the realm among those that still can be accepted.
    expect(await team.bob.get('realms', 'rlmTrap')).toMatchObject({ owner: 'mallory' })
    expect(await team.bob.list('todoItems')).toHaveLength(1)
    const refused = (await team.mallory.get('members', 'mmbNew')) as Value
    expect(refused).toMatchObject({ userId: 'bob', rejected: DATE })
    const later = { $t: 'Date', v: '2030-01-01T11:00:00.000Z' }
    expectRefused(await team.mallory.put('members', { ...refused, rejected: null }))
    expectRefused(await team.mallory.put('members', { ...refused, accepted: later }))
    expectDone(await team.bob.put('members', { ...refused, accepted: later }))
    expect(await team.bob.get('realms', 'rlmTrap')).toMatchObject({ owner: 'mallory' })
  })
})

describe('an invitation', () => {
  const invitation = {
    id: 'mmbCarol',
    realmId: 'rlmTeam',
    email: 'Carol@Example.com ',
    invite: true,
    permissions: { add: ['todoItems'] },
    owner: 'alice',
  }

  test('is seen, answered and deleted by the addressed person, and shows nothing more of the realm', async () => {
    await using team = await openTeam()
    await team.alice.put('roles', { realmId: 'rlmTeam', name: 'helper' })
    await team.alice.put('members', invitation)
    expect(await team.carol.get('members', 'mmbCarol')).toEqual(invitation)
    expect(await team.carol.get('realms', 'rlmTeam')).toMatchObject({ name: 'Team' })
    expect((await team.carol.list('members')).map(({ id }) => id)).toEqual(['mmbCarol'])
    for (const [table, key] of [
      ['members', 'mmbBob'],
      ['roles', '["rlmTeam","helper"]'],
      ['todoItems', 'tdiTeam'],
    ] as const) {
      expect(await team.carol.get(table, key)).toBe('UNKNOWN_OBJECT')
    }
    expect(await team.carol.list('todoItems')).toEqual([])
    expectRefused(await team.carol.put('todoItems', { id: 'tdiNew', realmId: 'rlmTeam' }))
    expectDone(await team.carol.put('members', { ...invitation, accepted: DATE }))
    expect(await team.carol.get('members', 'mmbCarol')).toEqual({
      ...invitation,
      accepted: DATE,
      userId: 'carol',
    })
    expectDone(await team.carol.put('todoItems', { id: 'tdiNew', realmId: 'rlmTeam' }))
    expectDone(await team.carol.remove('members', 'mmbCarol'))
    expect(await team.carol.get('todoItems', 'tdiNew')).toBe('UNKNOWN_OBJECT')
  })

  test('is not to be had by anybody else', async () => {
    await using team = await openTeam({ permissions: { add: ['todoItems'] } })
    await team.alice.put('members', invitation)
    for (const thief of [
      team.mallory,
      as(team.database, { id: 'carol', email: 'other@example.com' }),
      as(team.database, { id: 'Carol@Example.com' }),
    ]) {
      for (const answer of [
        { accepted: DATE },
        { accepted: DATE, userId: 'mallory' },
        { email: 'mallory@example.com' },
      ]) {
        expectRefused(await thief.put('members', { ...invitation, ...answer }))
      }
    }
    // The own user id is dropped, and nothing remains to be changed.
    expectDone(await team.mallory.put('members', { ...invitation, userId: 'mallory' }))
    expect(await team.alice.get('members', 'mmbCarol')).toEqual(invitation)
  })

  test('is answered and nothing else, and for oneself', async () => {
    await using team = await openTeam()
    await team.alice.put('members', invitation)
    for (const more of [
      { permissions: FULL },
      { roles: ['boss'] },
      { name: 'me' },
      { userId: 'mallory' },
      { realmId: 'carol' },
      { email: 'mallory@example.com' },
      { owner: 'carol' },
    ]) {
      const answer = await team.carol.put('members', { ...invitation, accepted: DATE, ...more })
      expect(told(answer)).toHaveProperty('code')
    }
    expect(await team.alice.get('members', 'mmbCarol')).toEqual(invitation)
  })

  test('that has its person is not open to another with the same address', async () => {
    await using team = await openTeam()
    await team.admin.put('members', { ...invitation, userId: 'dora' })
    expect(await team.carol.list('members')).toEqual([])
    expectRefused(
      await team.carol.put('members', { ...invitation, userId: 'carol', accepted: DATE }),
      'NOT_AUTHORIZED',
      'id',
    )
  })
})
