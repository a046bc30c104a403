import { describe, expect, test } from 'bun:test'
import { ALICE, type Caller, type DataServer, setupData } from '../setup'
import { beginUpload } from '../blob-setup'

const MUT = { txid: 'one', userId: ALICE, ts: 4_000_000_000_000, keys: ['a'] }
const OTHER = { ...MUT, txid: 'two', type: 'update', changeSpecs: [{ other: 1 }] }
const ANY = { type: 3 }

interface Answer {
  readonly rejections: readonly object[]
}

/** Sends the mutations as one transaction, and an update of `other` as another one. */
function push(caller: Caller, ...muts: readonly object[]) {
  return caller.post('/sync', {
    v: 3,
    clientIdentity: 'device',
    schema: { plain: { markedForSync: true, primaryKey: 'id' } },
    changes: [{ table: 'plain', muts: [...muts.map((mut) => ({ ...MUT, ...mut })), OTHER] }],
  })
}

const inPlain = (...muts: readonly string[]) => `{"muts":[${muts.join()}],"table":"plain"}`

/** Sends fields that are JSON already. */
function send(caller: Caller, fields: string) {
  const head =
    '{"v":3,"clientIdentity":"device","schema":{"plain":{"markedForSync":true,"initiallySynced":true}},'
  return caller.send('POST', '/sync', { body: `${head}${fields}}` })
}

async function setup(): Promise<DataServer & { readonly alice: Caller }> {
  const server = await setupData()
  const alice = await server.as(ALICE)
  await alice.post('/my/plain', { id: 'a', list: ['m'] })
  return { ...server, alice }
}

const deep = (names: number) => Array.from({ length: names }, () => 'n').join('.')
const by = (index: string) => ({
  type: 'modify',
  criteria: { index, range: ANY },
  changeSpec: { seen: 1 },
})
const update = (spec: object) => ({ type: 'update', changeSpecs: [spec] })
const propmod = (modification: object) => update({ list: { '@@propmod': modification } })
const many = (count: number) => Array.from({ length: count }, (_, n) => n)

