import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { version as current } from '../../package.json'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { CHROMIUM } from '../browser/chromium'
import { pageOf, servePage, withOwnFiles } from '../browser/guide-page'
import { isAlive, temporaryFolder } from '../setup'
import { until } from '../timing'

const ROOT = join(import.meta.dir, '..', '..')
const PACKAGES = join(ROOT, 'dist', 'npm')
const GUIDE = readFileSync(join(ROOT, 'docs', 'testing.md'), 'utf8')

/** The files of the guide, by the names under which the reader saves them. */
const EXAMPLES = new Map(
  [...GUIDE.matchAll(/`([\w./]+)`(?:[^`\n]*):\n\n```(?:c?js|ts)\n([\s\S]*?)```/g)].map(
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
  // Runners colour what they print where CI is set.
  const output = Bun.stripANSI(stdout + stderr)
  expect({ exitCode, output: exitCode === 0 ? '' : output }).toEqual({ exitCode: 0, output: '' })
  return output
}

const project = temporaryFolder()
/** As in the guide, the checkout of Satchel is beside it. */
const path = join(project.path, 'application')

const PACKAGE = join(PACKAGES, `satchel-${current}.tgz`)
/** The package depends on no other: none is asked for from a registry. */
const QUIET = ['--offline', '--no-audit', '--no-fund']

/** A project with the package, as the guide installs it. */
beforeAll(async () => {
  await run(ROOT, process.execPath, 'build.ts', '--npm')
  mkdirSync(join(project.path, 'satchel', 'dist', 'npm'), { recursive: true })
  copyFileSync(PACKAGE, join(project.path, 'satchel', 'dist', 'npm', basename(PACKAGE)))
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{"private": true, "type": "module"}')
  const [install = ''] = /^npm install --save-dev \.\..*$/m.exec(GUIDE) ?? []
  await run(path, ...install.split(' '), ...QUIET)
  mkdirSync(join(path, 'node_modules', '@playwright'))
  for (const name of ['vitest', '@playwright/test']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(path, 'node_modules', name))
  }
  mkdirSync(join(path, 'e2e'))
  const own = [...EXAMPLES].filter(([name]) => name.endsWith('.ts'))
  for (const [name, code] of own) writeFileSync(join(path, name), code)
}, 180_000)

afterAll(() => project[Symbol.dispose]())

test('npm installs the package in a workspace, from the lock file and beside another one', async () => {
  using folder = temporaryFolder()
  const root = join(folder.path, 'root')
  const [other, app] = [join(folder.path, 'other'), join(root, 'packages', 'app')]
  for (const [at, manifest] of [
    [other, { name: 'other', version: '1.0.0' }],
    [root, { private: true, workspaces: ['packages/*'] }],
    [app, { name: 'app', version: '1.0.0' }],
  ] as const) {
    mkdirSync(at, { recursive: true })
    writeFileSync(join(at, 'package.json'), JSON.stringify(manifest))
  }
  for (const args of [
    ['install', '--save-dev', '--workspace', 'app', PACKAGE],
    ['ci'],
    ['install', '--workspace', 'app', other],
  ]) {
    await run(root, 'npm', ...args, ...QUIET)
    const version = await run(app, 'npx', '--no-install', 'satchel', '--version')
    expect(version).toStartWith(`${current}\n`)
  }
})

/** These machines may be slow: the tests of the guide have as much time as other tests. */
const PATIENCE = ['--testTimeout=150000', '--hookTimeout=150000']

describe('of the guide', () => {
  test('the examples are these files, without faulty types', async () => {
    expect([...EXAMPLES.keys()]).toEqual([
      'sharing.test.ts',
      'todo.test.ts',
      'todo.test.mjs',
      'items.test.js',
      'e2e/fixtures.ts',
      'e2e/shopping.spec.ts',
      'playwright.config.ts',
      'vitest.config.ts',
    ])
    writeFileSync(join(path, 'tsconfig.json'), JSON.stringify(TYPES))
    await run(path, join(ROOT, 'node_modules', '.bin', 'tsc'), '-p', '.')
  })

  test('the tests pass in vitest, which leaves those of Playwright and of packages alone', async () => {
    const other = join(path, 'node_modules', 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'other.test.js'), "throw new Error('a test of a package')")
    const vitest = ['node', 'node_modules/vitest/vitest.mjs', 'run', ...PATIENCE]
    const output = await run(path, ...vitest)
    expect(output).toContain('Test Files  2 passed (2)')
    expect(output).toContain('6 passed')
  })

  test('a test passes in node:test', async () => {
    writeFileSync(join(path, 'todo.test.mjs'), EXAMPLES.get('todo.test.mjs') ?? '')
    expect(await run(path, 'node', '--test', 'todo.test.mjs')).toMatch(/^# pass 1$|^ℹ pass 1$/m)
  })

  test('the steps of the workflow run in an application that keeps the package', async () => {
    const [, text = ''] =
      /`\.github\/workflows\/test\.yml`.*:\n\n```yaml\n([\s\S]*?)```/.exec(GUIDE) ?? []
    const { jobs } = Bun.YAML.parse(text) as Workflow
    const commands = jobs.test.steps.flatMap(({ run: command }) => command ?? [])
    expect(commands).toEqual(['npm ci', 'npx vitest run'])
    // An application of its own: `npm ci` removes all that is not in the lock file.
    using folder = temporaryFolder()
    const application = join(folder.path, 'application')
    mkdirSync(join(application, 'vendor'), { recursive: true })
    copyFileSync(PACKAGE, join(application, 'vendor', basename(PACKAGE)))
    writeFileSync(join(application, 'package.json'), '{"private": true, "type": "module"}')
    const [install = ''] = /^npm install --save-dev \.\/vendor.*$/m.exec(GUIDE) ?? []
    await run(application, ...install.split(' '), ...QUIET)
    await run(application, 'npm', 'ci', ...QUIET)
    const modules = join(application, 'node_modules')
    symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(modules, 'vitest'))
    writeFileSync(join(application, 'sharing.test.ts'), EXAMPLES.get('sharing.test.ts') ?? '')
    const vitest = join(modules, 'vitest', 'vitest.mjs')
    expect(await run(application, 'node', vitest, 'run', ...PATIENCE)).toContain('1 passed')
  })

  test('a test passes in bun test', async () => {
    const code = EXAMPLES.get('sharing.test.ts')?.replace("from 'vitest'", "from 'bun:test'") ?? ''
    writeFileSync(join(path, 'bun.test.ts'), code)
    const bun = [process.execPath, 'test', '--timeout', '60000', './bun.test.ts']
    expect(await run(path, ...bun)).toContain('1 pass')
  })

  test('pages are logged in and sync in Playwright, with a backend for each worker', async () => {
    const databaseUrl = "globalThis.databaseUrl ?? 'https://db.example.com/main'"
    expect(GUIDE).toContain(
      `db.cloud.configure({ databaseUrl: ${databaseUrl}, requireAuth: true })`,
    )
    using application = servePage(withOwnFiles(pageOf('README.md', databaseUrl)))
    const code = EXAMPLES.get('e2e/fixtures.ts') ?? ''
    writeFileSync(
      join(path, 'e2e/fixtures.ts'),
      code.replace('http://localhost:5173/', application.url),
    )
    const config = {
      testDir: 'e2e',
      fullyParallel: true,
      workers: 2,
      reporter: 'line',
      timeout: 150_000,
      expect: { timeout: 140_000 },
      use: { launchOptions: { executablePath: CHROMIUM, args: ['--no-sandbox'] } },
    }
    writeFileSync(join(path, 'playwright.config.ts'), `export default ${JSON.stringify(config)}`)
    const playwright = ['node', 'node_modules/@playwright/test/cli.js', 'test']
    expect(await run(path, ...playwright)).toContain('2 passed')
  })
})

/** A workflow of GitHub Actions. */
interface Workflow {
  readonly jobs: {
    readonly test: {
      readonly steps: readonly { readonly run?: string }[]
    }
  }
}

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
  files: [...EXAMPLES.keys()].filter((name) => name.endsWith('.ts')),
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
    slash: 'A path begins with a slash: "/my/todos" instead of "my/todos"',
  })
})

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
const slash = await admin.post('my/todos', {}).catch(({ message }) => message)
const wrong = await startSatchel({ schema: { todos: '++id' } }).then(() => false, ({ message }) => message.includes('todos'))
console.log(JSON.stringify({ seeded, after, restored, forked, mail, returned, unknown, frozen, explained, denied, broken, page, same, wrong, slash }))
`

test('the module is required as well as imported, and is one', async () => {
  const code = `
    const { ApiError, startSatchel } = require('satchel/testing')
    async function main() {
      const imported = await import('satchel/testing')
      const backend = await imported.startSatchel()
      const refused = await (await backend.as('a@b.de')).get('/my/todos/none').catch((error) => error)
      await backend.stop()
      const { version } = require('satchel/package.json')
      console.log(JSON.stringify([version, refused instanceof ApiError, imported.startSatchel === startSatchel]))
    }
    main()`
  writeFileSync(join(path, 'required.cjs'), code)
  expect(JSON.parse(await run(path, 'node', 'required.cjs'))).toEqual([current, true, true])
})

test('a program uses the backend of satchel test exec, and leaves it running', async () => {
  const code = `
    import { connectSatchel } from 'satchel/testing'
    const backend = connectSatchel()
    const alice = await backend.as('alice@example.com')
    await alice.post('/my/todos', { title: 'Milk' })
    await (await backend.admin()).get('/all/todos')
    await backend.stop()
    console.log((await alice.get('/my/todos')).length)`
  writeFileSync(join(path, 'connected.mjs'), code)
  writeFileSync(join(path, 'schema.json'), '{"todos": "@id, title"}')
  const exec = ['satchel', 'test', 'exec', '--schema', 'schema.json', '--', 'node', 'connected.mjs']
  expect(await run(path, 'npx', '--no-install', ...exec)).toStartWith('1\n')
  const alone =
    "import('satchel/testing').then((it) => it.connectSatchel()).catch((error) => console.log(error.message))"
  expect(await run(path, 'node', '-e', alone)).toStartWith(
    'There is no backend: run this program with',
  )
})

const TYPED = `
import { type Api, ApiError, startSatchel } from 'satchel/testing'

export async function use(): Promise<number> {
  await using backend = await startSatchel({ schema: { todos: '@id' } })
  const alice: Api = await backend.as('alice@example.com')
  const found = await alice.get<{ id: string }[]>('/my/todos').catch((error: unknown) => error)
  return found instanceof ApiError ? found.status : 0
}
`

test('the types need no other package, and no later library than es2022', async () => {
  for (const name of ['types.cts', 'types.mts']) writeFileSync(join(path, name), TYPED)
  const compiler = join(ROOT, 'node_modules', '.bin', 'tsc')
  const [types, bun] = [join(ROOT, 'node_modules'), ['bun-types']]
  for (const options of [
    { module: 'node16', moduleResolution: 'node16', target: 'es2022', lib: ['es2022'] },
    { module: 'esnext', moduleResolution: 'bundler', target: 'es2022', lib: ['es2022', 'dom'] },
    { module: 'nodenext', target: 'esnext', lib: ['esnext'], typeRoots: [types], types: bun },
  ]) {
    const strict = { types: [], ...options, strict: true, skipLibCheck: !!options.typeRoots }
    const config = {
      compilerOptions: { ...strict, noEmit: true },
      files: ['types.cts', 'types.mts'],
    }
    writeFileSync(join(path, 'tsconfig.types.json'), JSON.stringify(config))
    expect(await run(path, compiler, '-p', 'tsconfig.types.json')).toBe('')
  }
})

test('a process that is killed leaves no files behind', async () => {
  using temporary = temporaryFolder()
  const code = `
    import { startSatchel } from 'satchel/testing'
    const seed = { data: { 'rlm-public': { todos: { one: { title: 'first' } } } } }
    const backend = await startSatchel({ schema: { todos: '@id, title' }, seed })
    console.log((await (await fetch(backend.url + '/public/todos')).json())[0].title)
    setInterval(() => {}, 1000)`
  writeFileSync(join(path, 'killed.mjs'), code)
  const worker = Bun.spawn(['node', 'killed.mjs'], {
    cwd: path,
    env: { ...process.env, TMPDIR: temporary.path, XDG_RUNTIME_DIR: temporary.path },
    stdout: 'pipe',
  })
  const { value } = await worker.stdout.getReader().read()
  expect(new TextDecoder().decode(value)).toBe('first\n')
  // The backend notes itself in the list of servers, and takes the note back when it ends.
  const listed = () => readdirSync(join(temporary.path, 'satchel'))
  expect(listed()).toHaveLength(1)
  worker.kill('SIGKILL')
  await worker.exited
  await until(() => listed().length === 0)
  expect(readdirSync(temporary.path)).toEqual(['satchel'])
})

const LAUNCHER = ['node', 'node_modules/satchel/launcher.js']

test('the command runs the executable, and ends with it or with its own parent', async () => {
  expect(await run(path, 'npx', '--no-install', 'satchel', '--version')).toStartWith(`${current}\n`)
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
})

test('a machine without an executable is told how to get one', async () => {
  using folder = temporaryFolder()
  const copy = join(folder.path, 'satchel')
  cpSync(join(PACKAGES, 'satchel'), copy, {
    recursive: true,
    filter: (source) => !source.includes('/bin/'),
  })
  const start = () => {
    const program = `require('${copy}/platform.js').findExecutable()`
    return run(
      folder.path,
      'node',
      '-e',
      `try { ${program} } catch (error) { console.log(error.message) }`,
    )
  }
  writeFileSync(join(copy, 'bin', 'satchel-darwin-riscv'), '')
  expect(await start()).toMatch(
    /has executables for darwin-riscv, and this machine is (\S+): .* "bun run package darwin-riscv \1"/,
  )
  rmSync(join(copy, 'bin'), { recursive: true })
  expect(await start()).toContain('install satchel again, with its optional dependencies')
  const on = (platform: string) =>
    run(
      folder.path,
      'node',
      '-e',
      `Object.defineProperty(process, 'platform', { value: '${platform}' })
      try { require('${copy}/platform.js').findExecutable() } catch (error) { console.log(error.message) }`,
    )
  expect(await on('win32')).toContain('does not run on Windows: run it')
  expect(await on('aix')).toContain('no executable for aix-')
  const launcher = Bun.spawn(['node', join(copy, 'launcher.js'), '--version'], { stderr: 'pipe' })
  expect(await launcher.stderr.text()).toContain('satchel: ')
  expect(await launcher.exited).toBe(1)
})

test('a package for a platform without an executable is refused', async () => {
  for (const [name, reason] of [
    ['windows-x64', 'Windows has no executable'],
    ['amiga', 'amiga is no platform: there are linux-x64, '],
  ] as const) {
    const build = Bun.spawn([process.execPath, 'build.ts', '--npm', name], {
      cwd: ROOT,
      stderr: 'pipe',
    })
    expect(await build.stderr.text()).toStartWith(reason)
    expect(await build.exited).toBe(1)
  }
})
