import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { CHROMIUM } from '../browser/chromium'
import { pageOf, servePage, withOwnFiles } from '../browser/guide-page'
import { isAlive, temporaryFolder } from '../setup'
import { until } from '../timing'

const ROOT = join(import.meta.dir, '..', '..')
const PACKAGES = join(ROOT, 'dist', 'npm')
const GUIDE = readFileSync(join(ROOT, 'docs', 'testing.md'), 'utf8')

/** The test files of the guide, by the names under which the reader saves them. */
const EXAMPLES = new Map(
  [...GUIDE.matchAll(/`([\w./]+\.ts)`:\n\n```ts\n([\s\S]*?)```/g)].map(
    ([, name = '', code = '']) => [name, code],
  ),
)

async function run(cwd: string, ...command: string[]): Promise<string> {
  // Workers of `bun test` have a number, from which Playwright concludes that Jest runs it.
  const env = { ...process.env, JEST_WORKER_ID: undefined }
  const child = Bun.spawn(command, { cwd, env, stdout: 'pipe', stderr: 'pipe', stdin: 'ignore' })
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  const output = stdout + stderr
  expect({ exitCode, output: exitCode === 0 ? '' : output }).toEqual({ exitCode: 0, output: '' })
  return output
}

const project = temporaryFolder()
const { path } = project

/** An empty project with the packed package; that of the platform is large, and is copied as it is. */
beforeAll(async () => {
  await run(ROOT, process.execPath, 'build.ts', '--npm', 'host')
  writeFileSync(join(path, 'package.json'), '{"private": true, "type": "module"}')
  await run(path, 'npm', 'pack', '--silent', join(PACKAGES, 'satchel'))
  const flags = ['--omit=optional', '--no-audit', '--no-fund', '--offline']
  await run(path, 'npm', 'install', ...flags, './satchel-0.1.0.tgz')
  const platform = `${process.platform}-${process.arch}`
  const installed = join(path, 'node_modules', '@satchel', platform)
  cpSync(join(PACKAGES, `satchel-${platform}.package`), installed, { recursive: true })
  mkdirSync(join(path, 'node_modules', '@playwright'))
  for (const name of ['vitest', '@playwright/test']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(path, 'node_modules', name))
  }
  mkdirSync(join(path, 'e2e'))
  for (const [name, code] of EXAMPLES) writeFileSync(join(path, name), code)
}, 180_000)

afterAll(() => project[Symbol.dispose]())

/** These machines may be slow: the tests of the guide have as much time as other tests. */
const PATIENCE = ['--testTimeout=150000', '--hookTimeout=150000']

describe('of the guide', () => {
  test('the examples are these files, without faulty types', async () => {
    expect([...EXAMPLES.keys()]).toEqual([
      'sharing.test.ts',
      'todo.test.ts',
      'e2e/shopping.spec.ts',
    ])
    writeFileSync(join(path, 'tsconfig.json'), JSON.stringify(TYPES))
    await run(path, join(ROOT, 'node_modules', '.bin', 'tsc'), '-p', '.')
  })

  test('the tests pass in vitest, under Node.js', async () => {
    const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', ...PATIENCE]
    const output = await run(path, ...vitest, 'sharing.test.ts', 'todo.test.ts')
    expect(output).toContain('6 passed')
  }, 180_000)

  test('a test passes in bun test', async () => {
    const code = EXAMPLES.get('sharing.test.ts')?.replace("from 'vitest'", "from 'bun:test'") ?? ''
    writeFileSync(join(path, 'bun.test.ts'), code)
    const bun = [process.execPath, 'test', '--timeout', '60000', './bun.test.ts']
    expect(await run(path, ...bun)).toContain('1 pass')
  }, 180_000)

  test('a page is logged in and syncs in Playwright', async () => {
    const databaseUrl = "globalThis.databaseUrl ?? 'https://db.example.com/main'"
    expect(GUIDE).toContain(
      `db.cloud.configure({ databaseUrl: ${databaseUrl}, requireAuth: true })`,
    )
    using application = servePage(withOwnFiles(pageOf('README.md', databaseUrl)))
    const code = EXAMPLES.get('e2e/shopping.spec.ts') ?? ''
    writeFileSync(
      join(path, 'e2e/shopping.spec.ts'),
      code.replace('http://localhost:5173/', application.url),
    )
    const config = {
      testDir: 'e2e',
      reporter: 'line',
      timeout: 150_000,
      expect: { timeout: 140_000 },
      use: { launchOptions: { executablePath: CHROMIUM, args: ['--no-sandbox'] } },
    }
    writeFileSync(join(path, 'playwright.config.ts'), `export default ${JSON.stringify(config)}`)
    const playwright = ['node', 'node_modules/@playwright/test/cli.js', 'test']
    expect(await run(path, ...playwright)).toContain('1 passed')
  }, 180_000)
})

/** Strict, for a program of Node.js and of browsers. */
const TYPES = {
  compilerOptions: {
    strict: true,
    module: 'nodenext',
    target: 'esnext',
    lib: ['esnext', 'dom'],
    types: [],
    noEmit: true,
    skipLibCheck: true,
  },
  files: [...EXAMPLES.keys()],
}

test('the module offers every address for tests, under Node.js', async () => {
  writeFileSync(join(path, 'all.mjs'), ALL)
  expect(JSON.parse(await run(path, 'node', 'all.mjs'))).toEqual({
    seeded: ['first'],
    after: 2,
    restored: ['first'],
    forked: 200,
    mail: 'No new mail to eve@example.com came within 10 ms',
    returned: 'No new mail to bob@example.com came within 10 ms',
    unknown: { name: 'ApiError', status: 404, code: 'UNKNOWN_OBJECT' },
    frozen: '2030-01-01T00:00:00.000Z',
    explained: true,
    denied: true,
    broken: true,
    page: true,
    same: true,
    wrong: true,
  })
}, 180_000)

