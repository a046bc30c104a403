import { expect, test } from 'bun:test'
import {
  closeSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { newKey, openCertificateFiles } from '../../src/acme/certificate-files'
import { openAccount } from '../../src/acme/client'
import { createRenewal } from '../../src/acme/renewal'
import { startResponder } from '../../src/acme/responder'
import { createTestClock, DAY } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { mayMount, mountSmallDisk } from '../small-disk'
import { startAuthority } from './authority'

const HOUR = DAY / 24
const NAMES = ['db.example.com', 'sync.example.com']

function setup(data?: string) {
  const stack = new AsyncDisposableStack()
  const folder = data === undefined ? stack.use(temporaryFolder()) : { path: data }
  const clock = createTestClock()
  const authority = stack.use(startAuthority(() => clock.now()))
  let isReady = false
  const responder = stack.use(
    startResponder({
      host: '127.0.0.1',
      port: 0,
      names: NAMES,
      httpsPort: 443,
      isReady: () => isReady,
    }),
  )
  authority.httpPort = responder.port
  const files = openCertificateFiles(folder.path)
  const installed: (string | undefined)[] = []
  const start = (names = NAMES, install?: () => Promise<void>) =>
    createRenewal({
      clock,
      every: () => ({ [Symbol.dispose]() {} }),
      random: () => 0.5,
      files,
      names,
      open: (accountKey, signal) =>
        openAccount({
          directory: authority.directory,
          email: 'ada@example.com',
          accountKey,
          signal,
          publish: (token, proof) => responder.publish(token, proof),
        }),
      install: install ?? (async () => void installed.push(files.certificate()?.subjectAltName)),
    })
  return {
    clock,
    authority,
    files,
    installed,
    start,
    folder: folder.path,
    url: `http://127.0.0.1:${responder.port}`,
    becomeReady: () => (isReady = true),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

test('gets one certificate for all names, in files that only the owner may read', async () => {
  await using at = setup()
  await using renewal = at.start()
  expect(renewal.status().expiresAt).toBeNull()
  await renewal.look()
  expect(at.installed).toEqual(['DNS:db.example.com, DNS:sync.example.com'])
  expect(renewal.status().failure).toBeNull()
  const modes = ['', 'certificate.pem', 'account.pem', 'state.json'].map(
    (name) => statSync(join(at.folder, 'acme', name)).mode & 0o777,
  )
  expect(modes).toEqual([0o700, 0o600, 0o600, 0o600])
})

test('repeats a request whose nonce was refused', async () => {
  await using at = setup()
  await using renewal = at.start()
  const stale = { at: 'nonce', type: 'badNonce', status: 400 } as const
  at.authority.faults.push(stale, stale, stale)
  await renewal.look()
  expect(at.authority.issued).toEqual([NAMES])
})

test('renews after two thirds of the life, and keeps the certificate until then', async () => {
  await using at = setup()
  await using renewal = at.start()
  await renewal.look()
  at.clock.advance(57 * DAY)
  await renewal.look()
  expect(at.authority.issued).toHaveLength(1)
  at.clock.advance(3 * DAY)
  await renewal.look()
  expect(at.authority.issued).toHaveLength(2)
})

test('renews when the authority asks for it', async () => {
  await using at = setup()
  await using renewal = at.start()
  await renewal.look()
  const iso = (ms: number) => new Date(at.clock.now() + ms).toISOString()
  at.authority.window = { start: iso(-2 * HOUR), end: iso(-HOUR) }
  at.clock.advance(6 * HOUR)
  await renewal.look()
  expect(at.authority.issued).toHaveLength(2)
})

test('renews in time although the authority names a time after the end of the certificate', async () => {
  await using at = setup()
  await using renewal = at.start()
  await renewal.look()
  const iso = (ms: number) => new Date(at.clock.now() + ms).toISOString()
  at.authority.window = { start: iso(900 * DAY), end: iso(901 * DAY) }
  at.clock.advance(79 * DAY)
  await renewal.look()
  expect(at.authority.issued).toHaveLength(1)
  at.clock.advance(3 * DAY)
  await renewal.look()
  expect(at.authority.issued).toHaveLength(2)
})

test('waits a week at most, however long the authority says', async () => {
  await using at = setup()
  await using renewal = at.start()
  const retryAfter = '99999999999'
  at.authority.faults.push({ at: 'order', type: 'rateLimited', status: 429, retryAfter })
  await renewal.look()
  expect(at.files.state().waitUntil).toBe(at.clock.now() + 7 * DAY)
})

test('an authority that answers without end is left', async () => {
  const zeros = Buffer.alloc(1024 * 1024)
  let sent = 0
  const body = () =>
    new ReadableStream({
      async pull(controller) {
        await Bun.sleep(1)
        sent += 1
        controller.enqueue(zeros)
      },
    })
  using endless = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: () => new Response(body()),
  })
  const opened = openAccount({
    directory: endless.url.href,
    email: null,
    accountKey: newKey(),
    publish: () => ({ [Symbol.dispose]() {} }),
    signal: new AbortController().signal,
  })
  expect(await opened.catch(String)).toBe('AcmeError: The authority answered too much')
  expect(sent).toBeLessThan(64)
})

test('a failed question for the time of the renewal is no failure', async () => {
  await using at = setup()
  await using renewal = at.start()
  await renewal.look()
  at.authority.window = { start: 'never', end: 'never' }
  at.clock.advance(6 * HOUR)
  await renewal.look()
  expect(at.authority.issued).toHaveLength(1)
  expect(renewal.status().failure).toBeNull()
})

test('waits an hour after a failure, then two, also across a restart, and says why', async () => {
  await using at = setup()
  at.authority.httpPort = 1
  {
    await using renewal = at.start()
    await renewal.look()
    expect(renewal.status().failure).toMatchObject({
      attempts: 1,
      reason: 'The authority could not check db.example.com: wrong proof',
    })
  }
  await using renewal = at.start()
  at.clock.advance(HOUR - 1)
  await renewal.look()
  expect(renewal.status().failure?.attempts).toBe(1)
  at.clock.advance(1)
  await renewal.look()
  expect(renewal.status().failure?.attempts).toBe(2)
  expect(at.files.state().waitUntil).toBe(at.clock.now() + 2 * HOUR)
  expect(at.installed).toEqual([])
})

test('waits a day at most after failures, which double the pause', async () => {
  await using at = setup()
  at.authority.httpPort = 1
  await using renewal = at.start()
  const hours: number[] = []
  for (let attempt = 0; attempt < 7; attempt += 1) {
    await renewal.look()
    const pause = at.files.state().waitUntil - at.clock.now()
    hours.push(pause / HOUR)
    at.clock.advance(pause)
  }
  expect(hours).toEqual([1, 2, 4, 8, 16, 24, 24])
})

for (const form of ['seconds', 'date'] as const) {
  test(`asks again for the time of the renewal when the authority says, with ${form}`, async () => {
    await using at = setup()
    await using renewal = at.start()
    await renewal.look()
    at.clock.advance(6 * HOUR)
    const now = at.clock.now()
    const iso = (ms: number) => new Date(now + ms).toISOString()
    at.authority.window = { start: iso(40 * DAY), end: iso(41 * DAY) }
    at.authority.retryAfter = form === 'seconds' ? '10800' : new Date(now + 3 * HOUR).toUTCString()
    await renewal.look()
    const { askAt, renewAt } = at.files.state()
    expect(askAt).toBe(now + 3 * HOUR)
    expect(renewAt).toBe(now + 40.5 * DAY)
    // Before that it is not asked, and then the new window counts.
    at.authority.window = { start: iso(20 * DAY), end: iso(20 * DAY) }
    at.clock.advance(3 * HOUR - 1)
    await renewal.look()
    expect(at.files.state().renewAt).toBe(renewAt)
    at.clock.advance(1)
    await renewal.look()
    expect(at.files.state().renewAt).toBe(now + 20 * DAY)
    expect(at.authority.issued).toHaveLength(1)
  })
}

test('asks again after six hours when the time to wait is no time', async () => {
  await using at = setup()
  await using renewal = at.start()
  await renewal.look()
  at.clock.advance(6 * HOUR)
  const now = at.clock.now()
  const iso = (ms: number) => new Date(now + ms).toISOString()
  at.authority.window = { start: iso(40 * DAY), end: iso(41 * DAY) }
  at.authority.retryAfter = 'soon'
  await renewal.look()
  expect(at.files.state().askAt).toBe(now + 6 * HOUR)
})

test('waits as long as the authority says, and keeps the old certificate meanwhile', async () => {
  await using at = setup()
  await using renewal = at.start()
  await renewal.look()
  const expiresAt = renewal.status().expiresAt
  at.clock.advance(60 * DAY)
  at.authority.faults.push({ at: 'order', type: 'rateLimited', status: 429, retryAfter: '259200' })
  await renewal.look()
  expect(renewal.status()).toMatchObject({ expiresAt, failure: { attempts: 1 } })
  expect(at.files.state().waitUntil).toBe(at.clock.now() + 3 * DAY)
  at.clock.advance(3 * DAY)
  await renewal.look()
  expect(renewal.status().failure).toBeNull()
})

test('takes a certificate into use at a later look when its port was taken, without another order', async () => {
  await using at = setup()
  let attempts = 0
  const install = async () => {
    attempts += 1
    if (attempts < 3) throw new Error('the port is in use')
  }
  await using renewal = at.start(NAMES, install)
  await renewal.look()
  const kept = at.files.certificate()?.serialNumber
  for (const _ of [1, 2, 3]) await renewal.look()
  expect(attempts).toBe(3)
  expect(at.files.certificate()?.serialNumber).toBe(kept)
  expect(renewal.status().failure).toBeNull()
})

test.skipIf(!mayMount)(
  'on a full disk (needs root) orders nothing, waits, and keeps the old certificate with its key',
  async () => {
    using disk = mountSmallDisk('1m')
    await using at = setup(disk.path)
    await using renewal = at.start()
    await renewal.look()
    const pair = readFileSync(at.files.pair, 'utf8')
    at.clock.advance(70 * DAY)
    const filler = join(disk.path, 'filler')
    fill(filler)
    truncateSync(filler, statSync(filler).size - 4096)
    await renewal.look()
    at.clock.advance(HOUR / 60)
    await renewal.look()
    expect(at.authority.issued).toEqual([NAMES])
    expect(renewal.status().failure).toMatchObject({ attempts: 1 })
    expect(readFileSync(at.files.pair, 'utf8')).toBe(pair)
    // A chain that has no room takes no place either.
    expect(() => at.files.keep('x'.repeat(10_000), newKey())).toThrow('ENOSPC')
    expect(readFileSync(at.files.pair, 'utf8')).toBe(pair)

    rmSync(filler)
    at.clock.advance(HOUR)
    await renewal.look()
    expect(at.authority.issued).toEqual([NAMES, NAMES])
    expect(renewal.status().failure).toBeNull()
  },
)

function fill(path: string): void {
  const file = openSync(path, 'w')
  try {
    for (;;) writeSync(file, Buffer.alloc(4096))
  } catch {
    closeSync(file)
  }
}

test('gets a new certificate when a name was added', async () => {
  await using at = setup()
  await using first = at.start()
  await first.look()
  const more = [...NAMES, 'new.example.com']
  await using second = at.start(more)
  await second.look()
  expect(at.authority.issued).toEqual([NAMES, more])
})

test('over http answers health checks, and redirects its own names only', async () => {
  await using at = setup()
  const ask = (path: string, host: string) =>
    fetch(`${at.url}${path}`, { redirect: 'manual', headers: { host } })
  expect((await ask('/health', 'x')).status).toBe(200)
  expect((await ask('/ready', 'x')).status).toBe(503)
  at.becomeReady()
  expect((await ask('/ready', 'x')).status).toBe(200)
  expect((await ask('/.well-known/acme-challenge/unknown', 'db.example.com')).status).toBe(404)
  const redirected = await ask('/evil.example/a?b=c', 'db.example.com')
  expect(redirected.status).toBe(308)
  expect(redirected.headers.get('location')).toBe('https://db.example.com/evil.example/a?b=c')
  expect((await ask('/', 'evil.example')).status).toBe(421)
})
