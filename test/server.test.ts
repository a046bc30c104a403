import { expect, test } from 'bun:test'
import { appendFileSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { JSONWebKeySet } from 'jose'
import { join } from 'node:path'
import { callHolder } from '../src/control/session'
import type { ScheduleStatus } from '../src/host/backups'
import { type Holder, readHolder } from '../src/host/holder'
import { readConfig } from '../src/config/config'
import { createHandler } from '../src/http/handler'
import type { HttpContext } from '../src/http/context'
import { type AccessEntry, openLogs } from '../src/log/log'
import { SatchelError } from '../src/domain/value/error'
import { listen } from '../src/listen'
import { type Server, startServer } from '../src/server'
import { createTestClock, DAY, refusalOf } from './auth/setup'
import { type HangingBucket, serveHangingBucket } from './backups/hanging-bucket'
import { exchange, setupData } from './http/setup'
import { collectLines, setupServer, temporaryFolder } from './setup'
import { mayMount, mountSmallDisk } from './small-disk'
import { until } from './timing'

const MIB = 1024 * 1024

function surroundings() {
  const clock = createTestClock()
  const sink = collectLines()
  return { clock, logs: openLogs({ clock, level: 'info', format: 'json', sink }) }
}

const configOf = (flags: Readonly<Record<string, unknown>>) =>
  readConfig({ environment: {}, flags: { port: 0, ...flags } })

test('stops once, however often it is asked to', async () => {
  await using server = await setupServer()
  const [first, second] = [server.stop(), server.stop()]
  expect(first).toBe(second)
  await first
  expect(await fetch(`${server.url}/health`).catch(() => 'refused')).toBe('refused')
  expect(readHolder(server.folder)).toBeUndefined()
})

// promises.md 45
test('stops at once though a body that was refused is still on its way', async () => {
  await using server = await setupServer()
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  const answered = new Promise((resolve) => socket.once('data', resolve))
  socket.on('error', () => undefined)
  const head = `POST /main/my/items HTTP/1.1\r\nHost: x\r\nContent-Length: ${64 * MIB}\r\n\r\n`
  socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(8 * MIB)]))
  expect(String(await answered)).toStartWith('HTTP/1.1 401')
  await server.stop()
  // Waiting for the body would have ended with it cut off.
  expect(server.lines.join('\n')).not.toContain('were aborted')
  socket.destroy()
})

// promises.md 45
test('stops though the place of a scheduled backup does not answer, and releases the data', async () => {
  using folder = temporaryFolder()
  using bucket = serveHangingBucket()
  expect(await stopDuringBackup(folder.path, bucket)).toContain('was left unfinished')
  await using again = await startServer(configOf({ data: folder.path }), surroundings())
  expect((await fetch(`${again.url}/ready`)).status).toBe(200)
})

test('stops while a scheduled backup is verified at a place that does not answer, and removes it', async () => {
  using folder = temporaryFolder()
  using bucket = serveHangingBucket('reads')
  const written: string[] = []
  const lines = await stopDuringBackup(folder.path, bucket, () => written.push(...bucket.objects()))
  expect(written.some((path) => path.endsWith('/database.sqlite'))).toBe(true)
  expect(written.filter((path) => path.endsWith('/manifest.json'))).toEqual([])
  expect(bucket.objects()).toEqual([])
  expect(lines).not.toContain('was left unfinished')
})

/** Stops a server when the bucket of its scheduled backup does not answer; returns its log. */
async function stopDuringBackup(
  data: string,
  bucket: HangingBucket,
  hung: () => void = () => {},
): Promise<string> {
  using _ = withEnvironment(bucket.environment)
  const config = configOf({ data, backup: bucket.address, backupPlain: true })
  const sink = collectLines()
  const clock = createTestClock()
  const looks: (() => void)[] = []
  const server = await startServer(config, {
    clock,
    logs: openLogs({ clock, level: 'info', format: 'json', sink }),
    every(_ms, work) {
      looks.push(work)
      return { [Symbol.dispose]() {} }
    },
  })
  for (const look of looks) look()
  await bucket.hung
  hung()
  await server.stop()
  return sink.lines.join('\n')
}

test('begins no schedule of backups when it is stopped as soon as it is ready', async () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  await (await startServer(configOf({ data }), surroundings())).stop()
  const config = configOf({ data, backup: join(folder.path, 'backups') })
  const begun: number[] = []
  const stopped: Promise<void>[] = []
  await startServer(config, {
    ...surroundings(),
    every(ms) {
      begun.push(ms)
      return { [Symbol.dispose]: () => void begun.splice(begun.indexOf(ms), 1) }
    },
    ready: (server) => void stopped.push(server.stop()),
  })
  await Promise.all(stopped)
  expect(stopped).toHaveLength(1)
  expect(begun).toEqual([])
})

