import { expect, test } from 'bun:test'
import { temporaryFolder } from '../setup'
import { callMain } from './api'
import { satchel, satchelJson, serve } from './setup'

const TODO = {
  schema: {
    todoLists: '@id, title',
    todoItems: '@id, title, todoListId',
  },
  roles: {
    doer: {
      displayName: 'Doer',
      description: 'May tick items off and add new ones',
      permissions: { add: ['todoItems'], update: { todoItems: ['done'] } },
    },
  },
}

interface Row {
  readonly id: string
  readonly title: string
  readonly realmId: string
  readonly owner: string
  readonly done?: boolean
}

interface Invitation {
  readonly id: string
  readonly email: string
}

const TODAY = '2026-01-01T00:00:00.000Z'

test('two users share a todo list', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  await using server = await serve(surroundings)
  const imported = await satchel(
    ['import', '-', '--json'],
    surroundings,
    new Blob([JSON.stringify(TODO)]),
  )
  expect(imported).toMatchObject({ exitCode: 0, stderr: '' })
  const login = async (sub: string) => {
    const token = await satchelJson<{ accessToken: string }>(['token', '--sub', sub], surroundings)
    return callMain(server.ready, token.accessToken)
  }
  const alice = await login('alice@example.com')
  const bob = await login('bob@example.com')

  // Alice has a private list.
  const list = await alice.post<Row>('/my/todoLists', { title: 'Party' })
  expect(list).toMatchObject({ owner: 'alice@example.com', realmId: 'alice@example.com' })
  const milk = await alice.post<Row>('/my/todoItems', { title: 'Milk', todoListId: list.id })
  expect(await bob.get<Row[]>('/my/todoLists')).toEqual([])
  await bob.get(`/my/todoLists/${list.id}`, 404)

  // She ties a realm to it, moves it there with its items and lets Bob in.
  const realmId = `rlm~${list.id}`
  await alice.post('/my/realms', { realmId, name: 'Party', represents: 'a to-do list' })
  await alice.post('/my/todoLists', { ...list, realmId })
  await alice.post('/my/todoItems', { ...milk, realmId })
  await alice.post('/my/members', {
    realmId,
    email: 'bob@example.com',
    name: 'Bob',
    roles: ['doer'],
  })
  expect(await bob.get<Row[]>('/my/todoLists')).toEqual([])

  // Bob accepts the invitation; without one, Carol cannot come in.
  const [invitation] = await alice.get<Invitation[]>('/my/members?email=bob@example.com')
  const carol = await login('carol@example.com')
  await carol.post('/my/members', { realmId, userId: 'carol@example.com', roles: ['doer'] }, 403)
  await bob.post('/my/members', { ...invitation, userId: 'bob@example.com', accepted: TODAY })
  expect(await bob.get<Row[]>('/my/todoLists')).toMatchObject([{ id: list.id, title: 'Party' }])

  // He may tick items off and add some, but neither rename nor delete what is not his.
  await bob.post('/my/todoItems', {
    id: milk.id,
    done: true,
    title: 'Milk',
    todoListId: list.id,
    realmId,
  })
  expect(await alice.get<Row>(`/my/todoItems/${milk.id}`)).toMatchObject({ done: true })
  const refused = await bob.post<{ reason: string }>(
    '/my/todoItems',
    { id: milk.id, done: true, title: 'Beer', todoListId: list.id, realmId },
    403,
  )
  expect(refused.reason).toContain('title')
  await bob.remove(`/my/todoItems/${milk.id}`, 403)
  const beer = await bob.post<Row>('/my/todoItems', { title: 'Beer', todoListId: list.id, realmId })
  expect(beer).toMatchObject({ owner: 'bob@example.com', realmId })
  expect(await alice.get<Row[]>(`/my/todoItems?todoListId=${list.id}`)).toHaveLength(2)

  // Alice shows him the door: what he added stays with the list.
  await alice.remove(`/my/members/${invitation?.id}`)
  expect(await bob.get<Row[]>('/my/todoItems')).toEqual([])
  expect(await alice.get<Row[]>('/my/todoItems')).toHaveLength(2)

  // When the realm goes, so does everything in it.
  await alice.remove(`/my/realms/${encodeURIComponent(realmId)}`)
  expect(await alice.get<Row[]>('/my/todoLists')).toEqual([])
  expect(await alice.get<Row[]>('/my/todoItems')).toEqual([])
})
