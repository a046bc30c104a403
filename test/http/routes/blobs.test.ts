import { describe, expect, test } from 'bun:test'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { filesByHash } from '../../blobs/files'
import { beginUpload, filesOf, inChunk, refOf, setupBlobs } from '../blob-setup'
import { ALICE, BOB } from '../setup'
import { until } from '../../timing'

const hashOf = (bytes: string | Uint8Array) =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

const namesIn = (server: { readonly folder: string }, folder: string) =>
  filesOf(server).filter((file) => file.startsWith(`${folder}/`))

/** Exactly these contents are stored, each once, soon after they were uploaded. */
async function expectStored(server: { readonly folder: string }, ...contents: string[]) {
  const files = () => filesByHash(join(server.folder, 'databases', 'main', 'blobs'))
  await until(() => [...files().values()].flat().length === contents.length)
  expect([...files().keys()].toSorted()).toEqual(contents.map(hashOf).toSorted())
}

describe('an upload', () => {
  test('gives a ref, with the ids of the add-on and of the SDK (conformance 136)', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    for (const id of ['0K_3hT0ZrA|bcdefghijklmn', 'a3f0'.repeat(8), 'x', 'a.b~c-d']) {
      const answer = await alice.upload(encodeURIComponent(id), 'abc')
      expect({ status: answer.status, ref: refOf(answer) }).toEqual({ status: 200, ref: `1:${id}` })
      expect(answer.headers.get('content-type')).toBe('application/json;charset=utf-8')
      expect(answer.headers.get('cache-control')).toBe('private, no-store')
    }
  })

  test('keeps its type: `ct` first, then the header (conformance 136, 137)', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const header = (type: string) => ({ headers: { 'content-type': type } })
    for (const [n, [options, type]] of [
      [{ ct: 'image%2Fpng', ...header('text/plain') }, 'image/png'],
      [{ ct: 'image/svg+xml' }, 'image/svg+xml'],
      [{ ct: 'text%2Fplain%3B%20charset%3Dutf-8' }, 'text/plain; charset=utf-8'],
      [{ ct: 'a%2Fb&ct=c%2Fd' }, 'a/b'],
      [{ ct: 'text/plain;charset=utf-8' }, 'text/plain;charset=utf-8'],
      [{ ct: '', ...header('audio/ogg') }, 'audio/ogg'],
      [header('video/mp4'), 'video/mp4'],
      [{ ct: 'anything at all' }, 'anything at all'],
      [{}, 'application/octet-stream'],
      [{ ct: '' }, 'application/octet-stream'],
    ].entries()) {
      const bytes = new Uint8Array([n])
      expect((await alice.upload(`b${n}`, bytes, options as object)).status).toBe(200)
      const { headers } = await alice.download(`1:b${n}`)
      expect(headers.get('content-type')).toBe(type as string)
    }
  })

  test('with a type that is no header value is refused', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    for (const ct of [
      'text%2Fhtml%0D%0ASet-Cookie:%20a=b',
      'text%2Fplain%0A',
      'a%00b',
      'a%7Fb',
      'te%C3%A4xt',
      '%E2%80%A8',
      'x'.repeat(256),
      '%zz',
      '%C0%AE',
    ]) {
      const { status, code } = await alice.upload('a', 'abc', { ct })
      expect({ ct, status, code }).toEqual({ ct, status: 400, code: 'INVALID_REQUEST' })
    }
    expect((await alice.upload('a', 'abc', { ct: 'x'.repeat(255) })).status).toBe(200)
    await expectStored(server, 'abc')
  })

  test('may have a length or come in chunks, and be empty', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const large = Buffer.alloc(3_000_000, 'abcdefg')
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (let at = 0; at < large.length; at += 70_000) {
          controller.enqueue(large.subarray(at, at + 70_000))
        }
        controller.close()
      },
    })
    expect((await alice.upload('known', large)).status).toBe(200)
    expect((await alice.upload('chunked', stream)).status).toBe(200)
    expect((await alice.upload('empty', '')).status).toBe(200)
    for (const [id, bytes] of [
      ['known', large],
      ['chunked', large],
      ['empty', Buffer.alloc(0)],
    ] as const) {
      const found = await alice.download(`1:${id}`)
      expect(found.status).toBe(200)
      expect(found.bytes.equals(bytes)).toBe(true)
    }
    // The first two are one file.
    await until(() => filesOf(server).length === 2)
  })

  test('is stored in files that other users of the machine cannot read', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('a', 'abc')
    const folder = join(server.folder, 'databases', 'main', 'blobs')
    expect(filesOf(server)).toEqual([hashOf('abc')])
    const modes = ['', 'incoming', hashOf('abc')]
    const seen = modes.map((path) => (statSync(join(folder, path)).mode & 0o777).toString(8))
    expect(seen).toEqual(['700', '700', '600'])
  })

  test('of the same bytes under the same id is the same, of others a conflict', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    expect(await alice.bring('a', 'abc')).toBe('1:a')
    expect(await alice.bring('a', 'abc')).toBe('1:a')
    for (const other of ['abd', 'ab', 'abcd', '']) {
      const { status, code } = await alice.upload('a', other)
      expect({ other, status, code }).toEqual({ other, status: 409, code: 'CONFLICT' })
    }
    expect((await alice.download('1:a')).bytes.toString()).toBe('abc')
    await expectStored(server, 'abc')
  })

  test('of the same bytes many times at once is stored once', async () => {
    await using server = await setupBlobs()
    const [alice, bob] = [await server.blobs(ALICE), await server.blobs(BOB)]
    const large = Buffer.alloc(1_500_000, 'x')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        n % 2 === 0
          ? alice.upload(`a${Math.floor(n / 4)}`, large)
          : bob.upload(`b${Math.floor(n / 4)}`, large),
      ),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    await until(() => filesOf(server).length === 1)
    const mine = await alice.download('1:a3')
    expect(mine.bytes.equals(large)).toBe(true)
  })

  test('wants a token with ACCESS_DB and a blob id before it is read (conformance 138)', async () => {
    await using server = await setupBlobs()
    const bare = await server.as(ALICE, [])
    const alice = await server.as(ALICE)
    for (const [token, path, status] of [
      [undefined, '/main/blob/a', 401],
      ['nonsense', '/main/blob/a', 401],
      [bare.token, '/main/blob/a', 403],
      [alice.token, '/main/blob/a%20b', 400],
      [alice.token, '/main/blob/a?ct=%0a', 400],
      [alice.token, '/nowhere/blob/a', 401],
    ] as const) {
      using upload = beginUpload(server.url, token, path, 1_000_000)
      const head = (await upload.answered).slice(0, 12)
      const expected = path.startsWith('/nowhere') ? 404 : status
      expect({ path, head }).toEqual({ path, head: `HTTP/1.1 ${expected}` })
    }
    expect(filesOf(server)).toEqual([])
  })

  test('is a whole blob as it is: no part of one, nothing compressed', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const part = { headers: { 'content-range': 'bytes 0-2/10' } }
    expect(await alice.upload('a', 'abc', part)).toMatchObject({ status: 400 })
    const zipped = { headers: { 'content-encoding': 'gzip' } }
    expect(await alice.upload('a', 'abc', zipped)).toMatchObject({ status: 415 })
    const plain = { headers: { 'content-encoding': 'identity' } }
    expect(await alice.upload('a', 'abc', plain)).toMatchObject({ status: 200 })
  })

  test('may be as large as it is configured to be, and no larger: 413 with a body', async () => {
    await using server = await setupBlobs({ maxBlob: 100_000, maxBody: 1_000 })
    const alice = await server.blobs(ALICE)
    expect((await alice.upload('exact', Buffer.alloc(100_000))).status).toBe(200)
    for (const length of [100_001, 10_000_000]) {
      const refused = await alice.upload('larger', Buffer.alloc(length))
      expect(refused).toMatchObject({ status: 413, code: 'PAYLOAD_TOO_LARGE' })
      expect(refused.bytes.toString()).toContain('100,000')
    }
    using upload = beginUpload(server.url, alice.token, '/main/blob/chunked', undefined)
    for (let n = 0; n < 11; n += 1) upload.send(inChunk('x'.repeat(10_000)))
    expect(await upload.answered).toMatch(/^HTTP\/1\.1 413 [^]*"PAYLOAD_TOO_LARGE"/)
    await until(() => filesOf(server).length === 1)
  })

  test('is in order on the connection after any earlier answer', async () => {
    await using server = await setupBlobs({ maxBlob: 10 })
    const alice = await server.blobs(ALICE)
    using upload = beginUpload(server.url, alice.token, '/main/blob/large', 11)
    await upload.answered
    upload.send(`${'x'.repeat(11)}GET /health HTTP/1.1\r\nHost: x\r\n\r\n`)
    await until(() => upload.received.includes('healthy'))
    expect(upload.received).toMatch(/^HTTP\/1\.1 413 [^]*HTTP\/1\.1 200 /)
  })
})

