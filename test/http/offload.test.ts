import { describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { builtInTypeDefs, TypesonSimplified } from 'dexie-cloud-common'
import { filesByHash } from '../blobs/files'
import { PLAIN_IMPORT } from '../setup'
import { ALICE, BOB, type Caller, type DataServer, setupData } from './setup'

const TSON = TypesonSimplified(builtInTypeDefs)
const sent = (value: unknown) => JSON.parse(TSON.stringify(value)) as unknown

interface Ref {
  readonly _bt: string
  readonly ref: string
  readonly size: number
  readonly ct?: string
}
type Row = Readonly<Record<string, unknown>>

const file = (text: string, type = 'image/png') => ({
  $t: 'Blob',
  v: Buffer.from(text).toString('base64'),
  type,
})
const LONG = 'a long text '.repeat(20)

async function put(caller: Caller, row: Row, path = '/my/items'): Promise<Row> {
  const answer = await caller.post(path, row)
  expect([answer.status, answer.text.slice(0, 300)]).toMatchObject([200, expect.anything()])
  return answer.body as Row
}

async function bytesOf(caller: Caller, { main }: DataServer, { ref }: Ref) {
  const headers = { authorization: `Bearer ${caller.token}` }
  const answer = await fetch(`${main}/blob/${ref}`, { headers })
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    text: await answer.text(),
  }
}

/** The hashes of all stored contents. */
function contentsOf({ folder }: DataServer): string[] {
  return [...filesByHash(join(folder, 'databases', 'main', 'blobs')).keys()]
}

test('without the setting, values are returned as they were posted', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const row = { id: 'itm1', picture: file('x'.repeat(50_000)), text: 'y'.repeat(100_000) }
  expect(await put(alice, row)).toMatchObject(row)
  expect(await put(alice, row)).not.toHaveProperty('_hasBlobRefs')
})

test('larger values become blobs, at any depth of the object, and readers get a BlobRef', async () => {
  await using server = await setupData({ offloadBeyond: '100' })
  const alice = await server.as(ALICE)
  const large = new Uint16Array(60).fill(0x1234)
  const row = {
    id: 'itm1',
    small: file('few'),
    few: sent(new Uint8Array(100)),
    short: 'x'.repeat(100),
    picture: file(LONG),
    pages: [{ text: LONG, name: 'one' }, [sent(large)]],
    'dotted.name': file(LONG, ''),
  }
  const stored = await put(alice, row)
  const ref = expect.stringMatching(/^1:[\w-]{24}$/)
  expect(stored).toEqual({
    id: 'itm1',
    small: row.small,
    few: row.few,
    short: row.short,
    picture: { _bt: 'Blob', ref, size: LONG.length, ct: 'image/png' },
    pages: [
      {
        text: { _bt: 'string', ref, size: LONG.length, ct: 'text/plain;charset=utf-8' },
        name: 'one',
      },
      [{ _bt: 'Uint16Array', ref, size: 120 }],
    ],
    'dotted.name': { _bt: 'Blob', ref, size: LONG.length, ct: 'application/octet-stream' },
    _hasBlobRefs: 1,
    realmId: ALICE,
    owner: ALICE,
  })
  expect((await alice.get('/my/items/itm1')).body).toEqual(stored)
  const { picture, pages } = stored as { picture: Ref; pages: [{ text: Ref }, [Ref]] }
  expect(await bytesOf(alice, server, picture)).toEqual({
    status: 200,
    type: 'image/png',
    text: LONG,
  })
  expect(await bytesOf(alice, server, pages[0].text)).toMatchObject({
    type: 'text/plain;charset=utf-8',
    text: LONG,
  })
  const binary = await bytesOf(alice, server, pages[1][0])
  expect(binary).toMatchObject({
    type: 'application/octet-stream',
    text: '4\u0012'.repeat(60),
  })
  const bob = await server.as(BOB)
  expect((await bytesOf(bob, server, picture)).status).toBe(404)
})

