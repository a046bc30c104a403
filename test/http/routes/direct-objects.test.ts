import { expect, test } from 'bun:test'
import { ALICE, callerOf, setupData, type Caller, type SendOptions } from '../setup'

interface Case extends SendOptions {
  readonly status: number
  readonly method: string
  readonly path: string
  /** The caller whose token is sent; absent for an anonymous request. */
  readonly as?: 'alice' | 'root' | 'reader' | 'forger'
}

const FILLED = { id: 'a', title: 'x', count: 1 }
const JSON_TYPE = { 'content-type': 'application/json' }

const CASES: readonly Case[] = [
  { status: 200, method: 'GET', path: '/public/plain' },
  { status: 200, method: 'GET', path: '/public/plain?$limit=1' },
  { status: 200, method: 'GET', path: '/public/plain?title=x' },
  { status: 200, method: 'GET', path: '/public/plain/a' },
  { status: 200, method: 'GET', path: '/public/plain/%61' },
  { status: 200, method: 'GET', path: '/all/plain/a', as: 'root' },
  { status: 200, method: 'GET', path: '/my/plain/a', as: 'alice' },
  { status: 200, method: 'GET', path: '/my/plain/a', as: 'alice', headers: { origin: 'own' } },
  { status: 200, method: 'GET', path: '/my/plain', as: 'alice' },
  { status: 200, method: 'POST', path: '/my/plain', as: 'alice', body: { id: 'b', title: 'y' } },
  { status: 200, method: 'POST', path: '/my/plain', as: 'alice', body: [{ id: 'b' }, { id: 'c' }] },
  { status: 200, method: 'POST', path: '/all/plain', as: 'root', body: [] },
  { status: 200, method: 'PUT', path: '/my/plain/b', as: 'alice', body: { title: 'z' } },
  {
    status: 204,
    method: 'POST',
    path: '/my/plain',
    as: 'alice',
    body: { id: 'b' },
    headers: { prefer: 'return=minimal' },
  },
  { status: 204, method: 'DELETE', path: '/public/plain/a', as: 'root' },
  { status: 204, method: 'OPTIONS', path: '/my/plain' },
  { status: 400, method: 'GET', path: '/public/plain/%zz' },
  { status: 400, method: 'GET', path: '/public/%zz/a' },
  { status: 400, method: 'GET', path: '/public/plain?$limit=none' },
  { status: 400, method: 'POST', path: '/my/plain', as: 'alice', body: '{"id":' },
  { status: 401, method: 'GET', path: '/my/plain/a' },
  { status: 401, method: 'GET', path: '/public/plain/a', as: 'forger' },
  { status: 401, method: 'POST', path: '/public/plain', body: FILLED },
  { status: 401, method: 'DELETE', path: '/my/plain/a' },
  { status: 403, method: 'GET', path: '/all/plain/a', as: 'alice' },
  { status: 403, method: 'GET', path: '/all/plain', as: 'alice' },
  { status: 403, method: 'POST', path: '/public/plain', as: 'alice', body: FILLED },
  { status: 403, method: 'POST', path: '/all/plain', as: 'reader', body: FILLED },
  { status: 403, method: 'PUT', path: '/my/plain/a', as: 'alice', body: { title: 'mine' } },
  { status: 403, method: 'DELETE', path: '/my/plain/a', as: 'alice' },
  {
    status: 403,
    method: 'GET',
    path: '/public/plain/a',
    headers: { origin: 'https://no.example' },
  },
  { status: 404, method: 'GET', path: '/my/plain/none', as: 'alice' },
  { status: 404, method: 'GET', path: '/my/none/a', as: 'alice' },
  { status: 404, method: 'DELETE', path: '/my/plain/none', as: 'alice' },
  { status: 404, method: 'GET', path: '/public/plain%2Fa' },
  { status: 404, method: 'GET', path: '/our/plain/a', as: 'alice' },
  { status: 404, method: 'GET', path: '/my/plain/a/b', as: 'alice' },
  { status: 405, method: 'DELETE', path: '/my/plain', as: 'alice' },
  { status: 405, method: 'POST', path: '/my/plain/a', as: 'alice', body: FILLED },
  { status: 405, method: 'PATCH', path: '/my/plain/a', as: 'alice', body: FILLED },
  { status: 409, method: 'POST', path: '/public/plain', as: 'root', body: { id: 'foreign' } },
  { status: 413, method: 'POST', path: '/my/plain', as: 'alice', body: { id: 'x'.repeat(3000) } },
  {
    status: 415,
    method: 'POST',
    path: '/my/plain',
    as: 'alice',
    body: 'id=a',
    headers: { 'content-type': 'text/plain' },
  },
  { status: 422, method: 'POST', path: '/my/plain', as: 'alice', body: { title: 'no key' } },
  { status: 422, method: 'POST', path: '/my/plain', as: 'alice', body: [{ id: 'a' }, 5] },
  { status: 422, method: 'POST', path: '/all/plain', as: 'root', body: { id: 'no realm' } },
  { status: 200, method: 'POST', path: '/sync', body: { clientIdentity: 'one' } },
  { status: 200, method: 'POST', path: '/sync', as: 'alice', body: { clientIdentity: 'one' } },
  { status: 204, method: 'OPTIONS', path: '/sync' },
  { status: 400, method: 'POST', path: '/sync', as: 'alice', body: {} },
  { status: 401, method: 'POST', path: '/sync', as: 'forger', body: { clientIdentity: 'one' } },
]

