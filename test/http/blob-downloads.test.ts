import { describe, expect, test } from 'bun:test'
import { mkdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type BlobCaller, setupBlobs, filesOf } from './blob-setup'
import { until } from '../timing'
import { ALICE, BOB, exchange } from './setup'

const LARGE = Buffer.from(
  Uint8Array.from({ length: 3_000_000 }, (_, n) => (n * 2_654_435_761) >>> 24),
)
const hashOf = (bytes: string | Uint8Array) =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** The parts of a `multipart/byteranges` body: their headers and their bytes. */
function partsOf(type: string | null, body: Buffer) {
  const boundary = /^multipart\/byteranges; boundary=([\w-]+)$/.exec(type ?? '')?.[1] ?? 'none'
  const text = body.toString('latin1')
  expect(text).toEndWith(`\r\n--${boundary}--\r\n`)
  return text
    .slice(0, -`\r\n--${boundary}--\r\n`.length)
    .split(`\r\n--${boundary}\r\n`)
    .slice(1)
    .map((part) => {
      const end = part.indexOf('\r\n\r\n')
      return { head: part.slice(0, end), bytes: Buffer.from(part.slice(end + 4), 'latin1') }
    })
}

describe('a download', () => {
  test('is what was uploaded, with the colon raw or encoded (conformance 137, 145)', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('a', LARGE, 'image/png')
    for (const ref of ['1:a', '1%3Aa', '1%3aa', '%31:a']) {
      const { status, headers, bytes } = await alice.download(ref)
      expect(status).toBe(200)
      expect(bytes.equals(LARGE)).toBe(true)
      expect(headers.get('content-type')).toBe('image/png')
      expect(headers.get('content-length')).toBe(String(LARGE.length))
      expect(headers.get('etag')).toBe(`"${hashOf(LARGE)}"`)
      expect(headers.get('accept-ranges')).toBe('bytes')
      expect(headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
      expect(headers.get('vary')).toBe('Authorization, Origin')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
      expect(headers.get('content-disposition')).toBeNull()
      expect(headers.get('last-modified')).toBeNull()
    }
  })

  test('of a type that a browser would run is to be saved (promise 41)', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    const types = ['text/html', 'image/svg+xml', 'application/pdf', 'x/y', 'image/png, text/html']
    for (const [n, type] of types.entries()) {
      await alice.bring(`b${n}`, '<script>alert(1)</script>', type)
      for (const range of [{}, { range: 'bytes=0-4' }, { range: 'bytes=0-4,6-7' }]) {
        const { headers } = await alice.download(`1:b${n}`, range)
        expect(headers.get('content-disposition')).toBe('attachment')
        expect(headers.get('content-security-policy')).toBe("default-src 'none'; sandbox")
        expect(headers.get('x-content-type-options')).toBe('nosniff')
      }
    }
  })

  test('is refused alike where there is nothing and where nothing may be read', async () => {
    await using server = await setupBlobs()
    const [alice, bob, anyone] = [
      await server.blobs(ALICE),
      await server.blobs(BOB),
      await server.blobs(),
    ]
    await alice.bring('a', 'abc')
    for (const ref of ['1:a', '1:none', '2:a', 'a', '1:', ':a', '1:a:b', '1::a']) {
      expect(await anyone.download(ref)).toMatchObject({ status: 401, code: 'INVALID_TOKEN' })
      expect(await bob.download(ref)).toMatchObject({ status: 404, code: 'UNKNOWN_BLOB' })
    }
    const tags = { 'if-none-match': `"${hashOf('abc')}"` }
    expect((await bob.download('1:a', tags)).status).toBe(404)
    expect((await alice.download('1:a', tags)).status).toBe(304)
  })

  test('without ACCESS_DB is refused to every token', async () => {
    await using server = await setupBlobs()
    await (await server.blobs(ALICE)).bring('a', 'abc')
    const bare = await server.as(ALICE, [])
    const { status, body } = await bare.get('/blob/1:a')
    expect({ status, body }).toMatchObject({ status: 403, body: { reason: 'scope ACCESS_DB' } })
  })

  test('needs no token when a public object references it (conformance 141)', async () => {
    await using server = await setupBlobs()
    const [alice, anyone] = [await server.blobs(ALICE), await server.blobs()]
    const ref = await alice.bring('a', 'abc', 'image/png')
    expect((await anyone.download(ref)).status).toBe(401)
    const photo = { id: 'p', photo: { _bt: 'Blob', ref, size: 3, ct: 'image/png' } }
    expect((await server.root.post('/public/plain', photo)).status).toBe(200)
    const found = await anyone.download(ref)
    expect({ status: found.status, text: found.bytes.toString() }).toEqual({
      status: 200,
      text: 'abc',
    })
    expect(found.headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
  })
})