test('as clients do it: every file, binary values from 4096 bytes, texts beyond 32768 units', async () => {
  await using server = await setupData({ offloadBeyond: 'clients' })
  const alice = await server.as(ALICE)
  const stored = await put(alice, {
    id: 'itm1',
    empty: file(''),
    below: sent(new Uint8Array(4095)),
    from: sent(new Uint8Array(4096)),
    short: 'ü'.repeat(32_768),
    long: 'ü'.repeat(32_769),
  })
  expect(stored).toMatchObject({
    empty: { _bt: 'Blob', size: 0 },
    below: { $t: 'Uint8Array' },
    from: { _bt: 'Uint8Array', size: 4096 },
    short: 'ü'.repeat(32_768),
    long: { _bt: 'string', size: 65_538 },
  })
})

test('keys, realms, owners, what an index is declared on, and built-in tables stay as they are', async () => {
  await using server = await setupData({ offloadBeyond: '3' })
  const realm = await put(await server.as(ALICE), { name: 'a long name' }, '/my/realms')
  expect(realm).toMatchObject({ name: 'a long name' })
  await server.push({ nested: 'a.id, b.c, [d+e], *f' })
  const row = {
    a: { id: 'a long key', x: 'a long text' },
    b: { c: 'indexed' },
    d: 'indexed',
    e: 'indexed',
    f: ['indexed'],
    g: 'not indexed',
    realmId: ALICE,
    owner: ALICE,
  }
  const stored = await put(server.root, row, '/all/nested')
  const gone = { _bt: 'string' }
  expect(stored).toMatchObject({ ...row, a: { id: row.a.id, x: gone }, g: gone })
  const found = await server.root.get('/all/nested?b.c=indexed&f=indexed')
  expect(found.body).toEqual([stored])
  expect((await server.root.get('/all/nested?g=not%20indexed')).body).toEqual([])
})

describe('a value that is posted again', () => {
  test('as it was read keeps its blobs', async () => {
    await using server = await setupData({ offloadBeyond: '100' })
    const alice = await server.as(ALICE)
    const stored = await put(alice, { id: 'itm1', picture: file(LONG) })
    expect(await put(alice, { ...stored, done: true })).toEqual({ ...stored, done: true })
    expect((await bytesOf(alice, server, stored['picture'] as Ref)).text).toBe(LONG)
  })

  test('with the same bytes gets the same refs, with others new ones', async () => {
    await using server = await setupData({ offloadBeyond: '100' })
    const alice = await server.as(ALICE)
    const row = { id: 'itm1', list: [{ picture: file(LONG) }, { text: LONG }] }
    const stored = await put(alice, row)
    expect(await put(alice, { ...row })).toEqual(stored)
    expect(contentsOf(server)).toHaveLength(1)
    const [first, second] = stored['list'] as [Row, Row]
    const changed = await put(alice, {
      ...row,
      list: [{ picture: file(LONG, 'image/gif') }, row.list[1]],
    })
    const [other, same] = changed['list'] as [Row, Row]
    expect(other['picture']).not.toEqual(first['picture'])
    expect(same).toEqual(second)
  })

  test('in the place of what only looks like a BlobRef gets a blob of its own', async () => {
    await using server = await setupData({ offloadBeyond: '100' })
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const headers = { 'content-type': 'image/png' }
    expect((await bob.send('PUT', '/blob/bobs', { body: LONG, headers })).status).toBe(200)
    for (const [id, more] of [
      ['itm1', {}],
      ['itm2', { _bt: 'Blob', v: 'inline' }],
    ] as const) {
      await put(alice, { id, picture: { ref: '1:bobs', ...more } })
      const { picture } = await put(alice, { id, picture: file(LONG) })
      expect((picture as Ref).ref).not.toBe('1:bobs')
      expect((await bytesOf(alice, server, picture as Ref)).text).toBe(LONG)
    }
  })

  test('is unchanged for a user who may only change other properties', async () => {
    await using server = await setupData({ offloadBeyond: '100' })
    const alice = await server.as(ALICE)
    const bob = await server.as(BOB)
    const { realmId } = await put(alice, { name: 'team' }, '/my/realms')
    const permissions = { update: { items: ['done'] } }
    const member = { realmId, userId: BOB, permissions }
    expect((await server.root.post('/all/members', member)).status).toBe(200)
    const stored = await put(alice, { id: 'itm1', realmId, picture: file(LONG), done: false })
    const ticked = { id: 'itm1', picture: file(LONG), done: true }
    expect(await put(bob, ticked)).toEqual({ ...stored, done: true })
    const swapped = await bob.post('/my/items', { ...ticked, picture: file(LONG.toUpperCase()) })
    expect(swapped).toMatchObject({ status: 403, body: { reason: 'update items.picture' } })
    expect(contentsOf(server)).toHaveLength(1)
  })
})

