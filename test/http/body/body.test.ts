import { afterAll, describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createDiskScratch } from '../../../src/blobs/disk/scratch'
import { JSON_LIMITS } from '../../../src/domain/json/scan'
import { SLICE } from '../../../src/domain/json/slices'
import { createBodies } from '../../../src/http/body/body'
import { afterKnock, ALICE, BOB, type DataServer, exchange, KNOCK, setupData } from '../setup'
import { createTestClock } from '../../auth/setup'
import { temporaryFolder } from '../../setup'
import { countTurns, until } from '../../timing'
import { share } from '../../setup'

const MIB = 1024 * 1024
const JSON_TYPE = { 'content-type': 'application/json' }

const head = (token: string | undefined, ...lines: string[]) =>
  [
    'POST /main/my/plain HTTP/1.1',
    'Host: localhost',
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    'Content-Type: application/json',
    ...lines,
    '',
    '',
  ].join('\r\n')

/** The requests with bodies that have ended. */
const postsIn = (lines: readonly string[]) =>
  lines.filter((line) => line.includes('"method":"POST","path":"/main/my/')).length

const chunked = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

/** An object whose JSON has exactly this many bytes. */
function objectOf(bytes: number): string {
  const frame = '{"id":"a","text":""}'
  return `{"id":"a","text":"${'x'.repeat(bytes - frame.length)}"}`
}

