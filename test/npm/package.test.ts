import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { isAlive, temporaryFolder } from '../setup'
import { until } from '../timing'

const ROOT = join(import.meta.dir, '..', '..')
const PACKAGES = join(ROOT, 'dist', 'npm')
const GUIDE = readFileSync(join(ROOT, 'docs', 'testing.md'), 'utf8')

/** The test files of the guide. */
const EXAMPLES = [...GUIDE.matchAll(/```ts\n(import [\s\S]*?)```/g)].map(([, code = '']) => code)

async function run(cwd: string, ...command: string[]): Promise<string> {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe', stdin: 'ignore' })
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

/** An empty project with the packed package; that of the platform is large, and is linked as it is. */
beforeAll(async () => {
  await run(ROOT, process.execPath, 'build.ts', '--npm', 'host')
  writeFileSync(join(path, 'package.json'), '{"private": true, "type": "module"}')
  await run(path, 'npm', 'pack', '--silent', join(PACKAGES, 'satchel'))
  const platform = join(PACKAGES, `satchel-${process.platform}-${process.arch}.package`)
  const flags = ['--omit=optional', '--no-audit', '--no-fund', '--offline']
  await run(path, 'npm', 'install', ...flags, './satchel-0.1.0.tgz', platform)
  symlinkSync(join(ROOT, 'node_modules', 'vitest'), join(path, 'node_modules', 'vitest'))
}, 60_000)

afterAll(() => project[Symbol.dispose]())

test('the tests of the guide pass in vitest, under Node.js, and in bun test', async () => {
  expect(EXAMPLES).toHaveLength(2)
  for (const [at, code] of EXAMPLES.entries()) {
    writeFileSync(join(path, `example-${at}.test.ts`), code)
  }
  const vitest = await run(path, 'node', 'node_modules/vitest/vitest.mjs', 'run')
  expect(vitest).toContain('2 passed')
  const code = EXAMPLES[0]?.replace("from 'vitest'", "from 'bun:test'") ?? ''
  writeFileSync(join(path, 'bun.test.ts'), code)
  expect(await run(path, process.execPath, 'test', './bun.test.ts')).toContain('1 pass')
}, 60_000)

test('the module offers every address for tests, under Node.js', async () => {
  writeFileSync(join(path, 'all.mjs'), ALL)
  expect(JSON.parse(await run(path, 'node', 'all.mjs'))).toEqual({
    seeded: ['first'],
    after: 2,
    restored: ['first'],
    forked: 200,
    mail: 'No new mail to eve@example.com came within 10 ms',
    frozen: '2030-01-01T00:00:00.000Z',
    explained: true,
    denied: true,
    broken: true,
    page: true,
    same: true,
    wrong: true,
  })
}, 60_000)

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
console.log(JSON.stringify({ seeded, after, restored, forked, mail, frozen, explained, denied, broken, page, same, wrong }))
`

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
  const failing = Bun.spawn(['node', 'node_modules/satchel/launcher.js', 'srve'], {
    cwd: path,
    stderr: 'pipe',
  })
  expect(await failing.stderr.text()).toContain('unknown command')
  expect(await failing.exited).toBe(2)
}, 60_000)

test('a machine without an executable is told how to get one', async () => {
  const launcher = Bun.spawn(['node', join(PACKAGES, 'satchel', 'launcher.js'), '--version'], {
    stderr: 'pipe',
  })
  expect(await launcher.stderr.text()).toContain('install satchel again')
  expect(await launcher.exited).toBe(1)
})