describe('a rejected request leaves nothing', () => {
  const bad = { $t: 'Uint8Array', v: '!'.repeat(200) }
  test.each<[string, Row | Row[], number, string]>([
    ['bytes that are none', { id: 'itm1', a: { b: [bad] } }, 422, 'a.b.0'],
    [
      'bytes in one of several',
      [
        { id: 'itm1', a: file(LONG) },
        { id: 'itm2', a: bad },
      ],
      422,
      '[1].a',
    ],
    [
      'characters whose lower byte is one of b64lex',
      { id: 'itm1', a: { $t: 'Uint8Array', v: '\u0130'.repeat(200) } },
      422,
      'a',
    ],
    ['a type that is none', { id: 'itm1', a: file(LONG, 'image/\u0001') }, 422, 'a'],
    [
      'half an element',
      { id: 'itm1', a: { $t: 'Uint16Array', v: `${'0'.repeat(200)}0G--` } },
      422,
      'a',
    ],
    ['a realm of others', { id: 'itm1', a: file(LONG), realmId: 'rlm-none' }, 403, ''],
    ['a number', { id: 'itm1', a: file(LONG), b: 2 ** 60 }, 422, 'b'],
  ])('%s', async (_name, body, status, reason) => {
    await using server = await setupData({ offloadBeyond: '100' })
    const alice = await server.as(ALICE)
    const answer = await alice.post('/my/items', body)
    expect(answer.status).toBe(status)
    if (reason !== '') expect(answer.body).toMatchObject({ reason })
    expect((await alice.get('/my/items')).body).toEqual([])
    expect(contentsOf(server)).toEqual([])
  })

  test('an object of another user', async () => {
    await using server = await setupData({ offloadBeyond: '100' })
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    await put(alice, { id: 'itm1', a: file('theirs'.repeat(50)) })
    const answer = await bob.post('/my/items', [{ a: file(LONG) }, { id: 'itm1', a: file(LONG) }])
    expect(answer.status).toBe(403)
    expect(contentsOf(server)).toHaveLength(1)
  })
})

test('a blob larger than blobs may be is refused, and nothing of the request stored', async () => {
  await using server = await setupData({ offloadBeyond: '100', maxBlob: '200' })
  const alice = await server.as(ALICE)
  const rows = [{ a: file('x'.repeat(200)) }, { a: file('y'.repeat(201)) }]
  const answer = await alice.post('/my/items', rows)
  expect(answer).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
  expect(contentsOf(server)).toEqual([])
  expect(await put(alice, rows[0] ?? {})).toHaveProperty('_hasBlobRefs', 1)
})

test('offloaded values count against the quota of their user', async () => {
  await using server = await setupData({ offloadBeyond: '100', userBlobQuota: '300' })
  const alice = await server.as(ALICE)
  await put(alice, { id: 'itm1', a: file('x'.repeat(200)) })
  const answer = await alice.post('/my/items', { id: 'itm2', a: file('y'.repeat(101)) })
  expect(answer).toMatchObject({ status: 507, body: { code: 'QUOTA_EXCEEDED' } })
  expect(contentsOf(server)).toHaveLength(1)
  expect((await alice.get('/my/items')).body).toHaveLength(1)
  await put(await server.as(BOB), { a: file('y'.repeat(101)) })
})

