import { expect, test } from 'bun:test'
import { type Door, DOORS, doorOf, scopesOf } from '../../src/domain/access/door'
import { type Scope, SCOPES } from '../../src/domain/value/scope'
import { testRoutes } from '../../src/control/testing'
import { ALICE } from '../http/setup'
import { fill, setupDocument } from '../openapi/setup'
import { setupTestMode } from '../testing/setup'

/**
 * Promise 47: every door asks for its scopes. One table of doors × scopes × views, walked here: a token
 * with `scopes: []` gets nothing from any of them but what an anonymous caller gets.
 */

const SECRET = 'a private row of Alice'
const NEWS = 'a public row'

/** The sets of scopes that a door is tried with: none, each alone, all but each, and all. */
const SETS: readonly (readonly Scope[])[] = [
  [],
  ...SCOPES.map((scope) => [scope]),
  ...SCOPES.map((scope) => SCOPES.filter((other) => other !== scope)),
  SCOPES,
]

/** Doors whose success ends the database or the user of the walk. */
const DEADLY: ReadonlySet<string> = new Set(['deleteUser', 'deleteDatabase'])

test('promise 47: every route has a line in the table of doors, and each line a route', async () => {
  await using server = await setupDocument()
  const routes = server.operations.map(({ operation }) => operation.operationId)
  expect([...routes, 'test'].toSorted()).toEqual(Object.keys(DOORS).toSorted())
})

test('promise 47: doors × scopes × views: a door opens to the scopes of its line alone', async () => {
  await using server = await setupDocument()
  const alice = await server.as(ALICE)
  await alice.post('/my/todoItems', { id: 'tdoSecret', title: SECRET })
  await server.root.post('/public/todoItems', { id: 'tdoNews', title: NEWS })
  const tokens = new Map<readonly Scope[], string>()
  for (const scopes of SETS) tokens.set(scopes, await server.token({ sub: ALICE, scopes }))

  const call = async (name: string, method: string, path: string, token?: string) => {
    const headers: Record<string, string> = { accept: 'application/json' }
    const address = new URL(server.url + fill(path).replace('/nothing', '/tdoSecret'))
    if (token !== undefined && name === 'listen') address.searchParams.set('token', token)
    else if (token !== undefined) headers['authorization'] = `Bearer ${token}`
    const answer = await fetch(address, { method, headers, redirect: 'manual' })
    return { status: answer.status, text: await answer.text() }
  }

  /** Doors that have shown the private row. */
  const shown = new Set<string>()
  // Reads come before what removes the row.
  const order = server.operations.toSorted(
    (one, other) => Number(one.method !== 'GET') - Number(other.method !== 'GET'),
  )
  for (const { path, method, operation } of order) {
    const name = operation.operationId
    const door = doorOf(name)
    const anonymous = await call(name, method, path)
    expect(anonymous.text).not.toContain(SECRET)
    if (Array.isArray(door)) expect({ name, ...anonymous }).toMatchObject({ name, status: 401 })
    for (const [scopes, token] of tokens) {
      if (DEADLY.has(name) && isOpenTo(door, scopes)) continue
      const { status, text } = await call(name, method, path, token)
      const tried = { name, scopes, status, text: text.slice(0, 200) }
      if (!isOpenTo(door, scopes)) {
        expect(tried).toMatchObject({ status: 403 })
        expect(text).toContain('NOT_AUTHORIZED')
        expect(text).not.toContain(SECRET)
        expect(text).not.toContain(NEWS)
      } else if (scopesOf(door) !== undefined) {
        if (text.includes(SECRET)) shown.add(name)
        expect(tried).not.toMatchObject({
          text: expect.stringContaining('reason":"scope') as string,
        })
        expect([401, 500]).not.toContain(status)
      } else if (door === 'anyone') {
        expect(tried).toMatchObject({ status: anonymous.status })
        expect(text).not.toContain(SECRET)
      } else {
        expect(status).toBeWithin(400, 500)
      }
    }
  }
  const views = ['all', 'my', 'table'].flatMap((view) => [`${view}List`, `${view}Get`])
  expect([...shown].toSorted()).toEqual([...views, 'exportDatabase', 'exportLines'].toSorted())
})

test('promise 47: the addresses for tests open to no token of a database', async () => {
  await using server = await setupTestMode()
  for (const scopes of SETS) {
    const authorization = `Bearer ${await server.token({ sub: ALICE, scopes })}`
    for (const { method, path } of testRoutes()) {
      const { status } = await server.call(method, path.replace(':id', 'x'), undefined, {
        authorization,
      })
      expect({ path, status }).toEqual({ path, status: 401 })
    }
  }
})

function isOpenTo(door: Door, scopes: readonly Scope[]): boolean {
  return (scopesOf(door) ?? []).every((scope) => scopes.includes(scope))
}