describe('what no honest client sends rejects its transaction, and only that', () => {
  test.each([
    [
      'an index name of 20,000 parts',
      by(`[${deep(20_000).replaceAll('.', '+')}]`),
      '1,024 characters',
    ],
    ['an index name of 100,000 dots', by(`a${'.'.repeat(100_000)}`), '1,024 characters'],
    ['an index name of 17 parts', by(`[${deep(17).replaceAll('.', '+')}]`), '16 parts'],
    ['a path of 100 KB', update({ [deep(50_000)]: 1 }), '4,096 characters'],
    ['a path of 65 names', update({ [deep(65)]: 1 }), 'maxDepth'],
    [
      '200,000 paths',
      update(Object.fromEntries(many(200_000).map((n) => [`p${n}`, n]))),
      'maxProperties',
    ],
    [
      '800 paths of 64 names',
      update(Object.fromEntries(many(800).map((n) => [`p${n}.${deep(63)}`, n]))),
      'maxProperties',
    ],
    ['an addition of 50,001 numbers', propmod({ add: many(50_001) }), '50,000 elements'],
    ['a removal of 50,001 numbers', propmod({ remove: many(50_001) }), '50,000 elements'],
    ['an addition to a list that is full', propmod({ add: many(50_000) }), '50,000 elements'],
  ])('%s', async (_what, mut, limit) => {
    await using server = await setup()
    const { alice } = server
    const { status, body } = await push(alice, { ...update({ before: 1 }) }, mut)
    expect(status).toBe(200)
    const { rejections } = body as Answer
    expect(rejections).toEqual([
      { txid: 'one', name: 'UNPROCESSABLE', message: expect.stringContaining(limit) },
    ])
    const { body: stored } = await alice.get('/my/plain/a')
    expect(stored).toMatchObject({ id: 'a', list: ['m'], other: 1 })
    expect(stored).not.toHaveProperty('before')
    expect(stored).not.toHaveProperty('n')
  })

  test('a schema of more tables than a database may have is refused before any is stored', async () => {
    await using server = await setup()
    const { alice } = server
    const declare = (count: number, prefix: string) => {
      const marked = { markedForSync: true, primaryKey: 'id' }
      const tables = many(count).map((n) => [`${prefix}${n}`, marked] as const)
      const schema = Object.fromEntries(tables)
      return alice.post('/sync', { v: 3, clientIdentity: 'device', schema })
    }
    const tables = () => server.commands.run('schema.show', { database: 'main' })
    const before = await tables()
    const refused = await declare(16_000, 'many')
    expect(refused.status).toBe(422)
    expect(refused.text).toContain('500 tables')
    expect(await tables()).toEqual(before)
    expect((await declare(300, 'some')).status).toBe(200)
    const some = await tables()
    const others = await declare(300, 'other')
    expect(others.status).toBe(422)
    expect(others.text).toContain('at most 500 tables')
    expect(await tables()).toEqual(some)
  })

  test.each([
    ['values', `[${'{},'.repeat(1_000_000)}{}]`, '1000000 values'],
    ['levels', `${'['.repeat(2_000)}${']'.repeat(2_000)}`, '1000 levels'],
    ['levels, but fewer', `${'['.repeat(100)}${']'.repeat(100)}`, '64 levels'],
  ])('a row of too many %s', async (_what, list, limit) => {
    await using server = await setup()
    const { alice } = server
    const row = `{"txid":"one","type":"insert","keys":["b"],"values":[{"id":"b","list":${list}}]}`
    const { status, body } = await send(alice, `"changes":[${inPlain(row, JSON.stringify(OTHER))}]`)
    expect(status).toBe(200)
    expect((body as Answer).rejections).toEqual([
      { txid: 'one', name: 'UNPROCESSABLE', message: expect.stringContaining(limit) },
    ])
    expect((await alice.get('/my/plain')).body).toEqual([
      expect.objectContaining({ id: 'a', other: 1 }),
    ])
  })

  test('unknown fields are skipped, however many values they have', async () => {
    await using server = await setup()
    const { alice } = server
    const ignored = `"ignored":[${'{},'.repeat(300_000)}${'['.repeat(2_000)}]`
    const changes = `"changes":[${inPlain(JSON.stringify(OTHER))}]`
    const { status, body } = await send(alice, `${ignored}${']'.repeat(2_000)},${changes}`)
    expect(status).toBe(200)
    expect((body as Answer).rejections).toEqual([])
    expect((await alice.get('/my/plain/a')).body).toMatchObject({ other: 1 })
  })

  test('a request of too many values is refused before anything is stored', async () => {
    await using server = await setup()
    const { alice } = server
    const row = `{"id":"b","list":[${'1,'.repeat(900_000)}1]}`
    const rows = Array.from({ length: 6 }, (_, n) => {
      const insert = `{"txid":"row${n}","type":"insert","keys":["b${n}"],"values":[`
      return `${insert}${row}]}`
    })
    const answer = await send(alice, `"changes":[${inPlain(JSON.stringify(OTHER), ...rows)}]`)
    expect(answer.status).toBe(422)
    expect(answer.text).toContain('5,000,000 values')
    expect((await alice.get('/my/plain')).body).toEqual([expect.not.objectContaining({ other: 1 })])
  })

  test('a client may name very many realms', async () => {
    await using server = await setup()
    const { alice } = server
    const first = await push(alice)
    const { serverRevision, realms } = first.body as { serverRevision: string; realms: string[] }
    const lost = many(200_000).map((n) => `rlm-${n}`)
    const lastPull = { serverRevision, realms: [...lost, ...realms], inviteRealms: [] }
    const { status, body } = await send(alice, `"lastPull":${JSON.stringify(lastPull)}`)
    expect(status).toBe(200)
    expect(body).toMatchObject({ realms, changes: [] })
  })

  test('as much as the limits allow is done', async () => {
    await using server = await setup()
    const { alice } = server
    const muts = [
      by(`[${deep(16).replaceAll('.', '+')}]`),
      by('a'.repeat(1_024)),
      update({ [deep(64)]: 1 }),
      update(Object.fromEntries(many(40_000).map((n) => [`p${n}`, n]))),
      propmod({ add: many(49_999) }),
    ]
    const { body } = await push(alice, ...muts)
    expect((body as Answer).rejections).toEqual([])
    const { list, ...rest } = (await alice.get('/my/plain/a')).body as Record<string, unknown>
    expect(list).toHaveLength(50_000)
    expect(rest).toMatchObject({ p39999: 39_999, other: 1 })
  })
})

test('a caller without a token who sends a part of a small body, and no more, is cut', async () => {
  await using server = await setupData({ maxSilence: 1 })
  using sent = beginUpload(server.url, undefined, '/main/sync', 1_000, 'POST')
  sent.send('{"v')
  await sent.closed
  expect(sent.received).toMatch(/^HTTP\/1\.1 408 [^]*"TOO_SLOW"/)
})
