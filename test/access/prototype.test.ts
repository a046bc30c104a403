import { afterEach, describe, expect, test } from 'bun:test'
import type { Value } from './oracle-world'
import { expectDone, expectRefused, openTeam } from './team'

/** Names that mean something on every JavaScript object (`promises.md` 28). */
const NAMES = ['__proto__', 'constructor', 'prototype', 'hasOwnProperty', 'toString', 'valueOf']

const PROPERTIES = Object.getOwnPropertyNames(Object.prototype).toSorted()

afterEach(() => {
  expect(Object.getOwnPropertyNames(Object.prototype).toSorted()).toEqual(PROPERTIES)
  expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  expect(({} as Record<string, unknown>)['manage']).toBeUndefined()
  expect(({} as Record<string, unknown>)['owner']).toBeUndefined()
})

/** An object with an own property of this name, as it comes out of a body. */
const withOwn = (name: string, value: unknown, rest: Value = {}): Value =>
  JSON.parse(
    `{${JSON.stringify(name)}:${JSON.stringify(value)}${JSON.stringify(rest).replace('{', ',')}`.replace(
      /,}$/,
      '}',
    ),
  ) as Value

describe.each(NAMES)('%s', (name) => {
  test('as a role, a member, a user and a table in a grant gives what it says and no more', async () => {
    await using team = await openTeam({
      roles: [name],
      permissions: { update: withOwn(name, '*'), add: [name] },
    })
    const added = { id: 'tdiNew', realmId: 'rlmTeam' }
    expectRefused(await team.mallory.put('todoItems', added), 'NOT_AUTHORIZED', 'add todoItems')
    expectRefused(await team.mallory.remove('todoItems', 'tdiTeam'))
    const permissions = withOwn(name, { manage: '*', add: '*', update: '*' })
    expectDone(await team.alice.put('roles', { realmId: 'rlmTeam', name, permissions }))
    expectRefused(await team.mallory.put('todoItems', added), 'NOT_AUTHORIZED', 'add todoItems')
    expectDone(
      await team.alice.put('roles', {
        realmId: 'rlmTeam',
        name,
        permissions: withOwn(name, {}, { add: ['todoItems'] }),
      }),
    )
    expectDone(await team.mallory.put('todoItems', added))
    expectDone(await team.alice.put('members', { id: name, realmId: 'rlmTeam', email: name }))
    expectDone(
      await team.admin.put('members', {
        id: name,
        realmId: 'rlmTeam',
        userId: name,
        roles: [name],
      }),
    )
    expect(await team.alice.get('members', name)).toMatchObject({ userId: name })
  })

  test('as a property of member, realm and role rows sets nothing of them', async () => {
    await using team = await openTeam()
    const claims = { userId: 'mallory', owner: 'mallory', permissions: { manage: '*' }, roles: [] }
    const row = { id: 'mmbNew', realmId: 'rlmTeam', email: 'carol@example.com' }
    expectDone(await team.alice.put('members', withOwn(name, claims, row)))
    expectDone(await team.alice.put('realms', withOwn(name, claims, { realmId: 'rlmTeam' })))
    expectDone(
      await team.alice.put('roles', withOwn(name, claims, { realmId: 'rlmTeam', name: 'new' })),
    )
    expect(await team.mallory.list('realms')).toEqual([])
    expect(await team.mallory.list('members')).toEqual([])
    expect(await team.carol.get('members', 'mmbNew')).toMatchObject({ owner: 'alice' })
  })
})