describe('HEAD', () => {
  test('has the headers of GET and nothing else, for any range', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('a', LARGE, 'text/html')
    const whole = await alice.download('1:a')
    for (const headers of [{}, { range: 'bytes=0-4' }, { range: 'bytes=9999999-' }]) {
      const head = await fetch(`${server.main}/blob/1:a`, {
        method: 'HEAD',
        headers: { ...headers, authorization: `Bearer ${alice.token}` },
      })
      expect(head.status).toBe(200)
      expect(await head.text()).toBe('')
      const names = ['x-request-id', 'date']
      const told = (all: Headers) =>
        Object.fromEntries([...all].filter(([name]) => !names.includes(name)))
      expect(told(head.headers)).toEqual(told(whole.headers))
    }
    const tagged = await fetch(`${server.main}/blob/1:a`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${alice.token}`, 'if-none-match': '*' },
    })
    expect(tagged.status).toBe(304)
  })
})

describe('a range', () => {
  async function setup() {
    const server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('a', LARGE, 'audio/ogg')
    const get = (headers: Record<string, string>) => alice.download('1:a', headers)
    return { server, alice, get, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
  }

  test.each([
    ['bytes=0-0', 0, 1],
    ['bytes=0-', 0, LARGE.length],
    ['bytes=5-4999', 5, 5_000],
    ['bytes=2000000-', 2_000_000, LARGE.length],
    ['bytes=-1', LARGE.length - 1, LARGE.length],
    ['bytes=-99999999', 0, LARGE.length],
    ['bytes=2999999-99999999', 2_999_999, LARGE.length],
  ])('%s', async (range, begin, end) => {
    await using scene = await setup()
    const { status, headers, bytes } = await scene.get({ range })
    expect(status).toBe(206)
    expect(headers.get('content-range')).toBe(`bytes ${begin}-${end - 1}/${LARGE.length}`)
    expect(headers.get('content-length')).toBe(String(end - begin))
    expect(headers.get('content-type')).toBe('audio/ogg')
    expect(bytes.equals(LARGE.subarray(begin, end))).toBe(true)
  })

  test('list is answered part by part, in its order', async () => {
    await using scene = await setup()
    const ranges = [
      [1_500_000, 2_900_000],
      [0, 1],
      [7, 70_000],
    ] as const
    const list = ranges.map(([begin, end]) => `${begin}-${end - 1}`).join(', ')
    const { status, headers, bytes } = await scene.get({ range: `bytes=${list}, 9999999-` })
    expect(status).toBe(206)
    expect(headers.get('content-range')).toBeNull()
    const parts = partsOf(headers.get('content-type'), bytes)
    expect(parts.map(({ head }) => head)).toEqual(
      ranges.map(
        ([begin, end]) =>
          `Content-Type: audio/ogg\r\nContent-Range: bytes ${begin}-${end - 1}/${LARGE.length}`,
      ),
    )
    for (const [n, [begin, end]] of ranges.entries()) {
      expect(parts[n]?.bytes.equals(LARGE.subarray(begin, end))).toBe(true)
    }
  })

  test('beyond the end is 416 and says how long the blob is', async () => {
    await using scene = await setup()
    for (const range of ['bytes=3000000-', 'bytes=-0', 'bytes=4000000-5000000,6000000-']) {
      const { status, headers, code } = await scene.get({ range })
      expect({ status, code }).toEqual({ status: 416, code: 'RANGE_NOT_SATISFIABLE' })
      expect(headers.get('content-range')).toBe(`bytes */${LARGE.length}`)
      expect(headers.get('cache-control')).toBe('no-store')
    }
  })

  test('that is malformed, foreign or too much is ignored: 200 and all of it', async () => {
    await using scene = await setup()
    for (const range of ['bytes=5-4', 'lines=0-4', 'bytes=0-2999999,0-0', 'bytes', 'bytes=a-b']) {
      const { status, headers, bytes } = await scene.get({ range })
      expect({ range, status }).toEqual({ range, status: 200 })
      expect(headers.get('content-range')).toBeNull()
      expect(headers.get('etag')).toBe(`"${hashOf(LARGE)}"`)
      expect(bytes.equals(LARGE)).toBe(true)
    }
  })

  test('counts only for what the caller has a part of: If-Range', async () => {
    await using scene = await setup()
    const tag = `"${hashOf(LARGE)}"`
    const range = 'bytes=0-4'
    expect((await scene.get({ range, 'if-range': tag })).status).toBe(206)
    for (const other of ['"other"', `W/${tag}`, 'Wed, 21 Oct 2099 07:28:00 GMT', '']) {
      const { status, bytes } = await scene.get({ range, 'if-range': other })
      expect({ other, status }).toEqual({ other, status: 200 })
      expect(bytes.equals(LARGE)).toBe(true)
    }
    expect((await scene.get({ range: 'bytes=9999999-', 'if-range': '"other"' })).status).toBe(200)
  })

  test('of what the caller has is not sent: If-None-Match comes first', async () => {
    await using scene = await setup()
    const tag = `"${hashOf(LARGE)}"`
    for (const known of [tag, `W/${tag}`, `"a", ${tag}`, '*']) {
      const { status, headers, bytes } = await scene.get({
        'if-none-match': known,
        range: 'bytes=0-4',
      })
      expect({ known, status, length: bytes.length }).toEqual({ known, status: 304, length: 0 })
      expect(headers.get('etag')).toBe(tag)
      expect(headers.get('cache-control')).toBe('private, max-age=31536000, immutable')
    }
    expect((await scene.get({ 'if-none-match': '"other"' })).status).toBe(200)
  })

  test('of an empty blob is not there, all of it is', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('empty', '')
    expect((await alice.download('1:empty', { range: 'bytes=0-' })).status).toBe(416)
    const { status, headers } = await alice.download('1:empty')
    expect({ status, length: headers.get('content-length') }).toEqual({ status: 200, length: '0' })
  })
})

describe('pages of other origins', () => {
  test('read, write and ask for ranges when they are listed', async () => {
    await using server = await setupBlobs({ publicUrl: 'https://db.example.com' })
    const alice = await server.blobs(ALICE)
    await server.commands.run('origin.add', {
      database: 'main',
      origin: 'https://app.example.com',
      force: false,
    })
    const origin = 'https://app.example.com'
    const answers = [
      await alice.upload('a', 'abc', { headers: { origin } }),
      await alice.download('1:a', { origin }),
      await alice.download('1:a', { origin, range: 'bytes=0-1' }),
      await alice.download('1:a', { origin, 'if-none-match': '*' }),
      await alice.download('1:a', { origin, range: 'bytes=9-' }),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 206, 304, 416])
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('access-control-expose-headers')).toContain('Content-Range')
    }
    const preflight = await fetch(`${server.main}/blob/a`, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'PUT',
        'access-control-request-headers': 'authorization,content-type,range,if-range',
      },
    })
    expect(preflight.status).toBe(204)
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PUT')
    const stranger = await alice.download('1:a', { origin: 'https://evil.example.com' })
    expect(stranger).toMatchObject({ status: 403, code: 'ORIGIN_NOT_ALLOWED' })
  })
})

describe('bytes that are lost', () => {
  const fileOf = (server: { readonly folder: string }) =>
    join(server.folder, 'databases', 'main', 'blobs', filesOf(server)[0] ?? '')

  test('are told to the caller and the log, never sent short, and mended by an upload', async () => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('a', 'abcdef')
    for (const lose of [(file: string) => rmSync(file), (file: string) => truncateSync(file, 3)]) {
      const file = fileOf(server)
      lose(file)
      for (const range of [{}, { range: 'bytes=0-1' }]) {
        const refused = await alice.download('1:a', range)
        expect(refused).toMatchObject({ status: 500, code: 'BLOB_DAMAGED' })
        expect(refused.bytes.toString()).toContain('upload the same bytes again to repair it')
        expect(refused.bytes.toString()).not.toContain(server.folder)
      }
      expect(server.lines.some((line) => line.includes(file))).toBe(true)
      expect(await alice.bring('a', 'abcdef')).toBe('1:a')
      expect((await alice.download('1:a')).bytes.toString()).toBe('abcdef')
      await until(() => filesOf(server).length === 1)
    }
  })
})

test('a file that is missing is reported to the caller and the log', async () => {
  await using server = await setupBlobs()
  const alice = await server.blobs(ALICE)
  // A folder in its place has a size, and cannot be read.
  const folder = join(server.folder, 'folder')
  mkdirSync(folder)
  const bytes = Buffer.alloc(statSync(folder).size)
  await alice.bring('a', bytes)
  const file = join(server.folder, 'databases/main/blobs', filesOf(server)[0] ?? '')
  rmSync(file)
  mkdirSync(file)
  expect(await alice.download('1:a')).toMatchObject({ status: 500, code: 'INTERNAL' })
  expect(server.lines.some((line) => line.includes('A response could not be sent'))).toBe(true)
})

describe('the access log of a blob', () => {
  test.each([
    ['whole', []],
    ['in a range', ['Range: bytes=0-19000000']],
    ['in two ranges', ['Range: bytes=0-9000000,9500000-19000000']],
  ])('that is sent %s says whether it was sent to the end', async (_, lines) => {
    await using server = await setupBlobs()
    const alice = await server.blobs(ALICE)
    await alice.bring('a', new Uint8Array(20_000_000))
    const logged = () =>
      server.lines
        .map((line) => JSON.parse(line) as Record<string, unknown>)
        .filter(({ method, path }) => method === 'GET' && path === '/main/blob/1:a')
    const request = (...more: string[]) =>
      ['GET /main/blob/1:a HTTP/1.1', 'Host: x', `Authorization: Bearer ${alice.token}`]
        .concat(lines, more, '', '')
        .join('\r\n')
    const status = lines.length === 0 ? 200 : 206
    expect((await exchange(server.url, request('Connection: close'))).statuses).toEqual([status])
    await until(() => logged().length === 1)
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write(request())
    await new Promise((resolve) => socket.once('data', resolve))
    socket.pause()
    await Bun.sleep(20)
    expect(logged()).toMatchObject([{ status }])
    socket.destroy()
    await until(() => logged().length === 2)
    expect(logged()[1]).toMatchObject({ status: 499, brokenOff: 'the reader disconnected' })
    expect(logged()[0]).not.toHaveProperty('brokenOff')
  })
})

test('a reader who leaves, and one who stalls, delay no other caller', async () => {
  await using server = await setupBlobs()
  const alice = await server.blobs(ALICE)
  await alice.bring('a', new Uint8Array(20_000_000))
  const sockets = Array.from({ length: 20 }, (_, n) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.on('error', () => undefined)
    if (n % 2 === 0) socket.pause()
    else socket.once('data', () => socket.destroy())
    socket.write(
      `GET /main/blob/1:a HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.token}\r\n\r\n`,
    )
    return socket
  })
  await Bun.sleep(200)
  expect((await allOf(alice)).every(({ status }) => status === 200)).toBe(true)
  for (const socket of sockets) socket.destroy()
  expect(server.lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
})

function allOf(alice: BlobCaller) {
  return Promise.all(Array.from({ length: 4 }, () => alice.download('1:a')))
}
