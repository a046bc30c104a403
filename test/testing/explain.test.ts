import { expect, test } from 'bun:test'
import { runSatchel } from '../cli/setup'
import { setupTestMode } from './setup'

const [ALICE, BOB, EVE] = ['alice@example.com', 'bob@example.com', 'eve@example.com']

/** A list that Alice shares with Bob, who has a role and a permission of his own in it. */
async function setupSharedList() {
  await using undo = new AsyncDisposableStack()
  const server = undo.use(await setupTestMode())
  const { api } = server
  const admin = await server.token()
  await api(admin, 'POST', '/all/roles', {
    realmId: 'rlm-public',
    name: 'doer',
    permissions: { update: { todos: ['done'] } },
  })
  const alice = await server.login(ALICE)
  await server.login(EVE)
  const bob = await server.login(BOB)
  await runSatchel(['schema', 'push', '-', '--data', server.folder], {
    input: '{"todos": "@id, title"}',
  })
  await api(alice, 'POST', '/my/realms', { realmId: 'rlmList', name: 'List' })
  await api(admin, 'POST', '/all/members', {
    id: 'mmbBob',
    realmId: 'rlmList',
    userId: BOB,
    roles: ['doer', 'missing'],
    permissions: { add: ['todos'] },
  })
  await api(alice, 'POST', '/my/todos', { id: 'tds1', title: 'Milk', done: 0, realmId: 'rlmList' })
  await api(bob, 'POST', '/my/todos', { id: 'tds2', title: 'Own', realmId: 'rlmList' })
  await api(alice, 'POST', '/my/todos', { id: 'tds3', title: 'Private' })
  const parts = undo.move()
  return { ...server, admin, bob, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

test('explains each right as the server applies it, with the row and role behind it', async () => {
  await using server = await setupSharedList()
  const { call, api, bob } = server
  const ask = async (question: Readonly<Record<string, string>>) => {
    const { body } = await call('POST', 'explain', { table: 'todos', ...question })
    return [body['allowed'], body['rule']]
  }
  const read = (as: string, key: string) => ask({ as, do: 'read', key })
  expect(await read(BOB, 'tds1')).toEqual([true, 'the row mmbBob makes the user a member'])
  expect(await read(EVE, 'tds1')).toEqual([false, `${EVE} is not an accepted member of rlmList`])
  expect(await read(ALICE, 'tds3')).toEqual([true, 'it is in the private realm of the user'])
  expect(await read(BOB, 'tds3')).toEqual([
    false,
    `the private realm of ${ALICE} is seen by nobody else: an object is shared by moving it to a realm with members`,
  ])
  expect(await read(BOB, 'none')).toEqual([false, 'there is no object with this key in "todos"'])

  const update = (key: string, property: string) => ask({ as: BOB, do: 'update', key, property })
  expect(await update('tds1', 'done')).toEqual([true, 'the role "doer" in the row mmbBob'])
  expect(await update('tds1', 'title')).toEqual([
    false,
    'no permission updates todos.title in rlmList',
  ])
  expect(await update('tds2', 'title')).toEqual([
    true,
    'the owner of an object may change and delete it',
  ])
  expect(await ask({ as: BOB, do: 'update', key: 'tds1' })).toEqual([
    true,
    'the role "doer" in the row mmbBob',
  ])
  expect(await ask({ as: BOB, do: 'delete', key: 'tds1' })).toEqual([
    false,
    'deleting needs to own the object, or manage on todos in rlmList',
  ])
  expect((await ask({ as: ALICE, do: 'delete', key: 'tds2' }))[0]).toBe(true)

  const add = (as: string, realm?: string) =>
    ask({ as, do: 'add', ...(realm === undefined ? {} : { realm }) })
  expect(await add(BOB, 'rlmList')).toEqual([true, 'the permissions of the row mmbBob'])
  expect((await add(BOB))[0]).toBe(true)
  expect(await add(EVE, 'rlmList')).toEqual([false, `${EVE} is not an accepted member of rlmList`])
  expect(await add(BOB, 'rlm-public')).toEqual([false, 'no permission adds to todos in rlm-public'])
  expect(await add(BOB, 'rlmNone')).toEqual([false, 'there is no such realm'])

  // The server decides alike.
  const write = async (object: object) =>
    (await api(bob, 'POST', '/my/todos', { realmId: 'rlmList', ...object })).status
  expect(await write({ id: 'tds1', title: 'Milk', done: 1 })).toBe(200)
  expect(await write({ id: 'tds1', title: 'Changed', done: 1 })).toBe(403)
  expect(await write({ title: 'New' })).toBe(200)
  expect((await api(bob, 'DELETE', '/my/todos/tds1')).status).toBe(403)
  expect((await api(bob, 'GET', '/my/todos/tds3')).status).toBe(404)
})

test('shows the chain, and the state of the user', async () => {
  await using server = await setupSharedList()
  const { call, api, admin } = server
  const question = { as: BOB, do: 'read', table: 'todos', key: 'tds1' }
  expect((await call('POST', 'explain', question)).body).toEqual({
    allowed: true,
    rule: 'the row mmbBob makes the user a member',
    user: { userId: BOB, state: 'active' },
    object: { key: 'tds1', owner: ALICE },
    realm: { realmId: 'rlmList', kind: 'shared' },
    members: [
      {
        row: 'mmbBob',
        state: 'accepted',
        permissions: { add: ['todos'] },
        roles: [
          { name: 'doer', permissions: { update: { todos: ['done'] } } },
          { name: 'missing', permissions: null },
        ],
      },
    ],
  })
  const query = new URLSearchParams(question)
  const overRest = await api(admin, 'GET', `/explain?${String(query)}`)
  expect(overRest).toEqual(await call('POST', 'explain', question))
  const asBob = await server.login(BOB)
  expect((await api(asBob, 'GET', `/explain?${String(query)}`)).status).toBe(403)
  expect((await call('POST', 'explain', { ...question, as: 'nobody' })).body['user']).toEqual({
    userId: 'nobody',
    state: 'unknown',
  })
  await api(admin, 'POST', '/users', [{ userId: BOB, type: 'eval', evalDaysLeft: 1 }])
  await call('POST', 'clock', { advance: '3d' })
  expect((await call('POST', 'explain', { ...question, do: 'update' })).body).toMatchObject({
    allowed: false,
    rule: 'the licence of the user has expired: they may read only',
  })
  await api(await server.token(), 'POST', '/users', [{ userId: BOB, deactivated: true }])
  expect((await call('POST', 'explain', question)).body).toMatchObject({
    allowed: false,
    rule: 'the user is deactivated',
  })
})

test.each([
  [{ do: 'read', table: 'todos', key: 'x' }, 'as'],
  [{ as: 'a', do: 'fly', table: 'todos' }, 'do must be one of read, add, update, delete'],
  [{ as: 'a', do: 'read', table: 'todos', key: 7 }, 'key must be a string'],
  [{ as: 'a', do: 'read', table: 'realms' }, 'key is missing'],
])('refuses %p', async (question, message) => {
  await using server = await setupTestMode()
  const { status, body } = await server.call('POST', 'explain', question)
  expect({ status, message: String(body['message']) }).toEqual({
    status: 400,
    message: expect.stringContaining(message) as string,
  })
  const query = new URLSearchParams(question as unknown as Record<string, string>)
  const overRest = await server.api(await server.token(), 'GET', `/explain?${String(query)}`)
  expect([400, 404]).toContain(overRest.status)
})

test('every address for tests is a command', async () => {
  await using server = await setupSharedList()
  const at = ['--data', server.folder]
  const satchel = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await runSatchel([...args, ...at])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' })
    return stdout.trim()
  }
  const id = await satchel('test', 'snapshot')
  expect(await satchel('test', 'restore', id)).toBe(`Restored ${id}`)
  expect(await satchel('test', 'fork', id)).toStartWith(`${server.url}/main-`)
  expect(await satchel('test', 'forget', id)).toBe(`Deleted ${id}`)
  expect(await satchel('test', 'clock', '--set', '2030-01-01', '--freeze')).toBe(
    '2030-01-01T00:00:00.000Z (stopped)',
  )
  expect(await satchel('test', 'clock', '--run', '--json')).toContain('"frozen":false')
  expect(await satchel('test', 'mail', '--to', EVE, '--wait', '1ms', '--json')).toBe('{"mails":[]}')
  expect(await satchel('test', 'login', EVE)).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
  const page = 'http://localhost:5173/'
  expect(await satchel('test', 'login', EVE, '--page', page)).toStartWith(`${page}?dxc-auth=`)
  expect(await satchel('test', 'idp')).toEndWith('/main/_test/idp')
  const people = ['Dora Ek <dora@example.com>', 'bob@example.com=denied']
  expect(await satchel('test', 'idp', ...people)).toEndWith('/main/_test/idp')
  const denied = await satchel('test', 'idp-login', BOB, '--redirect-uri', page)
  const [, answer = ''] = denied.split('dxc-auth=')
  expect(Buffer.from(answer, 'base64url').toString()).toContain('access_denied')
  const back = await satchel('test', 'idp-login', EVE, '--redirect-uri', page)
  expect(back).toStartWith(`${page}?dxc-auth=`)
  expect(await satchel('test', 'fault', '--latency', '1ms')).toContain('"latencyMs":1')
  expect(await satchel('test', 'fault', '--none')).toContain('"latencyMs":0')
  const question = ['--do', 'update', '--table', 'todos', '--key', 'tds1']
  const explained = await satchel('explain', '--as', BOB, ...question)
  expect(explained).toStartWith('Allowed: the role "doer" in the row mmbBob')
  expect(explained).toContain('mmbBob   accepted   doer      {"update":{"todos":["done"]}}')
  expect(await satchel('test', 'reset')).toBe('The database main is as at its start')
  for (const [args, code, message] of [
    [['restore', 'none'], 1, 'none'],
    [['idp', 'nobody'], 2, 'a name and an address'],
    [['idp', 'bob@example.com=tired'], 1, 'failure must be one of denied, unverified'],
  ] as const) {
    const { exitCode, stderr } = await runSatchel(['test', ...args, ...at])
    expect({ exitCode, stderr }).toEqual({
      exitCode: code,
      stderr: expect.stringContaining(message) as string,
    })
  }
})
