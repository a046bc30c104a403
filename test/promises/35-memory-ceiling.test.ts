import { describe, expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import process from 'node:process'
import { ALICE } from '../http/setup'
import { shortestTime, until } from '../timing'
import { type Executable, setupExecutable, sendUnread } from './setup'

/**
 * Promise 35: memory has a ceiling. 100 parallel posts of maximal size (anonymous ones are answered
 * before their body is read) and 100 readers who take nothing stay < 512 MB; a slow reader is cut.
 */

const MIB = 1024 * 1024
const LARGEST = 16 * MIB
/** In the lab as many as the promise names; 40 bodies of maximal size are more than the ceiling too. */
const MANY = process.env['SATCHEL_RUNS'] === undefined ? 40 : 100
const CEILING = 512

const PART = 256 * 1024
const LENGTH = `Content-Length: ${LARGEST}`
const CHUNKED = 'Transfer-Encoding: chunked'

/** A body of exactly the largest size, in parts that many sockets share. */
function largestBody(word = ''): Buffer[] {
  const frame = `{"id":"a","text":"${word}"}`
  const text = `{"id":"a","text":"${word}${'x'.repeat(LARGEST - Buffer.byteLength(frame))}"}`
  return partsOf(Buffer.from(text), PART)
}

/** The same in chunks, so that the length is unknown. */
function inChunks(parts: readonly Buffer[], size: number): Buffer[] {
  const chunks = partsOf(Buffer.concat(parts), size).flatMap((chunk) => [
    Buffer.from(`${chunk.length.toString(16)}\r\n`),
    chunk,
    Buffer.from('\r\n'),
  ])
  return partsOf(Buffer.concat([...chunks, Buffer.from('0\r\n\r\n')]), PART)
}

function partsOf(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
    bytes.subarray(n * size, (n + 1) * size),
  )
}

interface Posted {
  readonly status: number
  /** How much of the body had been sent when the answer came. */
  readonly sent: number
}

interface Manner {
  readonly token?: string | undefined
  /** The header that says how long the body is, or that it comes in chunks. */
  readonly form?: string
  /** How long it waits to be asked for the body, ms. */
  readonly patience?: number
}

/** Posts the body, part by part as the server takes it. */
function post(
  executable: Executable,
  parts: readonly Buffer[],
  { token, form = LENGTH, patience = 0 }: Manner = {},
) {
  const { hostname, port } = new URL(executable.url)
  return new Promise<Posted>((resolve) => {
    const socket = connect(Number(port), hostname)
    let sent = 0
    let next = 0
    const send = () => {
      while (next < parts.length) {
        const part = parts[next++]
        if (part === undefined) return
        sent += part.length
        if (!socket.write(part)) return
      }
    }
    const finish = (status: number) => {
      next = parts.length
      socket.destroy()
      resolve({ status, sent })
    }
    socket.on('connect', () => {
      socket.write(
        'POST /main/my/plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
          (token === undefined ? '' : `Authorization: Bearer ${token}\r\n`) +
          `${form}\r\n\r\n`,
      )
      setTimeout(send, patience)
    })
    socket.on('drain', send)
    let head = ''
    socket.on('data', (data) => {
      head += data.toString('latin1', 0, 100)
      const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1]
      if (status !== undefined) finish(Number(status))
    })
    socket.on('error', () => finish(0))
    socket.on('close', () => finish(0))
  })
}

async function ceilingOf<T>(executable: Executable, work: () => Promise<T>): Promise<T> {
  const result = await work()
  const { peak } = executable.memory()
  if (peak >= CEILING) throw new Error(`It held ${peak} MiB`)
  return result
}