// A slash at the end belongs to the same route, and only the router knows that.
test('calls on objects, and syncs, are answered alike with and without the router', async () => {
  await using server = await setupData({ maxBody: 2048, rateLimits: 'off' })
  const { root, anyone } = server
  const callers: Record<NonNullable<Case['as']>, Caller> = {
    root,
    alice: await server.as(ALICE),
    reader: await server.as('reader', ['ACCESS_DB', 'GLOBAL_READ']),
    forger: callerOf(server.main, 'forged'),
  }
  await root.post('/all/plain', { id: 'foreign', realmId: ALICE })
  await callers.alice.post('/my/plain', [{ id: 'b' }, { id: 'c' }])

  async function told({ method, path, as, headers, body }: Case) {
    await root.post('/public/plain', FILLED)
    const caller = as === undefined ? anyone : callers[as]
    const own = headers?.['origin'] === 'own' ? { origin: server.url } : {}
    const answer = await caller.send(method, path, {
      body,
      headers: { ...(body === undefined ? {} : JSON_TYPE), ...headers, ...own },
    })
    const id = answer.headers.get('x-request-id') ?? 'no id'
    answer.headers.delete('date')
    answer.headers.delete('x-request-id')
    const line = server.lines.findLast((text) => text.includes(id)) ?? '{}'
    const {
      time,
      ms,
      requestId,
      path: logged,
      ...rest
    } = JSON.parse(line) as Record<string, unknown>
    expect([time, ms, requestId]).toEqual([expect.any(String), expect.any(Number), id])
    const sent = `/main${path.replace(/\?.*/, '')}`
    expect(logged).toBeOneOf([sent, sent.replace('%61', 'a')])
    return {
      status: answer.status,
      headers: Object.fromEntries(answer.headers),
      // Each call changes the object before, which takes a revision.
      text: answer.text.replace(id, '').replace(/"serverRevision":.*/, ''),
      log: rest,
    }
  }

  for (const one of CASES) {
    const [path, query] = one.path.split('?')
    const direct = await told(one)
    const routed = await told({ ...one, path: `${path}/${query === undefined ? '' : `?${query}`}` })
    expect({ case: one, ...direct }).toEqual({ case: one, ...routed })
    expect({ case: one, status: direct.status }).toEqual({ case: one, status: one.status })
  }
})

test('limits count calls alike with and without the router', async () => {
  await using server = await setupData({ rateLimits: 'reads=3/m,writes=2/m' })
  const alice = await server.as(ALICE)
  const seen: [number, string | null, string | null][] = []
  for (const path of [
    '/my/plain/a',
    '/my/plain/a/',
    '/my/plain/a',
    '/my/plain/a/',
    '/my/plain/a',
  ]) {
    const { status, headers } = await alice.get(path)
    seen.push([status, headers.get('ratelimit-remaining'), headers.get('ratelimit-limit')])
  }
  expect(seen).toEqual([
    [404, '2', '3'],
    [404, '1', '3'],
    [404, '0', '3'],
    [429, '0', '3'],
    [429, '0', '3'],
  ])
})
