import { expect, test } from 'bun:test'
import { connect } from 'node:net'
import { operationsOf, type Answer as SyncAnswer } from '../../domain/sync/setup'
import { type Answer, ALICE, BOB, type Caller, type DataServer, setupData } from '../setup'

const MARKED = { markedForSync: true, initiallySynced: true }
const REQUEST = { v: 3, clientIdentity: 'device', schema: { plain: MARKED }, baseRevs: [] }

function sync(caller: Caller, changes: readonly object[], lastPull?: object): Promise<Answer> {
  const body = JSON.stringify({ ...REQUEST, changes, lastPull })
  return caller.send('POST', '/sync', { body, headers: { 'content-type': 'application/tson' } })
}

interface Row {
  readonly id: string
  readonly [name: string]: unknown
}

/** Rows of a user in one operation. */
function operation(txid: string, values: readonly Row[], more: object = {}) {
  const keys = values.map(({ id }) => id)
  const owned = values.map((value) => ({ owner: ALICE, realmId: ALICE, ...value }))
  return { type: 'upsert', keys, values: owned, txid, userId: ALICE, ...more }
}

function rows(count: number, more: object = {}): Row[] {
  return Array.from({ length: count }, (_, at) => ({ id: `a${at}`, ...more }))
}

test('of 5,000 rows that are uploaded at login only the refused one is given back (scenario 18)', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const values = rows(5_000).with(2_500, { id: 'a2500', realmId: 'rlm-public' })
  const answer = await sync(alice, [{ table: 'plain', muts: [operation('upload-x', values)] }])
  expect(answer.status).toBe(200)
  expect(operationsOf(answer.body as SyncAnswer)).toEqual(['delete plain a2500'])
  const stored = await alice.get('/my/plain')
  expect(stored.body).toHaveLength(4_999)
})

test('a log of 40 MB is stored, and the answer does not repeat it (scenario 26)', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const text = 'x'.repeat(10_000)
  const muts = Array.from({ length: 40 }, (_, at) =>
    operation(
      `t${at}`,
      rows(100, { text }).map((row) => ({ ...row, id: `${row.id}-${at}` })),
      { type: 'insert', ts: at, rev: at + 1, opNo: 1 },
    ),
  )
  const answer = await sync(alice, [{ table: 'plain', muts }])
  expect(answer.status).toBe(200)
  expect(answer.text.length).toBeLessThan(10_000)
  expect(answer.body).toMatchObject({ rejections: [], changes: [] })
  expect((await alice.get('/my/plain/a99-39')).body).toMatchObject({ text })
})

test('an object that is nested too deeply costs its transaction alone', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  let deep: unknown = 0
  for (let level = 0; level < 100; level += 1) deep = [deep]
  const common = { type: 'insert', ts: 1, rev: 1, opNo: 1 }
  const muts = [
    operation('t1', [{ id: 'deep', deep }], common),
    operation('t2', [{ id: 'flat' }], common),
  ]
  const answer = await sync(alice, [{ table: 'plain', muts }])
  expect(answer.body).toMatchObject({ rejections: [{ txid: 't1', name: 'UNPROCESSABLE' }] })
  expect(operationsOf(answer.body as SyncAnswer)).toEqual(['delete plain deep'])
  expect((await alice.get('/my/plain/flat')).status).toBe(200)
})

/** Rows of the caller of 20 MB, more than the network takes at once. */
async function fill(caller: Caller): Promise<void> {
  const text = 'x'.repeat(100_000)
  for (let batch = 0; batch < 4; batch += 1) {
    const values = rows(50, { text }).map((row) => ({ ...row, id: `${row.id}-${batch}` }))
    expect((await caller.post('/my/plain', values)).status).toBe(200)
  }
}

test('two answers of a caller are streamed at a time, and cut short when they fail', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  const bob = await server.as(BOB)
  await fill(alice)
  await using stalled = new AsyncDisposableStack()
  const answers = Array.from({ length: 2 }, () => stalled.use(beginReading(server, alice)))
  for (const { begun } of answers) await begun
  let isServed = false
  const waiting = sync(alice, []).then((answer) => {
    isServed = true
    return answer
  })
  expect(await sync(bob, [])).toMatchObject({ status: 200 })
  expect(isServed).toBe(false)
  answers[0]?.stop()
  expect((await waiting).text).toEndWith('"}')
  // The others are not read further: their user is deactivated in the middle of the answer.
  await server.root.post('/users', { userId: ALICE, deactivated: true })
  const cut = await answers[1]?.rest()
  expect(cut).toContain('"changes":[{"table":"plain"')
  expect(cut).not.toContain('"serverRevision"')
  expect(cut).not.toEndWith('0\r\n\r\n')
})

test('a caller who reads none of eight answers holds up nobody else', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  await fill(alice)
  const bob = await server.as(BOB)
  const values = rows(50, { text: 'x'.repeat(100_000) }).map((row) => ({
    ...row,
    id: `b${row.id}`,
  }))
  expect((await bob.post('/my/plain', values)).status).toBe(200)
  await using stalled = new AsyncDisposableStack()
  const answers = Array.from({ length: 8 }, () => stalled.use(beginReading(server, alice)))
  await Promise.any(answers.map(({ begun }) => begun))
  const answer = await sync(bob, [])
  expect(operationsOf(answer.body as SyncAnswer)).toHaveLength(50)
})

test('an answer that nobody reads ends when another one waits for its turn', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  await fill(alice)
  await using stalled = new AsyncDisposableStack()
  const answers = Array.from({ length: 2 }, () => stalled.use(beginReading(server, alice)))
  for (const { begun } of answers) await begun
  expect((await sync(alice, [])).text).toEndWith('"}')
  expect(server.lines.join('\n')).toContain('others waited for their turn')
})

/** A first sync whose answer is not read beyond its beginning. */
function beginReading({ url }: DataServer, { token }: Caller) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (bytes: Buffer) => chunks.push(bytes))
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const body = JSON.stringify(REQUEST)
  const head = ['POST /main/sync HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`]
  const type = ['Content-Type: application/json', `Content-Length: ${body.length}`]
  socket.write(`${[...head, ...type].join('\r\n')}\r\n\r\n${body}`)
  return {
    begun: new Promise<void>((resolve) =>
      socket.once('data', () => {
        socket.pause()
        resolve()
      }),
    ),
    stop: () => void socket.destroy(),
    /** Reads on until the server closes the connection. */
    async rest(): Promise<string> {
      socket.resume()
      await closed
      return Buffer.concat(chunks).toString()
    },
    async [Symbol.asyncDispose]() {
      socket.destroy()
      await closed
    },
  }
}

test('many clients with large first syncs are all served', async () => {
  await using server = await setupData()
  const alice = await server.as(ALICE)
  await alice.post('/my/plain', rows(600, { text: 'x'.repeat(1_000) }))
  const answers = await Promise.all(Array.from({ length: 20 }, () => sync(alice, [])))
  for (const answer of answers) {
    expect(answer.status).toBe(200)
    expect(operationsOf(answer.body as SyncAnswer)).toHaveLength(600)
  }
})
