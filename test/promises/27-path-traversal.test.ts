import { describe, expect, test } from 'bun:test'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { codeOf } from '../auth/setup'
import { exchange, setupData } from '../http/setup'
import { temporaryFolder } from '../setup'
import { setupExecutable } from './setup'

/**
 * Promise 27: path traversal in database names, table names, keys, blob ids and static files: hundreds of
 * encodings are 400 or 404, and nothing outside the data folder is opened (ASVS 5.3.2).
 */

const DOTS = ['..', '%2e%2e', '%2E.', '.%2e', '%252e%252e', '%c0%ae%c0%ae', '%e0%80%ae', '..%00']
const MORE_DOTS = ['..;', '....', '%uff0e%uff0e', '%ef%bc%8e%ef%bc%8e', '..%0a', '%5c..', '%09..']
const SLASHES = [
  '/',
  '%2f',
  '%2F',
  '\\',
  '%5c',
  '%252f',
  '%c0%af',
  '%e0%80%af',
  '//',
  '/./',
  '%00/',
]
const TARGETS = ['etc/passwd', 'secret.key', 'holder.json', 'databases/main/database.sqlite']

/** Ways up, three levels each. */
const CLIMBS = [...DOTS, ...MORE_DOTS].flatMap((dots) =>
  SLASHES.map((slash) => `${dots}${slash}`.repeat(3)),
)

const ABSOLUTE = [
  '/etc/passwd',
  '%2fetc%2fpasswd',
  'file:%2f%2f%2fetc%2fpasswd',
  'C:%5cWindows%5cwin.ini',
  '%5c%5cserver%5cshare%5cx',
  '%5c%5c%3f%5cC:%5cx',
  '~/.ssh/id_rsa',
  '$HOME',
  'a%00.json',
  'secret.key%00',
  'x'.repeat(5000),
  `${'..%2f'.repeat(1000)}etc%2fpasswd`,
]

/**
 * Routes that anybody may read: a climb that is resolved on its way to them would be answered 200.
 * Resolvers stop at the root, so that three levels are enough from every place.
 */
const ROUTES = ['health?', 'openapi/json?', 'main/public/plain?', 'main/public/plain/bait?']
const RESOLVED = ['..', '%2e%2e', '%2E.', '.%2e'].flatMap((dots) =>
  ['/', '\\', '//', '/./', '\\/', '/%2e/'].map((slash) => `${dots}${slash}`.repeat(3)),
)
const TO_ROUTES = RESOLVED.flatMap((climb) => ROUTES.map((route) => `${climb}${route}`))

const HOSTILE = [
  ...TO_ROUTES,
  ...CLIMBS.map((climb, n) => `${climb}${TARGETS[n % TARGETS.length]}`),
  ...ABSOLUTE,
]

/** Where a caller can put a name. */
const PLACES = [
  (name: string) => `/${name}/public/plain`,
  (name: string) => `/main/public/${name}`,
  (name: string) => `/main/public/plain/${name}`,
  (name: string) => `/main/${name}`,
  (name: string) => `/openapi/${name}`,
  (name: string) => `/main/all/pairs/%5B%22${name}%22,1%5D`,
  (name: string) => `/main/blob/${name}`,
  (name: string) => `/main/blob/1:${name}`,
  (name: string) => `/${name}/blob/1:a`,
]

