import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import process from 'node:process'
import { version as current } from '../../package.json'
import { temporaryFolder } from '../setup'

/**
 * `bun test/npm/managers.ts` installs the package that `bun run package` has made with every package manager,
 * on every version of Node.js that the manager supports: in a new project, from the lock file, beside
 * another package that comes later, and in a workspace. Each time a program starts a backend; jest runs the test of the
 * guide. Words choose some rows: `bun test/npm/managers.ts npm@10 node@18`. It downloads the managers and Node.js from the registry.
 */

const NODES = ['18', '20', '22', '24'] as const
const PACKAGE = join(import.meta.dir, '..', '..', 'dist', 'npm', `satchel-${current}.tgz`)
/** As in the guide: the checkout is beside the application. */
const GIVEN = `../satchel/dist/npm/satchel-${current}.tgz`
const OTHER = 'ms@2.1.3'

interface Manager {
  /** Its package in the registry, and the program in it. */
  readonly name: string
  readonly program: string
  readonly nodes: readonly string[]
  /** Files of a project that it needs, by their paths. */
  readonly files?: Readonly<Record<string, string>>
  readonly workspace?: Readonly<Record<string, string>>
  readonly install: readonly string[]
  readonly frozen: readonly string[]
  readonly another: readonly string[]
  /** Installs a project that has no lock file. */
  readonly first: readonly string[]
  /** Runs `node` and programs of packages. */
  readonly node: readonly string[]
  readonly run: readonly string[]
}

const npm = {
  program: 'bin/npm-cli.js',
  install: ['install', '--save-dev', GIVEN],
  frozen: ['ci'],
  another: ['install', OTHER],
  first: ['install'],
  node: [],
  run: ['exec', '--offline', '--', 'satchel'],
}

const pnpm = {
  workspace: { 'pnpm-workspace.yaml': 'packages:\n  - packages/*\n' },
  install: ['add', '--save-dev', GIVEN],
  frozen: ['install', '--frozen-lockfile'],
  another: ['add', OTHER],
  first: ['install', '--no-frozen-lockfile'],
  node: [],
  run: ['exec', 'satchel'],
}

const yarn = {
  install: ['add', '--dev', `satchel@file:${GIVEN}`],
  another: ['add', OTHER],
  first: ['install'],
  node: ['node'],
  run: ['run', 'satchel'],
}

const berry = {
  ...yarn,
  program: 'bin/yarn.js',
  name: '@yarnpkg/cli-dist@4',
  nodes: NODES,
  first: ['install', '--no-immutable'],
  frozen: ['install', '--immutable'],
}

const MANAGERS: readonly Manager[] = [
  { ...npm, name: 'npm@10', nodes: NODES },
  { ...npm, name: 'npm@11', nodes: ['20', '22', '24'] },
  { ...pnpm, name: 'pnpm@9', program: 'bin/pnpm.cjs', nodes: NODES },
  { ...pnpm, name: 'pnpm@10', program: 'bin/pnpm.cjs', nodes: NODES },
  { ...pnpm, name: 'pnpm@12', program: 'pnpm', nodes: NODES },
  {
    ...yarn,
    name: 'yarn@1',
    program: 'bin/yarn.js',
    nodes: NODES,
    node: [],
    frozen: ['install', '--frozen-lockfile'],
  },
  { ...berry, files: { '.yarnrc.yml': 'nodeLinker: node-modules\n' } },
  { ...berry, files: { '.yarnrc.yml': 'nodeLinker: pnp\n' } },
]

/** The file of the guide. */
const [, JEST_FILE = ''] =
  /`items\.test\.js`:\n\n```js\n([\s\S]*?)```/.exec(
    readFileSync(join(import.meta.dir, '..', '..', 'docs', 'testing.md'), 'utf8'),
  ) ?? []

/** Starts a backend by import and by require, and prints one line. */
const PROGRAM = `
import { createRequire } from 'node:module'
import { ApiError, startSatchel } from 'satchel/testing'

const require = createRequire(import.meta.url)
const required = require('satchel/testing')
const backend = await startSatchel({ schema: { todos: '@id, title' } })
const alice = await backend.as('alice@example.com')
await alice.post('/my/todos', { title: 'Milk' })
const [{ title }] = await alice.get('/my/todos')
const refused = await alice.get('/my/todos/none').catch((error) => error)
await backend.stop()
const other = await required.startSatchel()
await other.stop()
const isOne = refused instanceof ApiError && required.ApiError === ApiError
console.log([title, isOne, require('satchel/package.json').version].join(' '))
`
const PRINTED = `Milk true ${current}`