describe('promise 35: posts of maximal size', () => {
  // Begun side by side, and so far apart that some are stored while others come.
  test.each([
    [`${MANY} at once`, LENGTH, MANY, 0, 0],
    [`${MANY} at once, in chunks,`, CHUNKED, MANY, PART, 0],
    [`${MANY} one after the other, in chunks,`, CHUNKED, MANY, PART, 5],
    ['4 in tiny chunks', CHUNKED, 4, 16, 0],
  ])(
    '%s stay below 512 MB: those that there is room for are stored',
    async (_, form, many, size, apart) => {
      await using executable = await setupExecutable()
      const alice = await executable.as(ALICE)
      // One such sign makes the text twice as large in memory.
      const body = largestBody('€')
      const parts = form === CHUNKED ? inChunks(body, size) : body
      const posts = await ceilingOf(executable, () =>
        Promise.all(
          Array.from({ length: many }, async (_, n) => {
            await Bun.sleep(n * apart)
            return await post(executable, parts, { token: alice.token, form })
          }),
        ),
      )
      const statuses = new Set(posts.map(({ status }) => status))
      // Four of a caller are received at once.
      expect(statuses).toEqual(new Set(many > 4 ? [200, 503] : [200]))
      expect((await alice.post('/my/plain', { id: 'b' })).status).toBe(200)
      const stored = await alice.get('/my/plain/a')
      expect(Buffer.byteLength(stored.text)).toBeGreaterThan(LARGEST)
    },
  )

  test('many that are small and full of values stay below it too', async () => {
    await using executable = await setupExecutable()
    const { token } = await executable.as(ALICE)
    const values = Array.from({ length: MIB / 3 - 10 }, () => '[]')
    const body = Buffer.from(`{"id":"a","values":[${values.join(',')}]}`)
    const form = `Content-Length: ${body.length}`
    const posts = await ceilingOf(executable, () =>
      Promise.all(
        Array.from({ length: MANY }, () => post(executable, partsOf(body, PART), { token, form })),
      ),
    )
    expect(posts.filter(({ status }) => status === 200).length).toBeGreaterThan(MANY / 5)
  })

  test('many anonymous ones are answered before their body is read', async () => {
    await using executable = await setupExecutable()
    const parts = largestBody()
    const calm = executable.memory().now
    const patient = await Promise.all(
      Array.from({ length: MANY }, () => post(executable, parts, { patience: 30_000 })),
    )
    expect(patient).toEqual(Array.from({ length: MANY }, () => ({ status: 401, sent: 0 })))
    expect(executable.memory().now - calm).toBeLessThan(64)
    const eager = await ceilingOf(executable, () =>
      Promise.all(Array.from({ length: MANY }, () => post(executable, parts))),
    )
    expect(eager.every(({ status }) => status === 401)).toBe(true)
  })

  test('posting on after the answer costs no memory', async () => {
    await using executable = await setupExecutable()
    const parts = largestBody()
    const { hostname, port } = new URL(executable.url)
    const sockets = Array.from({ length: 20 }, () => connect(Number(port), hostname))
    for (const socket of sockets) {
      socket.on('error', () => undefined)
      socket.write('POST /main/my/plain HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n')
    }
    const begun = performance.now()
    await Promise.all(
      sockets.map((socket) => pour(socket, parts, () => performance.now() - begun < 1_500)),
    )
    expect(executable.memory().peak).toBeLessThan(CEILING)
    for (const socket of sockets) socket.destroy()
    expect((await executable.anyone.get('/public/plain')).status).toBe(200)
  })
})

/** Sends chunk after chunk while it may, regardless of the answer. */
async function pour(socket: Socket, parts: readonly Buffer[], mayGoOn: () => boolean) {
  socket.resume()
  const [part = Buffer.alloc(0)] = parts
  const chunk = Buffer.concat([
    Buffer.from(`${part.length.toString(16)}\r\n`),
    part,
    Buffer.from('\r\n'),
  ])
  while (mayGoOn() && !socket.destroyed) {
    const isTaken = socket.write(chunk)
    if (isTaken) await Bun.sleep(0)
    else
      await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), Bun.sleep(100)])
  }
}