const ALL = `
import { startSatchel } from 'satchel/testing'

const schema = { todos: '@id, title' }
const seed = { data: { 'rlm-public': { todos: { one: { title: 'first' } } } } }
const backend = await startSatchel({ schema, seed })
const titles = async () => (await (await fetch(backend.url + '/public/todos')).json()).map(({ title }) => title)
const admin = await backend.admin()
const seeded = await titles()
const id = await backend.snapshot()
await admin.post('/public/todos', { title: 'second' })
const after = (await titles()).length
await backend.restore(id)
const restored = await titles()
const forked = (await fetch((await backend.fork(id)) + '/public/todos')).status
const mail = await backend.mail.waitFor('eve@example.com', { wait: 10 }).catch((error) => error.message)
const ask = () => fetch(backend.url + '/token', {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ grant_type: 'otp', email: 'bob@example.com', scopes: ['ACCESS_DB'] }),
})
await ask()
await backend.mail.waitFor('bob@example.com')
const asked = await backend.snapshot()
await ask()
await backend.mail.waitFor('bob@example.com')
await backend.restore(asked)
const returned = await backend.mail.waitFor('bob@example.com', { wait: 10 }).catch((error) => error.message)
const unknown = await backend.restore('none').catch(({ name, status, code }) => ({ name, status, code }))
await backend.clock.set('2030-01-01')
await backend.reset()
await backend.clock.set(new Date('2030-01-01'))
await backend.clock.freeze()
const frozen = await backend.clock.set('2030-01-01')
await backend.clock.run()
const explained = (await backend.explain({ as: 'a@b.de', do: 'read', table: 'todos', key: 'one' })).allowed
await backend.idp.open([{ email: 'eve@example.com', failure: 'denied' }])
const denied = (await backend.idp.login('eve@example.com', 'http://localhost:1/')).includes('dxc-auth=')
await backend.fault({ offline: true })
const broken = await titles().then(() => false, () => true)
await backend.fault({ offline: false })
const page = (await backend.pageFor({ email: 'a@b.de', name: 'A' }, 'http://localhost:1/')).includes('dxc-auth=')
const same = (await backend.clock.now()) > (await backend.clock.advance('-1h')) && (await backend.mail.list()).length === 0
await backend.stop()
const wrong = await startSatchel({ schema: { todos: '++id' } }).then(() => false, ({ message }) => message.includes('todos'))
console.log(JSON.stringify({ seeded, after, restored, forked, mail, returned, unknown, frozen, explained, denied, broken, page, same, wrong }))
`

const LAUNCHER = ['node', 'node_modules/satchel/launcher.js']

test('the command runs the executable, and ends with it or with its own parent', async () => {
  expect(await run(path, 'npx', '--no-install', 'satchel', '--version')).toStartWith('0.1.0\n')
  for (const way of ['node node_modules/satchel/launcher.js', 'npx --no-install satchel']) {
    const command = `${way} serve --memory --test --port 0 --json & wait`
    const shell = Bun.spawn(['sh', '-c', command], { cwd: path, stdout: 'pipe', stderr: 'ignore' })
    const { value } = await shell.stdout.getReader().read()
    const { pid, folder } = JSON.parse(new TextDecoder().decode(value)) as {
      pid: number
      folder: string
    }
    shell.kill('SIGKILL')
    await until(() => !existsSync(folder) && !isAlive(pid))
  }
  const shown = Bun.spawn([...LAUNCHER, 'serve', '--memory', '-p', '0'], {
    cwd: path,
    stdout: 'pipe',
    stderr: 'ignore',
  })
  const { value: banner } = await shown.stdout.getReader().read()
  expect(new TextDecoder().decode(banner)).toContain(
    'npx satchel token --sub alice@example.com --data',
  )
  shown.kill()
  await shown.exited
  let screen = ''
  const serve = [...LAUNCHER, 'serve', '--memory', '-p', '0']
  const data = (_: unknown, bytes: Uint8Array) => void (screen += new TextDecoder().decode(bytes))
  const stopped = Bun.spawn(serve, { cwd: path, terminal: { data } })
  await until(() => screen.includes('Ctrl-C stops it'))
  stopped.terminal?.write('\u0003')
  // 130: the signal came twice, and open requests were aborted.
  expect(await stopped.exited).toBe(0)
  const log = join(path, 'serve.log')
  const redirected = `exec ${serve.join(' ')} </dev/null >${log} 2>&1`
  const quiet = Bun.spawn(['sh', '-c', redirected], { cwd: path, terminal: { data } })
  await until(() => existsSync(log) && readFileSync(log, 'utf8').includes('npx satchel'))
  quiet.terminal?.write('\u0003')
  expect(await quiet.exited).toBe(0)
  const failing = Bun.spawn([...LAUNCHER, 'srve'], {
    cwd: path,
    stderr: 'pipe',
  })
  expect(await failing.stderr.text()).toContain('Unknown command')
  expect(await failing.exited).toBe(2)
}, 180_000)

test('a machine without an executable is told how to get one', async () => {
  const launcher = Bun.spawn(['node', join(PACKAGES, 'satchel', 'launcher.js'), '--version'], {
    stderr: 'pipe',
  })
  expect(await launcher.stderr.text()).toContain('install satchel again')
  expect(await launcher.exited).toBe(1)
})
