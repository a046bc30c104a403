import { afterEach, describe, expect, test } from 'bun:test'
import { parseStores } from '../../src/domain/value/schema'
import type { Value } from './oracle-world'
import { expectDone, expectRefused, openTeam } from './team'
import { declareTables } from '../../src/domain/object/tables'

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
  test('as a property comes back as it went, and is guarded like any other', async () => {
    await using team = await openTeam({ permissions: { update: { todoItems: ['done'] } } })
    const payload = { polluted: true, owner: 'mallory', realmId: 'mallory' }
    const mine = withOwn(name, payload, { id: 'tdiMine', deep: [withOwn(name, payload)] })
    expectDone(await team.mallory.put('todoItems', mine))
    const stored = await team.mallory.get('todoItems', 'tdiMine')
    expect(JSON.stringify(stored)).toBe(
      JSON.stringify({ ...mine, realmId: 'mallory', owner: 'mallory' }),
    )
    const item = { id: 'tdiTeam', title: 'ours', done: false }
    expectRefused(
      await team.mallory.put('todoItems', withOwn(name, payload, item)),
      'NOT_AUTHORIZED',
      `update todoItems.${name}`,
    )
  })

  test('as a table, a key and a realm is a name like any other', async () => {
    await using team = await openTeam()
    const schemas = parseStores(withOwn(name, 'id'))
    await team.database.write((tx) => declareTables(tx, schemas, 0))
    expectDone(
      await team.mallory.put('realms', { realmId: `rlm${name}` }, { realmId: `rlm~${name}` }),
    )
    expectDone(await team.mallory.put(name, { id: name, realmId: `rlm${name}` }))
    expect(await team.mallory.get(name, name)).toMatchObject({ id: name, owner: 'mallory' })
    expect(await team.alice.get(name, name)).toBe('UNKNOWN_OBJECT')
    expectRefused(await team.alice.remove(name, name), 'UNKNOWN_OBJECT')
    expectRefused(await team.alice.put(name, { id: name }), 'NOT_AUTHORIZED', 'id')
    expectDone(await team.mallory.remove(name, name))
  })

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