interface Row {
  readonly label: string
  readonly node: string
  /** Its package in the registry. */
  readonly manager: string
  /** Resolves to the first problem in the folder `room`, undefined without one. */
  readonly attempt: (room: string, tools: string, given: string) => Promise<string | undefined>
}

const MANAGED = MANAGERS.flatMap((manager) =>
  manager.nodes.map((node): Row => {
    const linker = Object.values(manager.files ?? {})
      .join('')
      .includes('pnp')
      ? ' pnp'
      : ''
    const label = manager.name.replace('@yarnpkg/cli-dist', 'yarn') + linker
    const attempt: Row['attempt'] = (...places) => tryManager(manager, node, ...places)
    return { label, node, manager: manager.name, attempt }
  }),
)

/** jest runs the file of the guide with its defaults. */
const JEST = ['jest@29', 'jest@30'].flatMap((jest) =>
  NODES.map((node): Row => {
    const attempt: Row['attempt'] = (...places) => tryJest(jest, node, ...places)
    return { label: jest, node, manager: 'npm@10', attempt }
  }),
)

async function main(words: readonly string[]): Promise<void> {
  if (!existsSync(PACKAGE)) {
    process.stderr.write('There is no package in dist/npm: run bun run package first\n')
    process.exitCode = 1
    return
  }
  const rows = [...MANAGED, ...JEST].filter(({ label, node }) =>
    words.every((word) => [label, `node@${node}`].includes(word)),
  )
  using folder = temporaryFolder()
  // A build that begins meanwhile takes the package away.
  const given = join(folder.path, basename(PACKAGE))
  cpSync(PACKAGE, given)
  const tools = await fetchTools(join(folder.path, 'tools'), rows)
  let failures = 0
  for (const { label, node, attempt } of rows) {
    const room = join(folder.path, 'room')
    const problem = await attempt(room, tools, given)
    if (problem !== undefined) failures += 1
    process.stdout.write(`${label.padEnd(12)}  Node.js ${node}  ${problem ?? 'ok'}\n`)
    rmSync(room, { recursive: true, force: true })
  }
  process.stdout.write(`${rows.length - failures} of ${rows.length} rows work\n`)
  if (failures > 0) process.exitCode = 1
}

/** Resolves to the folder with Node.js and the managers, each under a name of its own. */
async function fetchTools(path: string, rows: readonly Row[]): Promise<string> {
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{"private": true}')
  const platform = `node-${process.platform}-${process.arch}`
  const nodes = rows.map(({ node }) => `${nodeTool(node)}@npm:${platform}@${node}`)
  const managers = rows.map(({ manager }) => `${managerTool(manager)}@npm:${manager}`)
  const wanted = [...new Set([...nodes, ...managers])]
  const flags = ['--no-audit', '--no-fund', '--loglevel', 'error']
  const { problem } = await run(path, process.env, 'npm', 'install', ...flags, ...wanted)
  if (problem !== undefined) throw new Error(problem)
  return join(path, 'node_modules')
}

const nodeTool = (node: string) => `node-${node}`
const managerTool = (name: string) => name.replaceAll(/[^a-z\d]+/g, '-').replace(/^-/, '')

/** The environment of a version of Node.js, in which managers keep everything in `room`. */
function environmentIn(room: string, bin: string): Record<string, string | undefined> {
  const given = Object.entries(process.env).filter(([name]) => !/^npm_|^SATCHEL_/.test(name))
  return {
    ...Object.fromEntries(given),
    PATH: [bin, process.env['PATH']].join(delimiter),
    HOME: room,
    npm_config_cache: join(room, 'cache'),
    npm_config_store_dir: join(room, 'store'),
    YARN_CACHE_FOLDER: join(room, 'yarn'),
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    YARN_ENABLE_TELEMETRY: '0',
    // Managers change no lock file unless they are told to.
    CI: 'true',
  }
}

