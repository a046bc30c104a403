import { expect, test } from 'bun:test'
import { fill, setupDocument } from '../openapi/setup'
import { ALICE } from './setup'

const GLOBAL = ['ACCESS_DB', 'GLOBAL_READ', 'GLOBAL_WRITE']
/** Routes that the document does not list. */
const HIDDEN = [
  { method: 'GET', path: '/{database}/oauth/callback/{provider}' },
  { method: 'POST', path: '/{database}/oauth/callback/{provider}' },
]
const NOWHERE = [
  { method: 'GET', path: '/nowhere/at/all/of/it' },
  { method: 'DELETE', path: '/main/my/todoItems' },
  { method: 'GET', path: '/main/my/todoItems/%zz' },
  { method: 'GET', path: '/main/my/todoItems?$limit=none' },
]

// design.md §6: there is one function that makes responses, and nothing else answers.
test('every answer of every route has the headers of all answers', async () => {
  await using server = await setupDocument({ rateLimits: 'on' })
  const succeeded = new Set<string>()

  async function check(method: string, path: string, headers: Record<string, string>) {
    const withBody = method === 'POST' || method === 'PUT'
    const body = withBody ? JSON.stringify({ title: 'Buy milk' }) : null
    const origin = server.url
    const response = await fetch(server.url + path, {
      method,
      redirect: 'manual',
      headers: { origin, ...(withBody ? { 'content-type': 'application/json' } : {}), ...headers },
      body,
    })
    await response.arrayBuffer()
    const { headers: answered } = response
    // The origin of a provider's form is not checked, so no page may read what comes back.
    const isProviderForm = method === 'POST' && path.includes('/oauth/callback/')
    expect({
      method,
      path,
      id: answered.get('x-request-id') !== null,
      type: answered.get('x-content-type-options'),
      referrer: answered.get('referrer-policy'),
      isCachingSaid: answered.has('cache-control'),
      vary: answered.get('vary'),
      origin: answered.get('access-control-allow-origin'),
    }).toEqual({
      method,
      path,
      id: true,
      type: 'nosniff',
      referrer: 'no-referrer',
      isCachingSaid: true,
      vary: 'Authorization, Origin',
      origin: isProviderForm ? null : origin,
    })
    if (response.ok) succeeded.add(`${method} ${path}`)
  }

  for (const { method, path } of [...server.operations, ...HIDDEN, ...NOWHERE]) {
    await check(method, fill(path), {})
    await check(method, fill(path.replace('{database}', 'elsewhere')), {})
    await check('OPTIONS', fill(path), {})
    const preflight = { 'access-control-request-method': method }
    await check('OPTIONS', fill(path), preflight)
    // One of the routes deletes its caller.
    const token = await server.token({ sub: ALICE, scopes: GLOBAL })
    const authorization = `Bearer ${token}`
    const address = fill(path)
    await check(method, address, { authorization })
    if (method === 'PUT') {
      const read = address.replace('/blob/nothing', '/blob/1:nothing')
      await check('GET', read, { authorization })
      await check('GET', read, { authorization, range: 'bytes=0-0' })
      await check('GET', read, { authorization, range: 'bytes=0-0,2-3' })
      await check('GET', read, { authorization, range: 'bytes=900-' })
      await check('HEAD', read, { authorization })
    }
    if (method === 'GET') await check('HEAD', address, { authorization })
  }
  expect(succeeded.size).toBeGreaterThan(server.operations.length)
})
