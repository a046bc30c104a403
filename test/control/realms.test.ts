import { describe, expect, test } from 'bun:test'
import type { OperationName } from '../../src/control/operations'
import { codeOf } from '../auth/setup'
import { ALICE, BOB, setupData } from '../http/setup'
import { until } from '../timing'
import { callerWith, setupOperations } from './setup'

const MAIN = { database: 'main' }

describe('realm', () => {
  test('add, show, update, list and remove', async () => {
    await using server = await setupOperations()
    const added = await server.run('realm.add', { name: '<b>A</b>', owner: ALICE })
    const { realm } = added
    expect(added).toMatchObject({ name: '<b>A</b>', owner: ALICE, represents: null })
    expect(realm).toStartWith('rlm')
    await server.run('realm.add', { realm: 'rlmB', name: 'B', represents: 'a list' })
    const renamed = await server.run('realm.update', { realm, name: 'A', represents: 'more' })
    expect(renamed).toMatchObject({ realm, name: 'A', owner: ALICE, represents: 'more' })
    expect(await server.run('realm.show', { realm })).toEqual(renamed)
    const { realms, cursor } = await server.run('realm.list', { search: 'LIST' })
    expect(realms).toMatchObject([{ realm: 'rlmB', name: 'B', owner: null, represents: 'a list' }])
    expect(cursor).toBeNull()
    const first = await server.run('realm.list', { limit: 1 })
    const next = await server.run('realm.list', { limit: 1, cursor: first.cursor })
    expect([...first.realms, ...next.realms].map((each) => each.realm)).toEqual(['rlmB', realm])
    await server.run('realm.remove', { realm })
    expect(await codeOf(() => server.run('realm.show', { realm }))).toBe('UNKNOWN_REALM')
    const lines = await server.audited()
    const ours = lines.filter((line) => line.startsWith('realm.'))
    expect(ours).toEqual([
      'realm.add done',
      'realm.add done',
      'realm.update done',
      'realm.remove done',
    ])
  })

  test('an owner who is not accepted, an id that is taken and one that is no realm are refused', async () => {
    await using server = await setupOperations()
    await server.run('realm.add', { realm: 'rlmA', name: 'A' })
    const add = (realm: string) => codeOf(() => server.run('realm.add', { realm, name: 'B' }))
    expect(await add('rlmA')).toBe('CONFLICT')
    expect(await add('list')).toBe('UNPROCESSABLE')
    expect(await add('rlm-public')).toBe('UNPROCESSABLE')
    expect(await codeOf(async () => server.run('realm.add', { name: '' }))).toBe('INVALID_REQUEST')
    const update = () => server.run('realm.update', { realm: 'rlmX', name: 'X' })
    expect(await codeOf(update)).toBe('UNKNOWN_REALM')
    expect(await codeOf(() => server.run('realm.remove', { realm: 'rlmX' }))).toBe('UNKNOWN_REALM')
    expect(await server.run('realm.show', { realm: 'rlmA' })).toMatchObject({ name: 'A' })
  })

  test('an empty owner leaves a realm to nobody, and an absent one as it is', async () => {
    await using server = await setupOperations()
    await server.run('realm.add', { realm: 'rlmA', name: 'A', owner: ALICE })
    const owner = async (input: object) =>
      (await server.run('realm.update', { realm: 'rlmA', ...input })).owner
    expect(await owner({ name: 'B' })).toBe(ALICE)
    expect(await owner({ owner: BOB })).toBe(BOB)
    expect(await owner({ owner: '' })).toBeNull()
  })
})

describe('role', () => {
  test('put, list and remove, in a realm and in all', async () => {
    await using server = await setupOperations()
    await server.run('realm.add', { realm: 'rlmA', name: 'A' })
    const permissions = { add: ['todoItems'], update: { todoItems: ['done'] } }
    const role = { realm: 'rlmA', name: 'doer' }
    await server.run('role.put', { ...role, permissions, displayName: 'Doer' })
    await server.run('role.put', { name: 'reader' })
    const changed = await server.run('role.put', { ...role, permissions: { manage: '*' } })
    expect(changed).toMatchObject({ ...role, permissions: { manage: '*' }, displayName: 'Doer' })
    expect((await server.run('role.list', { realm: 'rlmA' })).roles).toEqual([changed])
    expect((await server.run('role.list')).roles).toMatchObject([
      { realm: 'rlm-public', name: 'reader', permissions: {} },
    ])
    await server.run('role.remove', role)
    expect((await server.run('role.list', { realm: 'rlmA' })).roles).toEqual([])
    expect(await codeOf(() => server.run('role.remove', role))).toBe('UNKNOWN_OBJECT')
    expect((await server.audited()).slice(-4)).toEqual([
      'role.put done',
      'role.put done',
      'role.put done',
      'role.remove done',
    ])
  })

  test('a realm that is unknown and permissions that are none are refused', async () => {
    await using server = await setupOperations()
    const put = (input: object) => codeOf(() => server.run('role.put', { name: 'doer', ...input }))
    expect(await put({ realm: 'rlmX' })).toBe('UNKNOWN_REALM')
    expect(await put({ permissions: { manage: 7 } })).toBe('UNPROCESSABLE')
    expect(await codeOf(() => server.run('role.list', { realm: 'rlmX' }))).toBe('UNKNOWN_REALM')
  })
})