describe('an upload that breaks off', () => {
  test('leaves nothing, with a length or in chunks, and no error in the log', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    for (const length of [1_000_000, undefined]) {
      const upload = beginUpload(server.url, alice.token, '/main/blob/a', length)
      const part = 'x'.repeat(500_000)
      upload.send(length === undefined ? inChunk(part) : part)
      await until(() => filesOf(server).length === 1)
      upload.socket.destroy()
      await until(() => filesOf(server).length === 0)
    }
    expect((await alice.download('1:a')).status).toBe(404)
    expect(server.lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
    expect(await alice.bring('a', 'abc')).toBe('1:a')
  })

  test('when its sender closes their half before the end, it is not taken for the whole', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    for (const [length, body] of [
      [10, 'abc'],
      [undefined, inChunk('abc')],
    ] as const) {
      using upload = beginUpload(server.url, alice.token, '/main/blob/a', length)
      upload.socket.end(body)
      await upload.closed
      expect(upload.received).not.toStartWith('HTTP/1.1 200')
    }
    await until(() => filesOf(server).length === 0)
    expect((await alice.download('1:a')).status).toBe(404)
  })

  test('because it stalls is cut with 408 and closed, others go on (promise 34)', async () => {
    await using server = await setupBlobs({ maxSilence: 1 })
    const alice = await server.blobs(ALICE)
    using stalled = beginUpload(server.url, alice.token, '/main/blob/a', 100)
    stalled.send('abc')
    using silent = beginUpload(server.url, alice.token, '/main/blob/b', 100)
    using dripping = beginUpload(server.url, alice.token, '/main/blob/c', 100)
    const drip = setInterval(() => dripping.send('x'), 100)
    expect(await alice.bring('d', 'abc')).toBe('1:d')
    for (const upload of [stalled, silent, dripping]) {
      expect(await upload.answered).toMatch(/^HTTP\/1\.1 408 [^]*"TOO_SLOW"/)
      await upload.closed
      expect(upload.received).toMatch(/\r\nConnection: close\r\n/i)
    }
    clearInterval(drip)
    await until(() => filesOf(server).length === 1)
  })

  test('because the database is deleted is told so', async () => {
    await using server = await setupBlobs()
    const alice = await server.as(ALICE)
    using upload = beginUpload(server.url, alice.token, '/main/blob/a', 1_000_000)
    upload.send('x'.repeat(500_000))
    await until(() => filesOf(server).length === 1)
    await server.commands.run('db.delete', { database: 'main', hard: true })
    expect(await upload.answered).toMatch(/^HTTP\/1\.1 503 [^]*"BUSY"/)
    expect(existsSync(join(server.folder, 'databases', 'main'))).toBe(false)
  })
})