describe('the type of a body', () => {
  test('is JSON, named or not', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    for (const type of [
      'application/json',
      'APPLICATION/JSON; charset=utf-8',
      'application/json ;x=y',
      'application/vnd.api+json',
      'application/tson',
      'application/x-tson',
    ]) {
      const answer = await alice.post('/my/plain', { id: 'a' }, { 'content-type': type })
      expect({ type, status: answer.status }).toEqual({ type, status: 200 })
    }
    const body = '{"id":"b"}'
    const untyped = await exchange(
      server.url,
      `POST /main/my/plain HTTP/1.1\r\nHost: x\r\nConnection: close\r\n` +
        `Authorization: Bearer ${alice.token}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(untyped.statuses).toEqual([200])
  })

  test('is nothing else: 415', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    for (const type of [
      'text/plain',
      'text/json',
      'application/jsonx',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/octet-stream',
      'application/xml',
      'json',
    ]) {
      const answer = await alice.post('/my/plain', { id: 'a' }, { 'content-type': type })
      expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } })
    }
    for (const encoding of ['gzip', 'br', 'deflate', 'gzip, gzip', 'x']) {
      const headers = { ...JSON_TYPE, 'content-encoding': encoding }
      const body = encoding === 'gzip' ? Bun.gzipSync('{"id":"a"}') : '{"id":"a"}'
      const answer = await alice.send('POST', '/my/plain', { body, headers })
      expect(answer).toMatchObject({ status: 415, body: { code: 'UNSUPPORTED_MEDIA_TYPE' } })
    }
    const plain = { ...JSON_TYPE, 'content-encoding': 'identity' }
    expect((await alice.post('/my/plain', { id: 'a' }, plain)).status).toBe(200)
  })
})

describe('a malformed body', () => {
  const shared = share(setupData)

  test.each([
    ['', 'line 1, column 1'],
    ['   ', 'line 1, column 4'],
    ['{', 'line 1, column 2'],
    ['{"id":"a"', 'line 1, column 10'],
    ['{"id":"a"}x', 'line 1, column 11'],
    ['{"id":"a"}{"id":"b"}', 'line 1, column 11'],
    ['[{"id":"a"},\n{"id":]', 'line 2, column 7'],
    ['{"id":"a",}', 'line 1, column 11'],
    ["{'id':'a'}", 'line 1, column 2'],
    ['{"id":"a\n"}', 'line 1, column 9'],
    ['{"id":"\\x"}', 'line 1, column 8'],
    ['{"n":01}', 'line 1, column 6'],
    ['{"n":NaN}', 'line 1, column 6'],
    ['{"n":+1}', 'line 1, column 6'],
    ['undefined', 'line 1, column 1'],
    ['{"id":"a"}]', 'line 1, column 11'],
    ['// x\n{}', 'line 1, column 1'],
  ])('%j is refused with 400 and its place', async (body, place) => {
    const alice = await shared().as(ALICE)
    const answer = await alice.send('POST', '/my/plain', { body, headers: JSON_TYPE })
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect((answer.body as { message: string }).message).toEndWith(place)
  })

  test('that is not UTF-8 is refused', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    for (const bytes of [
      [0x22, 0xff, 0x22],
      [0xc0, 0xae],
      [0xed, 0xa0, 0x80],
      [0x22, 0xe2, 0x82],
    ]) {
      const text = [0x7b, 0x22, 0x69, 0x64, 0x22, 0x3a, 0x22, ...bytes, 0x22, 0x7d]
      const body = new Uint8Array(text)
      const answer = await alice.send('POST', '/my/plain', { body, headers: JSON_TYPE })
      expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    }
    const utf16 = new Uint8Array(Buffer.from('{"id":"a"}', 'utf16le'))
    const answer = await alice.send('POST', '/my/plain', { body: utf16, headers: JSON_TYPE })
    expect(answer.status).toBe(400)
  })

  test('that breaks off is no error of the server: nothing is logged or stored', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const parts = ['Content-Length: 100', 'Transfer-Encoding: chunked']
    for (const part of parts) {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
      const body = part.startsWith('C') ? '{"id":"a"}' : chunked('{"id":"a"}')
      socket.write(KNOCK + head(alice.token, part) + body)
      await once(socket, 'data')
      socket.destroy()
    }
    await until(() => postsIn(server.lines) === parts.length)
    const entries = server.lines.map((line) => JSON.parse(line) as { level: string })
    expect(entries.filter(({ level }) => level === 'error' || level === 'warning')).toEqual([])
    expect((await alice.get('/my/plain')).text).toBe('[]')
  })
})

describe('a large body', () => {
  test('is taken up to the limit and no further, declared or not: 413', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const body = objectOf(16 * MIB)
    expect((await alice.send('POST', '/my/plain', { body })).status).toBe(200)
    const larger = await alice.send('POST', '/my/plain', { body: `${body} ` })
    expect(larger).toMatchObject({ status: 413, body: { code: 'PAYLOAD_TOO_LARGE' } })
    expect(larger.text).toContain('16777216')
  })

  test('is refused by its length alone, before a byte of it has come', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const request = head(alice.token, `Content-Length: ${16 * MIB + 1}`)
    const { text } = await exchange(server.url, request)
    expect(text).toStartWith('HTTP/1.1 413')
    expect(text).toContain('"PAYLOAD_TOO_LARGE"')
  })

  test('without a length is refused as soon as it is too large', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const request = head(alice.token, 'Transfer-Encoding: chunked', 'Connection: close')
    const body = objectOf(16 * MIB)
    const parts = Array.from({ length: 16 }, (_, n) => chunked(body.slice(n * MIB, (n + 1) * MIB)))
    const end = chunked('')
    expect((await exchange(server.url, request + parts.join('') + end)).statuses).toEqual([200])
    const more = request + parts.join('') + chunked(' ') + end
    const { text } = await exchange(server.url, more)
    expect(text).toStartWith('HTTP/1.1 413')
    expect(text).toContain('"PAYLOAD_TOO_LARGE"')
  })

  test('is put together from chunks of any size', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const words = Array.from({ length: 300_000 }, (_, n) => `${n} ä€`).join(' ')
    const body = Buffer.from(JSON.stringify({ id: 'a', text: words }))
    const parts: string[] = []
    for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7) % 60_013) {
      const part = body.subarray(at, at + size)
      parts.push(`${part.length.toString(16)}\r\n${part.toString('latin1')}\r\n`)
    }
    const request = head(alice.token, 'Transfer-Encoding: chunked', 'Connection: close')
    const bytes = Buffer.from(`${request}${parts.join('')}0\r\n\r\n`, 'latin1')
    expect((await exchange(server.url, bytes)).statuses).toEqual([200])
    expect((await alice.get('/my/plain/a')).body).toMatchObject({ text: words })
  })

  test('may be as large as it is configured to be', async () => {
    await using server = await setupData({ maxBody: 1000, maxDepth: 3, maxValues: 10 })
    const alice = await server.as(ALICE)
    const send = async (body: string) => (await alice.send('POST', '/my/plain', { body })).status
    expect(await send(objectOf(1000))).toBe(200)
    expect(await send(objectOf(1001))).toBe(413)
    expect(await send('[[[1]]]')).toBe(422)
    expect(await send('{"id":"a","x":{"y":[1]}}')).toBe(200)
    expect(await send('{"id":"a","x":{"y":[[1]]}}')).toBe(422)
    expect(await send('{"id":"a","x":[1,2,3,4,5,6,7]}')).toBe(200)
    expect(await send('{"id":"a","x":[1,2,3,4,5,6,7,8]}')).toBe(422)
  })
})

describe('large bodies', () => {
  const postOf = (body: string) => ({
    caller: 'main alice',
    sent: new Request('http://localhost/', {
      method: 'POST',
      body,
      headers: { ...JSON_TYPE, 'content-length': String(body.length) },
    }),
  })

  test('wait for the parsing of each other, not for the work on them', async () => {
    using folder = temporaryFolder()
    const scratch = createDiskScratch(folder.path, createTestClock())
    const bodies = createBodies({ bytes: 16 * MIB, ...JSON_LIMITS })
    const { promise, resolve } = Promise.withResolvers<string>()
    const events: string[] = []
    const parsed = Promise.withResolvers<void>()
    const slow = bodies.json(postOf(objectOf(2 * MIB)), { scratch }, () => {
      events.push('slow parsed')
      parsed.resolve()
      return promise
    })
    await parsed.promise
    const fast = bodies.json(postOf(objectOf(2 * MIB)), { scratch }, async () => 'fast done')
    events.push(await fast)
    resolve('slow done')
    events.push(await slow)
    expect(events).toEqual(['slow parsed', 'fast done', 'slow done'])
  })

  test('are read and parsed one at a time', async () => {
    using folder = temporaryFolder()
    const scratch = createDiskScratch(folder.path, createTestClock())
    const bodies = createBodies({ bytes: 16 * MIB, ...JSON_LIMITS })
    const events: string[] = []
    const watched: typeof scratch = {
      ...scratch,
      open(name) {
        events.push('read')
        return scratch.open(name)
      },
    }
    const heavy = `{"id":"a","values":[${'0,'.repeat(600_000)}0]}`
    await Promise.all(
      Array.from({ length: 3 }, () =>
        bodies.json(postOf(heavy), { scratch: watched }, async () => void events.push('parsed')),
      ),
    )
    expect(events).toEqual(['read', 'parsed', 'read', 'parsed', 'read', 'parsed'])
  })

  test('wait for the memory of each other', async () => {
    using folder = temporaryFolder()
    const scratch = createDiskScratch(folder.path, createTestClock())
    const bodies = createBodies({ bytes: 16 * MIB, ...JSON_LIMITS })
    const { promise, resolve } = Promise.withResolvers<string>()
    let parsed = 0
    const heavy = `{"id":"a","values":[${'0,'.repeat(900_000)}0]}`
    const working = Array.from({ length: 3 }, () =>
      bodies.json(postOf(heavy), { scratch }, () => {
        parsed += 1
        return promise
      }),
    )
    await until(async () => parsed === 1)
    await Bun.sleep(200)
    // Two of them would be parsed in more than 96 MiB.
    expect(parsed).toBe(1)
    resolve('done')
    expect(await Promise.all(working)).toEqual(['done', 'done', 'done'])
    expect(parsed).toBe(3)
  })

  test('are collected in the background, and at once when others need the memory', async () => {
    using folder = temporaryFolder()
    const scratch = createDiskScratch(folder.path, createTestClock())
    const modes: boolean[] = []
    const collectGarbage = (isAtOnce: boolean) => void modes.push(isAtOnce)
    const bodies = createBodies({ bytes: 16 * MIB, ...JSON_LIMITS }, { collectGarbage })
    const heavy = `[${'0,'.repeat(600_000)}0]`
    await bodies.json(postOf(heavy), { scratch }, async () => undefined)
    await until(async () => modes.length === 1)
    expect(modes).toEqual([false])
    const { promise, resolve } = Promise.withResolvers<void>()
    const working = bodies.json(postOf(heavy), { scratch }, () => promise)
    await bodies.json(postOf(heavy), { scratch }, async () => undefined)
    await until(async () => modes.length === 2)
    expect(modes).toEqual([false, true])
    resolve()
    await working
    await until(async () => modes.length === 3)
    expect(modes).toEqual([false, true, false])
  })

  test('that are broken at their end are refused with their place, while others have their turns', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const text = 'y'.repeat(120)
    const objects = Array.from({ length: 90_000 }, (_, n) => `{"id":"k${n}","text":"${text}"}`)
    const body = `[${objects.join(',\n')},\n{"id":]`
    using counter = countTurns()
    const answer = await alice.send('POST', '/my/plain', { body })
    const { turns } = counter
    expect(answer).toMatchObject({ status: 400, body: { code: 'INVALID_REQUEST' } })
    expect(answer.text).toContain('a value is expected at line 90001, column 7')
    expect(turns).toBeGreaterThan(body.length / SLICE / 2)
  })

  test('may have 50,000 properties in one object', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    const names = Array.from({ length: 50_000 }, (_, n) => [`p${n}`, n] as const)
    const wide = await alice.post('/my/plain', { id: 'a', x: { y: Object.fromEntries(names) } })
    expect(wide).toMatchObject({ status: 422, body: { reason: 'maxProperties' } })
    const one = Object.fromEntries([...names, ['more', 1]])
    const refused = await alice.post('/my/plain', [{ id: 'a', x: [{ y: one }] }])
    expect(refused).toMatchObject({ status: 422, body: { reason: 'maxProperties' } })
    expect(refused.text).toContain('An object may have 50000 properties')
  })
})

describe('a caller who may not write', () => {
  test('is told so before the body is read', async () => {
    await using server = await setupData()
    const bare = await server.as(ALICE, [])
    for (const [token, status] of [
      [undefined, 401],
      ['nonsense', 401],
      [bare.token, 403],
    ] as const) {
      const request = head(token, `Content-Length: ${MIB}`)
      const { statuses } = await exchange(server.url, request)
      expect(statuses).toEqual([status])
      const typed = await server.anyone.send('POST', '/my/plain', {
        body: 'x',
        headers: {
          'content-type': 'text/plain',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
      })
      expect(typed.status).toBe(status)
    }
  })
})

describe('all bodies together', () => {
  const sockets: Socket[] = []
  afterAll(() => sockets.forEach((socket) => socket.destroy()))

  /** A request whose body has been promised and begun. */
  function begin(server: DataServer, token: string | undefined, bytes: number, sent = 10) {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => undefined)
    let text = ''
    const begun = Promise.withResolvers<void>()
    const answered = new Promise<string>((resolve) => {
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        begun.resolve()
        const answer = afterKnock(text) ?? ''
        if (answer !== '') resolve(answer)
      })
    })
    const body = objectOf(bytes)
    socket.write(KNOCK + head(token, `Content-Length: ${bytes}`) + body.slice(0, sent))
    return { socket, begun: begun.promise, answered, finish: () => socket.write(body.slice(sent)) }
  }

  /** The bytes of bodies that are in files. */
  function writtenBytes({ folder }: DataServer): number {
    const files = join(folder, 'databases', 'main', 'imports')
    const names = existsSync(files) ? readdirSync(files) : []
    return names.reduce((sum, name) => sum + statSync(join(files, name)).size, 0)
  }

  test('that are announced and do not come keep out nobody (promise 34)', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const announced = Array.from({ length: 40 }, () => begin(server, alice.token, 16 * MIB))
    for (const { begun } of announced) await begun
    const large = { id: 'b', text: 'x'.repeat(4 * MIB) }
    expect((await bob.post('/my/plain', large)).status).toBe(200)
    expect((await alice.post('/my/plain', { ...large, id: 'c' })).status).toBe(200)
    for (const { socket } of announced) socket.destroy()
  })

  test('that came in part have 64 MiB a caller; others have theirs', async () => {
    await using server = await setupData()
    const [alice, bob] = [await server.as(ALICE), await server.as(BOB)]
    const part = 15 * MIB
    const held = Array.from({ length: 4 }, () => begin(server, alice.token, 16 * MIB, part))
    await until(() => writtenBytes(server) >= 4 * (part - MIB))
    const refused = await begin(server, alice.token, 8 * MIB, 8 * MIB).answered
    expect(refused).toStartWith('HTTP/1.1 503')
    expect(refused).toMatch(/\r\nRetry-After: \d+\r\n/)
    expect(refused).toContain('"BUSY"')
    expect((await alice.get('/my/plain')).status).toBe(200)
    const large = { id: 'b', text: 'x'.repeat(8 * MIB) }
    expect((await bob.post('/my/plain', large)).status).toBe(200)
    held[0]?.finish()
    expect(await held[0]?.answered).toStartWith('HTTP/1.1 200')
    for (const { socket } of held) socket.destroy()
    await until(() => writtenBytes(server) === 0)
  })

  test('hold nothing after refusals of every kind', async () => {
    await using server = await setupData()
    const alice = await server.as(ALICE)
    // Each kind twice is more than there is room for.
    for (let round = 0; round < 12; round += 1) {
      const body = `${objectOf(4 * MIB)}${round % 2 === 0 ? 'x' : ''}`
      const target = round % 3 === 0 ? '/my/none' : '/my/plain'
      await alice.send('POST', target, { body })
      const { socket, begun } = begin(server, alice.token, 16 * MIB)
      await begun
      socket.destroy()
    }
    await until(() => postsIn(server.lines) === 24)
    const three = Array.from({ length: 3 }, () => begin(server, alice.token, 16 * MIB))
    for (const { begun } of three) await begun
    for (const { finish } of three) finish()
    for (const { answered } of three) expect(await answered).toStartWith('HTTP/1.1 200')
  })
})