describe('member', () => {
  test('add makes a user a member at once, who then sees the realm', async () => {
    await using server = await setupData()
    const { commands } = server
    await commands.run('user.write', {
      ...MAIN,
      user: JSON.stringify({ userId: BOB, type: 'prod' }),
      isNew: true,
    })
    await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'A' })
    await commands.run('object.put', {
      ...MAIN,
      table: 'plain',
      value: { id: 'a', realmId: 'rlmA' },
    })
    const bob = await server.as(BOB)
    const seen = async () => (await bob.get('/my/plain')).body
    expect(await seen()).toEqual([])
    const add = { ...MAIN, realm: 'rlmA', user: BOB }
    const added = await commands.run('member.add', { ...add, name: 'Bob', roles: ['doer'] })
    expect(added).toMatchObject({ userId: BOB, name: 'Bob', state: 'accepted', roles: ['doer'] })
    expect(await seen()).toMatchObject([{ id: 'a' }])
    const manage = { ...MAIN, member: added.id, permissions: { manage: '*' } }
    const updated = await commands.run('member.update', manage)
    const revision = expect.any(Number)
    expect(updated).toEqual({ ...added, permissions: { manage: '*' }, revision })
    expect(await codeOf(() => commands.run('member.add', add))).toBe('CONFLICT')
    expect(await codeOf(() => commands.run('member.add', { ...add, user: 'x' }))).toBe(
      'UNKNOWN_USER',
    )
    await commands.run('member.remove', { ...MAIN, member: added.id })
    expect(await seen()).toEqual([])
    const again = { ...MAIN, member: added.id }
    expect(await codeOf(() => commands.run('member.remove', again))).toBe('UNKNOWN_OBJECT')
    const { lines } = await commands.run('audit.list', MAIN)
    const ours = lines.filter(({ operation }) => operation.startsWith('member.'))
    expect(ours.map(({ operation, result }) => `${operation} ${result}`)).toEqual([
      'member.add done',
      'member.update done',
      'member.remove done',
    ])
  })

  test('add invites a person by a mail, and silently without', async () => {
    await using server = await setupData()
    const { commands } = server
    await commands.run('realm.add', { ...MAIN, realm: 'rlmA', name: 'A' })
    const invite = (email: string, isSilent: boolean) =>
      commands.run('member.add', { ...MAIN, realm: 'rlmA', email, isSilent })
    expect(await invite('Carl@Example.com', false)).toMatchObject({
      email: 'carl@example.com',
      userId: null,
      state: 'invited',
    })
    expect(await invite('dora@example.com', true)).toMatchObject({ state: 'open' })
    const invitations = async () => {
      const { mails } = await commands.run('mail.list', MAIN)
      return mails.filter(({ kind }) => kind === 'invite').map(({ to }) => to)
    }
    await until(async () => (await invitations()).length > 0)
    expect(await invitations()).toEqual(['carl@example.com'])
    const code = (email: string) => codeOf(() => invite(email, false))
    expect(await code('carl@example.com')).toBe('CONFLICT')
    expect(await code('nobody')).toBe('INVALID_REQUEST')
  })

  test('add needs a realm that exists, and either a user or an address', async () => {
    await using server = await setupOperations()
    const add = (input: object) =>
      codeOf(() => server.run('member.add', { realm: 'rlmX', ...input }))
    expect(await add({})).toBe('INVALID_REQUEST')
    expect(await add({ user: BOB, email: BOB })).toBe('INVALID_REQUEST')
    expect(await add({ email: BOB })).toBe('UNKNOWN_REALM')
  })
})

test('sharing is changed by callers who may write, and refused to those who read', async () => {
  await using server = await setupOperations()
  await server.run('realm.add', { realm: 'rlmA', name: 'A' })
  const reader = callerWith('ACCESS_DB', 'GLOBAL_READ')
  const asReader = (name: OperationName, input: object) =>
    codeOf(() => server.run(name, input, reader))
  expect(await server.run('realm.list', {}, reader)).toMatchObject({ realms: [{ realm: 'rlmA' }] })
  expect(await asReader('realm.add', { name: 'A' })).toBe('NOT_AUTHORIZED')
  expect(await asReader('realm.update', { realm: 'rlmA' })).toBe('NOT_AUTHORIZED')
  expect(await asReader('realm.remove', { realm: 'rlmA' })).toBe('NOT_AUTHORIZED')
  expect(await asReader('role.put', { name: 'doer' })).toBe('NOT_AUTHORIZED')
  expect(await asReader('role.remove', { name: 'doer' })).toBe('NOT_AUTHORIZED')
  expect(await asReader('member.add', { realm: 'rlmA', user: BOB })).toBe('NOT_AUTHORIZED')
  expect(await asReader('member.update', { member: 'm' })).toBe('NOT_AUTHORIZED')
  expect(await asReader('member.remove', { member: 'm' })).toBe('NOT_AUTHORIZED')
})
