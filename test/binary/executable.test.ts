import { postJson } from '../http/setup'
import { expect, test } from 'bun:test'
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { version } from '../../package.json'
import { makeBlank } from '../../src/sqlite/prepare'
import { temporaryFolder } from '../setup'
import { EXECUTABLE, satchel, serve } from './setup'

test('is silent when the reader of its help closes the pipe', async () => {
  const command = `(sleep 0.2; exec "$0" serve --help) | true`
  const shell = Bun.spawn(['sh', '-c', command, EXECUTABLE], { stderr: 'pipe' })
  expect(await shell.stderr.text()).toBe('')
})

test('says its version and its help in an empty folder, and leaves nothing there', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  expect(await satchel(['--version'], surroundings)).toEqual({
    exitCode: 0,
    stdout: `${version}\n`,
    stderr: '',
  })
  const help = await satchel(['serve', '--help'], surroundings)
  expect(help).toMatchObject({ exitCode: 0, stderr: '' })
  for (const flag of ['data', 'host', 'port', 'memory', 'durability', 'domain', 'public-url']) {
    expect(help.stdout).toContain(`--${flag}`)
  }
  expect(readdirSync(folder.path)).toEqual([])
})

test('the first start makes the database main and tells its client once', async () => {
  using folder = temporaryFolder()
  const surroundings = { cwd: folder.path }
  {
    await using first = await serve(surroundings)
    const { ready } = first
    const { url } = ready
    expect(ready).toEqual({
      event: 'ready',
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      databases: [{ name: 'main', url: `${url}/main` }],
      client: { clientId: expect.any(String), clientSecret: expect.stringMatching(/^[\w-]{43}$/) },
      folder: join(folder.path, 'data'),
      pid: first.pid,
    })
    expect((await fetch(`${url}/health`)).status).toBe(200)
    const token = await postJson(`${url}/main/token`, {
      grant_type: 'client_credentials',
      client_id: ready.client?.clientId,
      client_secret: ready.client?.clientSecret,
      scopes: ['ACCESS_DB', 'IMPERSONATE', 'MANAGE_DB', 'GLOBAL_READ', 'GLOBAL_WRITE', 'DELETE_DB'],
    })
    expect(token.status).toBe(200)
    first.kill('SIGTERM')
    expect(await first.rest).toBe('')
  }
  await using second = await serve(surroundings)
  expect(second.ready).not.toHaveProperty('client')
  expect(second.ready.databases).toHaveLength(1)
})

const isLinux = process.platform === 'linux'

// promises.md 43
test.if(isLinux)(
  'binds 127.0.0.1 unless told otherwise, and two servers share no secret',
  async () => {
    using one = temporaryFolder()
    using other = temporaryFolder()
    await using first = await serve({ cwd: one.path })
    await using second = await serve({ cwd: other.path })
    const port = Number(new URL(first.ready.url).port)
    const addresses = listeningAddresses(port, await Bun.file('/proc/net/tcp').text())
    expect(addresses).toEqual(['0100007F'])
    expect(listeningAddresses(port, await Bun.file('/proc/net/tcp6').text())).toEqual([])
    expect(first.ready.client?.clientSecret).not.toBe(second.ready.client?.clientSecret)
    const keyOf = (path: string) => Bun.file(join(path, 'data/databases/main/secret.key')).text()
    expect(await keyOf(one.path)).not.toBe(await keyOf(other.path))
  },
)

/** Of `/proc/net/tcp`, in hexadecimal: the local addresses that listen on this port. */
function listeningAddresses(port: number, table: string): string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local = '', , state]) =>
      local.endsWith(end) && state === '0A' ? [local.slice(0, -end.length)] : [],
    )
}

test('everything in the data folder is for its user only', async () => {
  using folder = temporaryFolder()
  await using server = await serve({ cwd: folder.path })
  expect(server.ready.databases).toHaveLength(1)
  const data = join(folder.path, 'data')
  for (const path of ['.', ...readdirSync(data, { recursive: true })]) {
    const stats = statSync(join(data, String(path)))
    expect({ path, mode: stats.mode & 0o777 }).toEqual({
      path,
      mode: stats.isDirectory() ? 0o700 : 0o600,
    })
  }
})