describe('promise 35: readers who take nothing', () => {
  test('many of a list of 50 MB stay below 512 MB and delay no other caller', async () => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    const text = 'x'.repeat(5_000)
    for (let part = 0; part < 10; part += 1) {
      const objects = Array.from({ length: 1_000 }, () => ({ text }))
      await root.post('/public/items', objects, { prefer: 'return=minimal' })
    }
    const postSmall = async () => (await root.post('/public/items', { text: 'small' })).status
    const alone = await shortestTime(10, postSmall)
    const request = 'GET /main/public/items HTTP/1.1\r\nHost: x\r\n\r\n'
    const sockets = Array.from({ length: MANY }, () => sendUnread(executable.url, request))
    // They fill what the network holds for them, and a busy machine may refuse writes meanwhile; then they wait at no cost.
    const isCalm = async () => (await shortestTime(10, postSmall)) / alone < 20
    await until(async () => (await isCalm()) && (await postSmall()) === 200)
    expect(executable.memory().peak).toBeLessThan(CEILING)
    for (const socket of sockets) socket.destroy()
    await Bun.sleep(100)
    expect((await executable.anyone.get('/public/items?$limit=1')).status).toBe(200)
  })
})

describe('promise 35: large answers that nobody takes', () => {
  /** Large answers of this kind reach a reader who takes them, at the latest after the stalled ones are cut. */
  async function requireServed(read: () => Promise<{ status: number; text: string }>) {
    for (;;) {
      const { status, text } = await read()
      if (status === 200) return expect(text.length).toBeGreaterThan(LARGEST * 0.9)
      expect(status).toBe(503)
      await Bun.sleep(500)
    }
  }

  const TEXT = 'x'.repeat(1_000_000)

  test.each([
    ['pages of 16 MB', '/public/plain?$limit=1000'],
    ['the same object of 16 MB', '/public/items/large'],
  ])('many anonymous readers of %s stay below 512 MB, and others are served', async (_, path) => {
    await using executable = await setupExecutable()
    const root = await executable.root()
    for (let n = 0; n < 20; n += 1) {
      await root.post('/public/plain', { id: `p${n}`, text: TEXT }, { prefer: 'return=minimal' })
    }
    const large = { id: 'large', text: 'x'.repeat(LARGEST - 100) }
    await root.post('/public/items', large, { prefer: 'return=minimal' })
    const request = `GET /main${path} HTTP/1.1\r\nHost: x\r\n\r\n`
    const sockets = Array.from({ length: MANY }, () => sendUnread(executable.url, request))
    await Bun.sleep(500)
    await requireServed(() => root.get(path))
    await requireServed(() => executable.anyone.get(path))
    expect(executable.memory().peak).toBeLessThan(CEILING)
    expect(await executable.served.logged((line) => line.includes('"brokenOff":'))).toContain(
      '"status":499',
    )
    for (const socket of sockets) socket.destroy()
  })

  test('40 unread echoes of posts of 16 MB stay below 512 MB, and others are served', async () => {
    await using executable = await setupExecutable()
    const [alice, root] = [await executable.as(ALICE), await executable.root()]
    const parts = largestBody()
    const request =
      'POST /main/my/plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n' +
      `Authorization: Bearer ${alice.token}\r\n${LENGTH}\r\n\r\n`
    const sockets = []
    for (let n = 0; n < 40; n += 1) {
      const socket = sendUnread(executable.url, request, parts)
      // It takes the beginning of the answer, which tells that the object was stored.
      socket.resume()
      await new Promise((resolve) => socket.once('data', resolve))
      socket.pause()
      sockets.push(socket)
    }
    await requireServed(() => alice.get('/my/plain/a'))
    expect((await root.post('/public/plain', { id: 'b' })).status).toBe(200)
    expect(executable.memory().peak).toBeLessThan(CEILING)
    for (const socket of sockets) socket.destroy()
  })
})