const request = (method: string, path: string, token: string | undefined, body = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n` +
  (token === undefined ? '' : `Authorization: Bearer ${token}\r\n`) +
  (body === '' ? '\r\n' : `Content-Length: ${body.length}\r\n\r\n${body}`)

/** Sends every name to every place, several at a time. Returns what was answered otherwise. */
async function sendAll(url: string, token: string | undefined): Promise<string[]> {
  const wrong: string[] = []
  const cases = HOSTILE.flatMap((name) => PLACES.map((place) => place(name)))
  const work = cases.flatMap((path) => [
    request('GET', path, token),
    request('DELETE', path, token),
    ...(path.includes('/blob/') ? [request('PUT', path, token, 'bytes')] : []),
  ])
  const workers = Array.from({ length: 8 }, async () => {
    for (let each = work.pop(); each !== undefined; each = work.pop()) {
      const { text, statuses } = await exchange(url, each)
      const isRefused = /^(?:400|404|405|414|431)$/.test(statuses.join())
      if (!isRefused || text.includes('root:'))
        wrong.push(`${each.slice(0, 80)}: ${statuses.join()}`)
    }
  })
  await Promise.all(workers)
  return wrong
}

test('promise 27: hostile names in addresses are 400 or 404 in every place', async () => {
  expect(HOSTILE.length).toBeGreaterThanOrEqual(170)
  await using server = await setupData()
  await server.root.post('/public/plain', { id: 'bait' })
  for (const route of ROUTES) expect((await fetch(`${server.url}/${route}`)).status).toBe(200)
  expect(await sendAll(server.url, server.root.token)).toEqual([])
  expect(existsSync(join(server.folder, 'databases', 'main', 'blobs'))).toBe(false)
  const failures = server.lines.filter((line) => line.includes('"level":"error"'))
  expect(failures).toEqual([])
  expect((await server.anyone.get('/public/plain')).status).toBe(200)
})

test('promise 27: no command makes or removes a database outside the folder', async () => {
  await using server = await setupData()
  const names = ['..', '.', '../x', 'a/b', 'a\\b', '/tmp/x', 'main/../x', 'x\u0000', '', 'A', '-x']
  // First segments of other addresses.
  names.push('service', 'token', 'create-db', 'api', 'docs', 'openapi', 'health', 'ready')
  for (const name of [...names, '_control', '.hidden', 'x'.repeat(64), 'ü', 'a b']) {
    for (const [operation, input] of [
      ['db.create', { name }],
      ['db.delete', { database: name, hard: true }],
    ] as const) {
      const code = await codeOf(() => server.commands.run(operation, input))
      expect(['UNPROCESSABLE', 'UNKNOWN_DATABASE']).toContain(code)
    }
  }
  expect(await server.commands.run('db.list', {})).toMatchObject([{ name: 'main' }])
  expect(existsSync(join(server.folder, 'databases', 'main', 'database.sqlite'))).toBe(true)
})

const strace = Bun.which('strace')

/** Every path that a process names to the kernel from now on, until it is asked for. */
async function watchFiles(pid: number, log: string) {
  // Paths that calls give back are shown whole.
  const args = ['-f', '-s', '4096', '-e', 'trace=%file', '-o', log, '-p', String(pid)]
  const tracer = Bun.spawn([strace ?? '', ...args], { stdout: 'ignore', stderr: 'pipe' })
  const { value } = await tracer.stderr.getReader().read()
  if (!new TextDecoder().decode(value).includes('attached'))
    throw new Error('strace is not allowed')
  return {
    async paths(): Promise<string[]> {
      tracer.kill('SIGINT')
      await tracer.exited
      const calls = readFileSync(log, 'utf8').matchAll(/"((?:[^"\\]|\\.)*)"/g)
      return [...calls].map(([, path = '']) => path)
    },
  }
}

/** Where a process sees how much memory it has, and how many descriptors. */
const OF_THE_PROCESS: ReadonlySet<string> = new Set([
  '/proc/self/stat',
  '/proc/self/statm',
  '/dev/null',
])

/** In the folder, on the way to it, or about the process itself. */
function isHarmless(path: string, folder: string): boolean {
  if (path.startsWith(folder) || folder.startsWith(`${path}/`)) return true
  return OF_THE_PROCESS.has(path) || /^\/proc\/self\/fd\/\d+$/.test(path)
}

describe('promise 27: what the executable opens', () => {
  test.skipIf(strace === null)(
    'lies in its data folder, for any request (needs strace)',
    async () => {
      using logs = temporaryFolder()
      await using executable = await setupExecutable()
      const root = await executable.root()
      // Modules that load at first use are loaded now.
      await root.post('/public/plain', { id: 'a' })
      await root.send('PUT', '/blob/a', { body: 'bytes' })
      const paths = ['/public/plain', '/public/plain/a', '/none/x', '/all/none', '/blob/1:b']
      for (const path of paths) await root.get(path)
      const files = await watchFiles(executable.served.pid, join(logs.path, 'trace'))
      expect(await sendAll(executable.url, root.token)).toEqual([])
      await root.post('/public/plain', { id: 'b' })
      await root.send('PUT', '/blob/b', { body: 'other bytes' })
      await fetch(`${executable.main}/blob/1:b`, {
        headers: { authorization: `Bearer ${root.token}` },
      })
      await executable.commands.run('db.create', { name: 'watched' })
      const opened = await files.paths()
      expect(opened.some((path) => path.startsWith(executable.folder))).toBe(true)
      expect(opened.some((path) => path.includes('/blobs/incoming/'))).toBe(true)
      expect(opened.filter((path) => !isHarmless(path, executable.folder))).toEqual([])
    },
  )
})
