import { describe, expect, test } from 'bun:test'
import type { Answer as SyncAnswer } from '../../domain/sync/setup'
import { PLAIN_IMPORT } from '../../setup'
import { type Answer, ALICE, BOB, type Caller, type DataServer, setupData } from '../setup'

const MARKED = { markedForSync: true, initiallySynced: true }
const FIRST = {
  v: 3,
  clientIdentity: 'UebGj3YD7M35H75CKtI6xQ==',
  schema: { plain: MARKED },
  baseRevs: [],
  changes: [],
  y: [],
  dxcv: '4.4.14',
}

function sync(caller: Caller, more: object = {}): Promise<Answer> {
  const body = JSON.stringify({ ...FIRST, ...more })
  return caller.send('POST', '/sync', { body, headers: { 'content-type': 'application/tson' } })
}

const bodyOf = ({ body }: Answer) => body as SyncAnswer

/** `lastPull` as a client sends it after an answer. */
function after(answer: Answer) {
  const { serverRevision, realms, inviteRealms } = bodyOf(answer)
  return { serverRevision, realms, inviteRealms }
}

function insert(keys: readonly string[], more: object = {}) {
  const values = keys.map((id) => ({ id, owner: ALICE, realmId: ALICE, ...more }))
  const mut = { type: 'insert', keys, values, txid: 't1', userId: ALICE, ts: 1, rev: 1, opNo: 1 }
  return [{ table: 'plain', muts: [mut] }]
}

describe('POST /sync', () => {
  test('gives an anonymous client the public objects, and stores nothing about it', async () => {
    await using server = await setupData()
    await server.root.post('/public/plain', { id: 'a' })
    const revision = await server.commands.run('db.list', {})
    const answer = await sync(server.anyone)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toStartWith('application/json')
    expect(bodyOf(answer)).toMatchObject({
      realms: ['rlm-public'],
      inviteRealms: [],
      schema: { plain: MARKED },
      rejections: [],
      changes: [{ table: 'plain', muts: [{ type: 'upsert', keys: ['a'] }] }],
    })
    expect(bodyOf(answer)).not.toHaveProperty('yMessages')
    expect(await server.commands.run('db.list', {})).toEqual(revision)
    const again = await sync(server.anyone, { lastPull: after(answer) })
    expect(bodyOf(again)).toMatchObject({
      changes: [],
      serverRevision: bodyOf(answer).serverRevision,
    })
  })

  test('stores what a user changed, durable when it answers', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const answer = await sync(alice, { changes: insert(['a', 'b']) })
    expect(bodyOf(answer)).toMatchObject({ realms: [ALICE, 'rlm-public'], changes: [] })
    expect((await alice.get('/my/plain/b')).status).toBe(200)
  })

  test('learns tables from users, and shows REST what they stored', async () => {
    await using server = await setupData()
    const schema = { plain: MARKED, diary: { markedForSync: true, primaryKey: 'day' } }
    expect(bodyOf(await sync(server.anyone, { schema })).schema['diary']).toMatchObject({
      initiallySynced: false,
    })
    const alice = await server.as(ALICE)
    expect((await alice.get('/my/diary')).status).toBe(404)
    expect(bodyOf(await sync(alice, { schema })).schema['diary']).toEqual({
      markedForSync: true,
      primaryKey: 'day',
      initiallySynced: true,
    })
    expect((await alice.post('/my/diary', { day: 'Monday' })).status).toBe(200)
  })

  test('streams many rows', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const text = 'x'.repeat(2_000)
    const objects = Array.from({ length: 1_000 }, (_, at) => ({ id: `a${at}`, text }))
    await alice.post('/my/plain', objects)
    const answer = await sync(alice)
    const { changes, serverRevision } = bodyOf(answer)
    expect(changes.flatMap(({ muts }) => muts.flatMap(({ keys }) => keys))).toHaveLength(1_000)
    expect(answer.text).toEndWith(`"serverRevision":${JSON.stringify(serverRevision)}}`)
    expect(answer.headers.get('content-length')).toBeNull()
  })

  test('takes a large log by way of a file', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const keys = Array.from({ length: 600 }, (_, at) => `a${at}`)
    const answer = await sync(alice, { changes: insert(keys, { text: 'x'.repeat(1_000) }) })
    expect(answer.status).toBe(200)
    expect((await alice.get('/my/plain/a599')).status).toBe(200)
  })

  test('counts the syncs of each device, but not its first one (conformance 102)', async () => {
    await using server = await setupData({ rateLimits: 'syncs=2/1m,writes=1/1m,reads=1/1m' })
    const alice = await server.as(ALICE)
    const first = await sync(alice)
    for (let times = 0; times < 3; times += 1) expect((await sync(alice)).status).toBe(200)
    const lastPull = after(first)
    for (const remaining of ['1', '0']) {
      const { status, headers } = await sync(alice, { lastPull })
      expect(status).toBe(200)
      expect(headers.get('ratelimit-limit')).toBe('2')
      expect(headers.get('ratelimit-remaining')).toBe(remaining)
    }
    const over = await sync(alice, { lastPull })
    expect(over).toMatchObject({ status: 429, body: { code: 'TOO_MANY_REQUESTS' } })
    expect((await sync(alice, { lastPull, clientIdentity: 'another' })).status).toBe(200)
    const anonymous = { ...lastPull, realms: ['rlm-public'] }
    expect((await sync(alice, { lastPull: anonymous })).status).toBe(200)
    // Others at the same address have limits of their own, and so has REST.
    const bob = await server.as(BOB)
    const others = [
      await sync(bob, { lastPull: { ...lastPull, realms: [BOB] } }),
      await sync(server.anyone, { lastPull: anonymous }),
      await sync(server.anyone, { lastPull: anonymous, clientIdentity: 'another' }),
    ]
    for (const { status, headers } of others) {
      expect([status, headers.get('ratelimit-remaining')]).toEqual([200, '1'])
    }
    expect((await alice.get('/my/plain')).status).toBe(200)
  })
})