test('a request makes a thousand blobs at the most', async () => {
  await using server = await setupData({ offloadBeyond: 'clients' })
  const alice = await server.as(ALICE)
  const row = (count: number) => ({
    list: Array.from({ length: count }, (_, n) => file(`${n % 3}`)),
  })
  const stored = await put(alice, row(1_000))
  expect(new Set((stored['list'] as Ref[]).map(({ ref }) => ref)).size).toBe(1_000)
  expect(contentsOf(server)).toHaveLength(3)
  const answer = await alice.post('/my/items', [row(500), row(501)])
  expect(answer).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
  expect((await alice.get('/my/items')).body).toHaveLength(1)
})

test('a small value of any type stays as it was posted', async () => {
  await using server = await setupData({ offloadBeyond: '100' })
  const alice = await server.as(ALICE)
  const row = {
    id: 'itm1',
    a: file('few', 'no\ntype'),
    b: { $t: 'Uint8Array', v: '0G--' },
    c: { $t: 'Unheard', v: '!' },
  }
  expect(await put(alice, row)).toMatchObject(row)
})

test('a first write, which brings the private realm of its writer to life, may bring blobs', async () => {
  await using server = await setupData({ offloadBeyond: '100' })
  const carol = await server.as('carol')
  const stored = await put(carol, { picture: file(LONG) })
  expect((await bytesOf(carol, server, stored['picture'] as Ref)).text).toBe(LONG)
})

test('one who writes for all brings blobs that the owners of the objects read', async () => {
  await using server = await setupData({ offloadBeyond: '100' })
  const alice = await server.as(ALICE)
  const [stored] = (
    await server.root.post('/all/items', [{ id: 'itm1', realmId: ALICE, a: file(LONG) }])
  ).body as [Row]
  expect((await bytesOf(alice, server, stored['a'] as Ref)).text).toBe(LONG)
  const shown = await put(server.root, { id: 'itm2', b: LONG }, '/public/items')
  const answer = await fetch(`${server.main}/blob/${(shown['b'] as Ref).ref}`)
  expect(await answer.text()).toBe(LONG)
})

test('a database may have a rule of its own, from the next request on', async () => {
  await using server = await setupData({ offloadBeyond: '100' })
  const alice = await server.as(ALICE)
  const rule = (text: string | null, reset = false) =>
    server.commands.run('db.offload', { database: 'main', rule: text, reset })
  expect(await rule(null)).toEqual({ name: 'main', beyond: '100', isOwn: false })
  const isOffloaded = async () =>
    typeof (await put(alice, { id: 'itm1', text: LONG }))['text'] === 'object'
  expect(await isOffloaded()).toBe(true)
  expect(await rule('off')).toEqual({ name: 'main', beyond: 'off', isOwn: true })
  expect(await isOffloaded()).toBe(false)
  await rule('1000')
  expect(await isOffloaded()).toBe(false)
  expect(await rule(null, true)).toMatchObject({ beyond: '100', isOwn: false })
  expect(await isOffloaded()).toBe(true)
  expect(rule('much')).rejects.toMatchObject({ code: 'UNPROCESSABLE' })
  await rule('much').catch(() => undefined)
})

test('an import stores what its file says', async () => {
  await using server = await setupData({ offloadBeyond: '3' })
  const line = { realm: ALICE, table: 'items', id: 'itm1', data: { text: LONG, a: file(LONG) } }
  const upload = new Blob([`${JSON.stringify(line)}\n`]).stream()
  await server.commands.run('import', PLAIN_IMPORT, { upload })
  expect((await server.root.get('/all/items/itm1')).body).toMatchObject(line.data)
})