test('hundreds of slow uploads block no other caller', async () => {
  await using server = await setupBlobs()
  const alice = await server.blobs(ALICE)
  using stack = new DisposableStack()
  const uploads = Array.from({ length: 300 }, (_, n) => {
    const upload = stack.use(beginUpload(server.url, alice.token, `/main/blob/s${n}`, 6))
    upload.send('abc')
    return upload
  })
  await until(() => namesIn(server, 'incoming').length === 300)
  expect((await alice.post('/my/plain', { id: 'a' })).status).toBe(200)
  expect(await alice.bring('b', 'bytes')).toBe('1:b')
  for (const upload of uploads) upload.send('def')
  for (const upload of uploads) expect(await upload.answered).toStartWith('HTTP/1.1 200')
})

describe('permission to upload', () => {
  test('is looked at again when the bytes are there, for they may take long', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    for (const [change, answer] of [
      [{ type: 'prod' }, /^HTTP\/1\.1 200/],
      [{ type: 'eval', evalDaysLeft: 0 }, /^HTTP\/1\.1 403 [^]*"LICENSE_EXPIRED"/],
      [{ deactivated: true }, /^HTTP\/1\.1 403 [^]*"USER_DEACTIVATED"/],
    ] as const) {
      await server.root.post('/users', { userId: ALICE, type: 'prod', deactivated: false })
      using upload = beginUpload(server.url, alice.token, '/main/blob/a', 6)
      upload.send('abc')
      await until(() => namesIn(server, 'incoming').length === 1)
      expect((await server.root.post('/users', { userId: ALICE, ...change })).status).toBe(200)
      upload.send('def')
      expect(await upload.answered).toMatch(answer)
    }
    expect(namesIn(server, 'incoming')).toEqual([])
  })

  test('may outlast their token', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    using upload = beginUpload(server.url, alice.token, '/main/blob/a', 6)
    upload.send('abc')
    await until(() => filesOf(server).length === 1)
    server.clock.advance(2 * 3_600_000)
    upload.send('def')
    expect(await upload.answered).toMatch(/^HTTP\/1\.1 200/)
    expect((await alice.download('1:a')).status).toBe(401)
  })
})

test('blobs are reached by host name and across repeated slashes, with back-pressure', async () => {
  await using server = await setupBlobs({ domain: 'localhost' })
  const alice = await server.blobs(ALICE)
  const base = server.url.replace('127.0.0.1', 'main.localhost')
  const authorization = `Bearer ${alice.token}`
  for (const [n, address] of [`${base}/blob/`, `${server.url}//main///blob//`].entries()) {
    const headers = { authorization }
    const bytes = Buffer.alloc(2_000_000, String(n))
    const answer = await fetch(`${address}b${n}`, { method: 'PUT', headers, body: bytes })
    expect(await answer.json()).toEqual({ ref: `1:b${n}` })
    const found = await fetch(`${address}1:b${n}`, { headers })
    expect(Buffer.from(await found.arrayBuffer()).equals(bytes)).toBe(true)
  }
})

test('only PUT, GET and HEAD are known, and no list', async () => {
  await using server = await setupBlobs()
  const alice = await server.blobs(ALICE)
  for (const method of ['POST', 'DELETE', 'PATCH']) {
    const { status, headers } = await alice.send(method, '/blob/1:a')
    expect({ method, status }).toEqual({ method, status: 405 })
    expect(headers.get('allow')).toBe('GET, HEAD, PUT, OPTIONS')
  }
  for (const path of ['/blob', '/blob/', '/blob/1:a/b']) {
    expect((await alice.get(path)).status).toBe(404)
  }
})