async function tryJest(jest: string, node: string, room: string, tools: string, given: string) {
  const project = join(room, 'application')
  cpSync(given, join(project, GIVEN))
  writeProject(project, { 'items.test.js': JEST_FILE }, { type: 'commonjs' })
  const bin = join(tools, nodeTool(node), 'bin')
  const env = environmentIn(room, bin)
  const npm = [join(bin, 'node'), join(tools, managerTool('npm@10'), 'bin', 'npm-cli.js')]
  const { problem } = await run(project, env, ...npm, 'install', '--save-dev', jest, GIVEN)
  if (problem !== undefined) return problem
  const program = join(project, 'node_modules', 'jest', 'bin', 'jest.js')
  const tested = await run(project, env, join(bin, 'node'), program)
  return tested.output.includes('1 passed') ? tested.problem : tested.output
}

/** Resolves to the first problem, undefined without one. */
async function tryManager(
  manager: Manager,
  node: string,
  room: string,
  tools: string,
  given: string,
) {
  const project = join(room, 'application')
  cpSync(given, join(project, GIVEN))
  const bin = join(tools, nodeTool(node), 'bin')
  const program = join(tools, managerTool(manager.name), manager.program)
  const env = environmentIn(room, bin)
  const isScript = program.endsWith('js')
  const manage = (cwd: string, args: readonly string[]) =>
    run(cwd, env, ...(isScript ? [join(bin, 'node')] : []), program, ...args)

  async function check(cwd: string, step: string): Promise<string | undefined> {
    const way = manager.node.length === 0 ? [join(bin, 'node')] : [join(bin, 'node'), program]
    const printed = await run(cwd, env, ...way, ...manager.node, 'check.mjs')
    if (!printed.output.includes(PRINTED)) return `${step}: ${printed.output.slice(-1500)}`
    const version = await manage(cwd, [...manager.run, '--version'])
    return version.output.includes(current) ? undefined : `${step}: ${version.output.slice(-1500)}`
  }

  async function walk(cwd: string, checked: string, steps: readonly Step[]) {
    for (const { title, args, isFresh = false } of steps) {
      if (isFresh) {
        for (const path of [cwd, checked]) {
          rmSync(join(path, 'node_modules'), { recursive: true, force: true })
          rmSync(join(path, '.yarn', 'unplugged'), { recursive: true, force: true })
        }
      }
      const { problem } = await manage(cwd, args)
      const found = problem ?? (await check(checked, title))
      if (found !== undefined) return `${title}: ${found}`
    }
    return undefined
  }

  writeProject(project, { ...manager.files, 'check.mjs': PROGRAM })
  const alone = await walk(project, project, [
    { title: 'install', args: manager.install },
    { title: 'from the lock file', args: manager.frozen, isFresh: true },
    { title: 'another package', args: manager.another },
    { title: 'from the lock file again', args: manager.frozen, isFresh: true },
  ])
  if (alone !== undefined) return alone
  const root = join(room, 'monorepo')
  const app = join(root, 'packages', 'app')
  writeProject(root, { ...manager.files, ...manager.workspace }, { workspaces: ['packages/*'] })
  const devDependencies = { satchel: `file:../../${GIVEN}` }
  writeProject(app, { 'check.mjs': PROGRAM }, { name: 'app', devDependencies })
  return await walk(root, app, [
    { title: 'in a workspace', args: manager.first },
    { title: 'in a workspace from the lock file', args: manager.frozen, isFresh: true },
  ])
}

interface Step {
  readonly title: string
  readonly args: readonly string[]
  /** Begins without what was installed. */
  readonly isFresh?: true
}

function writeProject(path: string, files: Readonly<Record<string, string>>, more = {}): void {
  mkdirSync(path, { recursive: true })
  const manifest = { name: 'application', version: '1.0.0', private: true, type: 'module', ...more }
  writeFileSync(join(path, 'package.json'), JSON.stringify(manifest))
  // A lock file of its own: the project is not a part of one above it.
  if (files['.yarnrc.yml'] !== undefined) writeFileSync(join(path, 'yarn.lock'), '')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
}

interface Outcome {
  readonly output: string
  /** The command and its output, when it failed. */
  readonly problem: string | undefined
}

async function run(
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
  ...command: readonly string[]
): Promise<Outcome> {
  const child = Bun.spawn([...command], {
    cwd,
    env,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  const output = stdout + stderr
  const failed = `${command.slice(-4).join(' ')} ended with ${exitCode}: ${output.slice(-1500)}`
  return { output, problem: exitCode === 0 ? undefined : failed }
}

await main(process.argv.slice(2))
