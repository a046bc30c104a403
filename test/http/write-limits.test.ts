import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { ALICE, setupData } from './setup'

const LIMITS = {
  maxObjects: 20,
  maxRows: 4,
  maxEntries: 10,
  maxRequestEntries: 30,
  maxProperties: 8,
}

test.each([
  ['maxObjects', '/all/plain', many(21, (n) => ({ id: `${n}`, realmId: 'rlm-public' })), '20'],
  ['maxRows', '/my/realms', many(5, () => ({})), '4 rows of "realms"'],
  ['maxEntries', '/my/items', [{}, { tags: many(11, String) }], 'the object at [1] has 11'],
  ['maxEntries', '/my/items', { tags: many(900, String) }, 'this one has 900'],
  ['maxRequestEntries', '/my/items', many(4, () => ({ tags: many(8, String) })), 'at [3]'],
  [
    'maxProperties',
    '/my/plain',
    [{ id: 'a', rest: Object.fromEntries(many(7, (n) => [`property-${n}`, 'x'.repeat(50)])) }],
    'An object may have 8 properties, and the object at [0] has 9',
  ],
])('%s limits a request, and nothing of it is stored', async (setting, path, body, sentence) => {
  await using server = await setupData(LIMITS)
  const caller = path.startsWith('/all') ? server.root : await server.as(ALICE)
  const { status, body: refusal } = await caller.post(path, body)
  expect(status).toBe(422)
  expect(refusal).toMatchObject({ code: 'UNPROCESSABLE', reason: setting })
  const { message } = refusal as { message: string }
  expect(message).toContain(sentence)
  expect(message).toEndWith(`or change the setting ${setting}`)
  expect((await caller.get(path)).body).toEqual([])
})

test('as much as the limits allow is stored, and the rows of owners do not count', async () => {
  await using server = await setupData(LIMITS)
  const alice = await server.as(ALICE)
  const bodies = {
    '/my/items': many(5, () => ({ tags: many(5, String) })),
    '/my/realms': many(4, () => ({})),
    '/my/plain': many(20, (n) => ({ id: `${n}` })),
  }
  for (const [path, body] of Object.entries(bodies)) {
    expect((await alice.post(path, body)).status, path).toBe(200)
  }
  expect((await alice.get('/my/realms')).body).toHaveLength(4)
})

test('a request replaces no more index entries than it may write', async () => {
  await using server = await setupData(LIMITS)
  const alice = await server.as(ALICE)
  const tagged = (from: number, tags: readonly string[]) =>
    many(6, (n) => ({ id: `${from + n}`, tags }))
  const tags = many(5, String)
  for (const from of [0, 6])
    expect((await alice.post('/my/items', tagged(from, tags))).status).toBe(200)
  const bare = [...tagged(0, []), ...tagged(6, [])]
  const { status, body } = await alice.post('/my/items', bare)
  expect(status).toBe(422)
  expect(body).toMatchObject({ code: 'UNPROCESSABLE', reason: 'maxRequestEntries' })
  expect((await alice.get('/my/items?tags=1')).body).toHaveLength(12)
  // Entries that stay are not replaced.
  const kept = [...tagged(0, tags), ...tagged(6, [])].map((one) => ({ ...one, done: true }))
  expect((await alice.post('/my/items', kept)).status).toBe(200)
  expect((await alice.get('/my/items?tags=1')).body).toHaveLength(6)
})

test('a request whose caller disconnects stores nothing', async () => {
  await using server = await setupData()
  const { port, hostname } = new URL(server.url)
  const body = `[${many(50_000, () => '{}').join(',')}]`
  const head = `POST /main/public/items HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${server.root.token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const refusals = () => server.lines.filter((line) => line.includes('"path":"/main/public/items"'))
  const isBusy = () => refusals().some((line) => line.includes('"code":"BUSY"'))
  // The server notices it before the objects are parsed or while they are stored: the kernel decides.
  for (let tries = 0; tries < 20 && !isBusy(); tries += 1) {
    const earlier = refusals().length
    const socket = connect(Number(port), hostname)
    await new Promise((resolve) => {
      socket.write(head + body, resolve)
    })
    socket.destroy()
    expect((await server.root.post('/public/plain', { id: 'a' })).status).toBe(200)
    while (refusals().length === earlier) await Bun.sleep(10)
    expect(refusals().at(-1)).toMatch(/"code":"(BUSY|INVALID_REQUEST)"/)
  }
  expect((await server.root.get('/public/items?$limit=1')).body).toEqual([])
})

function many<T>(length: number, make: (n: number) => T): T[] {
  return Array.from({ length }, (_, n) => make(n))
}