// promises.md 44
test('files in the current folder change nothing', async () => {
  using folder = temporaryFolder()
  const planted = `require('node:fs').writeFileSync(${JSON.stringify(join(folder.path, 'ran'))}, '')`
  const files = {
    '.env': 'SATCHEL_HOST=0.0.0.0\nSATCHEL_DATA=./elsewhere\nSATCHEL_LOG_LEVEL=error\n',
    '.env.local': 'SATCHEL_MEMORY=true\n',
    '.env.production': 'SATCHEL_MEMORY=true\n',
    'satchel.json': '{"host": "0.0.0.0"}',
    'bunfig.toml': 'preload = ["./planted.js"]\n[run]\npreload = ["./planted.js"]\n',
    'planted.js': planted,
    'tsconfig.json': '{"compilerOptions": {"paths": {"*": ["./planted.js"]}}}',
    'package.json': '{"name": "planted", "imports": {"#a": "./planted.js"}, "type": "commonjs"}',
    'node_modules/elysia/index.js': planted,
    'node_modules/commander/index.js': planted,
    'node_modules/jose/index.js': planted,
    'node_modules/drizzle-orm/index.js': planted,
    'src/sqlite/checkpoint-worker.ts': planted,
  }
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder.path, path)
    mkdirSync(join(file, '..'), { recursive: true })
    writeFileSync(file, content)
  }
  const environment = { NODE_ENV: 'production' }
  await using server = await serve({ cwd: folder.path, environment })
  expect(server.ready.url).toContain('127.0.0.1')
  expect((await fetch(`${server.ready.url}/ready`)).status).toBe(200)
  const { exitCode } = await satchel(['client', 'list'], { cwd: folder.path })
  expect(exitCode).toBe(0)
  expect(readdirSync(folder.path)).toEqual(
    expect.arrayContaining([
      'data',
      ...new Set(Object.keys(files).map((path) => path.split('/')[0])),
    ]),
  )
  expect(readdirSync(folder.path)).not.toContain('ran')
  expect(readdirSync(folder.path)).not.toContain('elsewhere')
  server.kill('SIGTERM')
  // Requests are logged, which SATCHEL_LOG_LEVEL=error would have prevented.
  expect(await server.log).toContain('"logger":"access"')
})

test.if(isLinux)('--memory serves a folder that is gone afterwards, however it ends', async () => {
  using folder = temporaryFolder()
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const server = await serve({ cwd: folder.path }, ['--memory'])
    expect(server.ready.client).toBeDefined()
    const path = memoryFolderOf(server.pid)
    expect(path).toMatch(/\/satchel-memory-\w+$/)
    expect(readdirSync(path)).toContain('databases')
    // A file that was migrated here would still be in its log.
    const { size } = statSync(join(path, 'databases', 'main', 'database.sqlite'))
    expect(size).toBeGreaterThanOrEqual(makeBlank().length)
    server.kill(signal)
    expect(await server.exited).toBe(0)
    expect(() => statSync(path)).toThrow('ENOENT')
  }
  expect(readdirSync(folder.path)).toEqual([])
})

/** From the files the process holds open. */
function memoryFolderOf(pid: number): string {
  const { stdout } = Bun.spawnSync([
    'readlink',
    ...readdirSync(`/proc/${pid}/fd`).map((fd) => `/proc/${pid}/fd/${fd}`),
  ])
  const lock = stdout
    .toString()
    .split('\n')
    .find((path) => path.endsWith('/lock.sqlite'))
  return join(lock ?? '', '..')
}

test('settings come from the environment and from a file that is named', async () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'my.json'), '{"data": "from-file", "logLevel": "error"}')
  const environment = { SATCHEL_DATA: 'from-environment' }
  await using server = await serve({ cwd: folder.path, environment }, ['--config', 'my.json'])
  expect(readdirSync(folder.path).toSorted()).toEqual(['from-environment', 'my.json'])
  server.kill('SIGTERM')
  expect(await server.log).toBe('')
})
