import { expect, test } from 'bun:test'
import { ANONYMOUS, type Actor } from '../../src/domain/access/actor'
import type { ViewName } from '../../src/domain/access/view'
import { ADMINISTRATOR, actorFor, get, list } from './setup'
import { ALICE, BOB, expectDone, expectRefused, FULL, openTeam } from './team'

/** Alice and Bob edit what is public; Carol is invited to. */
async function openEditors() {
  const team = await openTeam()
  const realmId = 'rlm-public'
  const permissions = { add: ['notes'], manage: ['members'] }
  expectDone(
    await team.admin.put(
      'members',
      { id: 'mmbAlice', realmId, userId: 'alice', email: ALICE.email, permissions },
      { id: 'mmbBob2', realmId, userId: 'bob', email: BOB.email },
      { id: 'mmbCarol', realmId, email: 'carol@example.com' },
    ),
  )
  return team
}

type Team = Awaited<ReturnType<typeof openEditors>>

const idsIn = async ({ database }: Team, actor: Actor, view: ViewName) => {
  const rows = await list(database, actor, view, 'members')
  const named = rows.filter(({ realmId }) => realmId === 'rlm-public').map(({ id }) => id)
  const filtered = await list(database, actor, view, 'members', [
    { path: 'realmId', texts: ['rlm-public'] },
  ])
  expect(filtered.map(({ id }) => id)).toEqual(named)
  return named
}

test('the editors of the public realm are shown to nobody without a token', async () => {
  await using team = await openEditors()
  expect(await idsIn(team, ANONYMOUS, 'public')).toEqual([])
  const mallory = actorFor({ id: 'mallory', email: 'mallory@example.com' }, 'my')
  expect(await idsIn(team, mallory, 'my')).toEqual([])
  for (const [actor, view] of [
    [ANONYMOUS, 'public'],
    [mallory, 'public'],
    [mallory, 'my'],
  ] as const) {
    expect(await get(team.database, actor, view, 'members', 'mmbBob2')).toBe('UNKNOWN_OBJECT')
  }
})

test('each of them sees and deletes their own row, and its rights count', async () => {
  await using team = await openEditors()
  for (const [person, id] of [
    [ALICE, 'mmbAlice'],
    [BOB, 'mmbBob2'],
    [{ id: 'carol', email: 'carol@example.com' }, 'mmbCarol'],
  ] as const) {
    const actor = actorFor(person, 'my')
    for (const view of ['my', 'public'] as const) {
      expect(await idsIn(team, actor, view)).toEqual([id])
      expect(await get(team.database, actor, view, 'members', id)).toMatchObject({ id })
    }
  }
  expectDone(await team.alice.put('notes', { id: 'public', realmId: 'rlm-public' }))
  expectRefused(await team.bob.put('notes', { id: 'other', realmId: 'rlm-public' }))
  expectDone(await team.bob.remove('members', 'mmbBob2'))
  expect(await team.bob.get('members', 'mmbBob2')).toBe('UNKNOWN_OBJECT')
})

test('the right to manage them does not show them', async () => {
  await using team = await openEditors()
  expectRefused(await team.alice.remove('members', 'mmbBob2'), 'UNKNOWN_OBJECT')
  const change = { id: 'mmbBob2', realmId: 'rlm-public', permissions: FULL }
  expectRefused(await team.alice.put('members', change), 'NOT_AUTHORIZED', 'id')
})

test('GLOBAL_READ shows all of them', async () => {
  await using team = await openEditors()
  for (const view of ['all', 'public'] as const) {
    const actor = actorFor(ADMINISTRATOR, view)
    expect(await idsIn(team, actor, view)).toEqual(['mmbAlice', 'mmbBob2', 'mmbCarol'])
    expect(await get(team.database, actor, view, 'members', 'mmbCarol')).toMatchObject({
      email: 'carol@example.com',
    })
  }
})

test('an invitation to edit is accepted by the invited person', async () => {
  await using team = await openEditors()
  const accepted = { $t: 'Date', v: '2030-01-01T10:00:00.000Z' }
  const row = { id: 'mmbCarol', realmId: 'rlm-public', email: 'carol@example.com', accepted }
  expectDone(await team.carol.put('members', row))
  expect(await team.carol.get('members', 'mmbCarol')).toMatchObject({ userId: 'carol' })
})