/** Variables of this process until it is disposed. */
function withEnvironment(variables: Readonly<Record<string, string>>): Disposable {
  const before = { ...process.env }
  Object.assign(process.env, variables)
  return {
    [Symbol.dispose]() {
      for (const name of Object.keys(variables)) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
    },
  }
}

// promises.md 45
test('lets a slow reader have the whole of its answer before it stops', async () => {
  await using server = await setupData()
  const alice = await server.as('alice@example.com')
  await alice.post('/my/plain', { id: 'large', text: 'x'.repeat(12 * MIB) })
  const { hostname, port } = new URL(server.url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  socket.on('data', (bytes) => chunks.push(bytes))
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(
    `GET /main/my/plain/large HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${alice.token}\r\n\r\n`,
  )
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  const stopped = server.stop()
  await Bun.sleep(300)
  socket.resume()
  await Promise.all([stopped, closed])
  const answer = Buffer.concat(chunks).toString('latin1')
  expect(answer).toContain('Transfer-Encoding: chunked')
  // The last chunk is empty: nothing was cut off.
  expect(answer).toEndWith('\r\n0\r\n\r\n')
  expect(answer.length).toBeGreaterThan(12 * MIB)
})

test('closes everything when it cannot start', async () => {
  using folder = temporaryFolder()
  await using other = await setupServer()
  const { port } = new URL(other.url)
  const refusal = await refusalOf(() =>
    startServer(configOf({ data: folder.path, port }), surroundings()),
  )
  expect(refusal.code).toBe('CONFLICT')
  expect(readdirSync(folder.path).toSorted()).toEqual(['lock.sqlite', 'server.sqlite'])
  await using server = await startServer(configOf({ data: folder.path }), surroundings())
  expect(server.client).toBeDefined()
})

test('leaves no folder behind that it created for a start that failed', async () => {
  using folder = temporaryFolder()
  await using other = await setupServer()
  const { port } = new URL(other.url)
  const data = join(folder.path, 'a', 'b', 'data')
  const start = () => startServer(configOf({ data, port }), surroundings())
  expect((await refusalOf(start)).code).toBe('CONFLICT')
  expect(readdirSync(folder.path)).toEqual([])
})

test.skipIf(!mayMount)(
  'says on every full disk that it is full, and leaves no database whose client is not known',
  async () => {
    const outcomes = new Set<string>()
    for (let kib = 0; outcomes.size < 2; kib += 20) {
      using disk = mountSmallDisk('4m')
      writeFileSync(join(disk.path, 'ballast'), Buffer.alloc((4096 - kib) * 1024))
      const data = join(disk.path, 'data')
      const start = () => startServer(configOf({ data }), surroundings())
      try {
        await using server = await start()
        expect(server.client).toBeDefined()
        outcomes.add('started')
      } catch (error) {
        outcomes.add(error instanceof SatchelError ? error.code : String(error))
        expect(readdirSync(disk.path)).toEqual(['ballast'])
      }
    }
    expect([...outcomes]).toEqual(['STORAGE_FULL', 'started'])
  },
)

test.skipIf(!mayMount)(
  'says at its first start on a full disk that it is full, and leaves nothing',
  async () => {
    using disk = mountSmallDisk('8m')
    const start = () => startServer(configOf({ data: join(disk.path, 'data') }), surroundings())
    const ballast = join(disk.path, 'ballast')
    for (let bytes = 8 * MIB; bytes > 0; bytes /= 2) {
      try {
        appendFileSync(ballast, Buffer.alloc(bytes))
      } catch {
        // A smaller piece may still find room.
      }
    }
    const refusal = await refusalOf(start)
    expect(refusal.code).toBe('STORAGE_FULL')
    expect(refusal.message).toContain('is full: free some space')
    expect(readdirSync(disk.path)).toEqual(['ballast'])
    rmSync(ballast)
    await (await start()).stop()
  },
)

test('refuses a folder that another server holds', async () => {
  await using server = await setupServer()
  const refusal = await refusalOf(() =>
    startServer(configOf({ data: server.folder }), surroundings()),
  )
  expect(refusal.code).toBe('DATA_FOLDER_IN_USE')
  expect(refusal.message).toContain(`process ${process.pid}`)
})

test('in memory it keeps nothing', async () => {
  await using server = await startServer(configOf({ memory: true }), surroundings())
  const { folder, client } = server
  expect(client).toBeDefined()
  expect(existsSync(folder)).toBe(true)
  await server.stop()
  expect(existsSync(folder)).toBe(false)
})

// design.md §2, Development
test.each(['X-Forwarded-For', 'Forwarded', 'X-Forwarded-Host', 'X-Forwarded-Proto'])(
  'pages of this machine may call until a proxy shows itself by %s',
  async (header) => {
    await using server = await setupServer()
    const origin = 'http://localhost:5173'
    const ask = async (headers: Record<string, string>) =>
      (await fetch(`${server.main}/.well-known/jwks.json`, { headers })).status
    expect(await ask({ origin })).toBe(200)
    expect(await ask({ [header]: '192.0.2.1' })).toBe(200)
    expect(await ask({ origin })).toBe(403)
    expect(server.lines.filter((line) => line.includes('A proxy forwards requests'))).toHaveLength(
      1,
    )
  },
)

test('its own pages may always call, others of this machine not when it is public', async () => {
  await using server = await setupServer({ publicUrl: 'https://data.example.com' })
  const ask = async (origin: string) =>
    (await fetch(`${server.main}/.well-known/jwks.json`, { headers: { origin } })).status
  expect(await ask(server.url)).toBe(200)
  expect(await ask('https://data.example.com')).toBe(200)
  expect(await ask('http://localhost:5173')).toBe(403)
})

// promises.md 42
test('no secret is logged, for any request and any mistake', async () => {
  await using server = await setupServer()
  const { client, main } = server
  const accessToken = await server.token({ sub: 'alice@example.com' })
  const canaries = ['canary-password', 'canary-query', 'canary-body', 'canary-cookie']
  const secrets = [client.clientSecret, accessToken, accessToken.split('.')[2] ?? '', ...canaries]
  const credentials = Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')
  const requests: [string, RequestInit][] = [
    [
      '/token?client_secret=canary-query',
      { method: 'POST', body: '{"client_secret":"canary-body"' },
    ],
    ['/token', { method: 'POST', body: 'client_secret=canary-password' }],
    ['/token', { method: 'POST', headers: { authorization: `Basic ${credentials}` } }],
    ['/token/validate', { headers: { authorization: `Bearer ${accessToken}x` } }],
    ['/token/validate', { headers: { authorization: `Bearer ${accessToken}` } }],
    [`/my/todoItems?token=${accessToken}`, { headers: { cookie: 'canary-cookie' } }],
    [
      '/my/todoItems',
      {
        method: 'POST',
        body: '{"a":"canary-body"}',
        headers: { authorization: `Bearer ${accessToken}` },
      },
    ],
  ]
  for (const [path, init] of requests) {
    const answer = await fetch(main + path, init)
    const text = await answer.text()
    if (!answer.ok) for (const secret of secrets) expect(text).not.toContain(secret)
  }
  const log = server.lines.join('\n')
  expect(server.lines.length).toBeGreaterThanOrEqual(requests.length)
  for (const secret of [...secrets, credentials]) expect(log).not.toContain(secret)
})

test('collects at its start what no object has referenced for a day, bytes and all', async () => {
  using folder = temporaryFolder()
  const parts = surroundings()
  const blobs = join(folder.path, 'databases', 'main', 'blobs')
  const files = () =>
    readdirSync(blobs, { recursive: true }).filter((name) => /^[\da-f]{64}$/.test(String(name)))
  {
    await using server = await setupServer({ data: folder.path }, parts.clock)
    const token = await server.token()
    const upload = { method: 'PUT', headers: { authorization: `Bearer ${token}` }, body: 'bytes' }
    expect((await fetch(`${server.main}/blob/one`, upload)).status).toBe(200)
  }
  parts.clock.advance(DAY)
  expect(files()).toHaveLength(1)
  await using server = await startServer(configOf({ data: folder.path }), parts)
  await until(() => files().length === 0)
  expect(server.client).toBeUndefined()
})

const isLast = (names: readonly string[], { last }: ScheduleStatus) => last?.name === names.at(-1)

test('makes a backup when it is time, by the timer and the clock that it is given', async () => {
  using folder = temporaryFolder()
  const parts = surroundings()
  const target = join(folder.path, 'backups')
  const data = join(folder.path, 'data')
  const looks: (() => void)[] = []
  const every = (_ms: number, work: () => void) => {
    looks.push(work)
    return { [Symbol.dispose]: () => void looks.pop() }
  }
  const backups = () =>
    existsSync(target)
      ? readdirSync(target)
          .filter((name) => /Z(?:-\d+)?$/.test(name))
          .toSorted()
      : []
  {
    await using _ = await startServer(configOf({ data, backup: target }), { ...parts, every })
    const status = async () => {
      const holder = readHolder(data)!
      return (await callHolder<{ schedule: ScheduleStatus }>(holder, 'backup.status', {}, {}))
        .schedule
    }
    for (const night of [1, 2]) {
      await until(async () => {
        // One look too early, while the backup before ends, changes nothing.
        for (const look of looks) look()
        // A backup is read again before it counts.
        return backups().length === night && isLast(backups(), await status())
      })
      parts.clock.advance(DAY)
    }
    expect(await status()).toMatchObject({ target, failure: null })
  }
  expect(looks).toEqual([])
})

test('refuses rare forms of paths while the server starts, and answers them afterwards', async () => {
  const { host } = configOf({})
  const logged: AccessEntry[] = []
  const context = { access: (entry: AccessEntry) => logged.push(entry) }
  const routes = { direct: async () => new Response(), router: async () => new Response() }
  const handler = createHandler(context as unknown as HttpContext, routes, null)
  const listener = await listen({ host, port: 0, tlsCert: null, tlsKey: null }, handler)
  const paths = ['/', '/a/b', '/a//b', '/a/', '/a/b/c/d/e/f']
  const statuses = async () =>
    Promise.all(paths.map(async (path) => (await fetch(`${listener.url}${path}`)).status))
  const statusWithoutHost = async (path: string) =>
    (await exchange(listener.url, `OPTIONS ${path} HTTP/1.0\r\n\r\n`)).statuses
  try {
    expect(await statuses()).toEqual([200, 200, 503, 503, 503])
    expect(await statusWithoutHost('/')).toEqual([200])
    expect(await statusWithoutHost('/?a')).toEqual([200])
    expect(await statusWithoutHost('/a//b')).toEqual([503])
    const refusal = await fetch(`${listener.url}/a//b`)
    expect(refusal.headers.get('retry-after')).toBe('1')
    const { requestId, path, code } = logged.at(-1)!
    expect({ path, code }).toEqual({ path: '/a/b', code: 'BUSY' })
    expect(await refusal.json()).toEqual({
      code: 'BUSY',
      message: 'The server is starting: repeat the request',
      requestId,
    })
    listener.complete()
    expect(await statuses()).toEqual([200, 200, 200, 200, 200])
  } finally {
    await listener.stop()
  }
})

test('answers rare forms of paths from the first request after it is ready', async () => {
  let answer: Promise<Response> | undefined
  const ready = ({ url }: Server) => void (answer = fetch(`${url}/main//token/validate/`))
  await using server = await startServer(configOf({ memory: true }), { ...surroundings(), ready })
  expect(server.databases).toHaveLength(1)
  expect((await answer)?.status).toBe(401)
})

test('answers what comes with the ready line when its keys and the state for resets are there', async () => {
  let answers: Promise<unknown[]> | undefined
  let holder: Holder | undefined
  const ready = ({ url, folder, test: mode }: Server) => {
    holder = readHolder(folder)
    const reset = { method: 'POST', headers: { authorization: `Bearer ${mode?.token}` } }
    const ask = async (path: string, init?: RequestInit) =>
      (await fetch(`${url}/main/${path}`, init)).json()
    answers = Promise.all([ask('.well-known/jwks.json'), ask('_test/reset', reset)])
  }
  const config = configOf({ memory: true, test: true })
  await using server = await startServer(config, { ...surroundings(), ready })
  expect(holder).toMatchObject({ pid: process.pid, address: null })
  expect(readHolder(server.folder)?.address).toEndWith('/control.sock')
  const [published, reset] = (await answers) as [JSONWebKeySet, unknown]
  expect(published.keys).toHaveLength(2)
  expect(reset).toEqual({})
  const again = await fetch(`${server.url}/main/.well-known/jwks.json`)
  expect(await again.json()).toEqual(published)
})

test('is stopped when its start cannot be completed after the ready line', async () => {
  let url = ''
  let waiting: Promise<number | string> | undefined
  const statusOf = (response: Response) => response.status
  const ready = (server: Server) => {
    url = server.url
    waiting = fetch(`${url}/main/.well-known/jwks.json`).then(statusOf, () => 'closed')
    // There is no folder for its address for commands.
    rmSync(server.folder, { recursive: true })
  }
  const start = () => startServer(configOf({ memory: true }), { ...surroundings(), ready })
  const failure: unknown = await start().catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: 'ENOENT' })
  // Closed where the connection was not accepted in time.
  expect([503, 'closed']).toContain(await waiting!)
  expect(url).not.toBe('')
  expect(await fetch(url).catch(() => 'closed')).toBe('closed')
})

test('is stopped when it cannot say that it is ready', async () => {
  let url = ''
  const ready = (server: Server) => {
    url = server.url
    throw new Error('no output')
  }
  const started = startServer(configOf({ memory: true }), { ...surroundings(), ready })
  expect(started).rejects.toThrow('no output')
  await started.catch(() => undefined)
  expect(url).not.toBe('')
  expect(await fetch(url).catch(() => 'closed')).toBe('closed')
})