describe('POST /sync refuses', () => {
  const CASES: readonly [string, number, string, (server: DataServer) => Promise<Answer>][] = [
    ['a body that is no request', 400, 'INVALID_REQUEST', ({ anyone }) => anyone.post('/sync', [])],
    ['JSON that is broken', 400, 'INVALID_REQUEST', ({ anyone }) => anyone.post('/sync', '{"v":3')],
    [
      'a client of another database',
      409,
      'CONFLICT',
      async (server) => sync(await server.as(ALICE), { dbID: 'another', changes: insert(['a']) }),
    ],
    [
      'changes of an anonymous client',
      401,
      'INVALID_TOKEN',
      ({ anyone }) => sync(anyone, { changes: insert(['a']) }),
    ],
    [
      'a token without ACCESS_DB',
      403,
      'NOT_AUTHORIZED',
      async (server) => sync(await server.as(ALICE, [])),
    ],
    [
      'a user whose licence has expired',
      403,
      'LICENSE_EXPIRED',
      async (server) => {
        const alice = await server.as(ALICE)
        const validUntil = new Date(server.clock.now() - 1).toISOString()
        await server.root.post('/users', { userId: ALICE, validUntil })
        return sync(alice)
      },
    ],
    [
      'a user who is deactivated',
      403,
      'USER_DEACTIVATED',
      async (server) => {
        const alice = await server.as(ALICE)
        await server.root.post('/users', { userId: ALICE, deactivated: true })
        return sync(alice)
      },
    ],
    [
      'a table that a sealed schema does not have',
      422,
      'UNPROCESSABLE',
      async (server) => {
        await seal(server)
        const changes = [{ ...insert(['a'])[0], table: 'diary' }]
        return sync(await server.as(ALICE), { changes })
      },
    ],
  ]

  test.each(CASES)('%s', async (_, status, code, ask) => {
    await using server = await setupData()
    expect(await ask(server)).toMatchObject({ status, body: { code } })
    const objects = await server.root.get('/all/plain')
    expect(objects.body).toEqual([])
    expect(server.lines.some((line) => line.includes('has no table'))).toBe(status === 422)
  })
})

async function seal({ commands }: DataServer): Promise<void> {
  const upload = new Blob(['{"sealed": true}']).stream()
  await commands.run('import', PLAIN_IMPORT, { upload })
}
