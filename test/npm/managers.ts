import { cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import process from 'node:process'
import { temporaryFolder } from '../setup'

/**
 * `bun test/npm/managers.ts` installs the package that `bun run package` has made with every package manager,
 * on every version of Node.js that the manager supports: in a new project, from the lock file, beside
 * another package that comes later, and in a workspace. Each time a program starts a backend. Words choose some
 * rows: `bun test/npm/managers.ts npm@10 node@18`. It downloads the managers and Node.js from the registry.
 */

const NODES = ['18', '20', '22', '24'] as const
const PACKAGE = join(import.meta.dir, '..', '..', 'dist', 'npm', 'satchel-0.1.0.tgz')
/** As in the guide: the checkout is beside the application. */
const GIVEN = '../satchel/dist/npm/satchel-0.1.0.tgz'
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
  /** Installs in the workspace `app` of a project, from its root. */
  readonly inWorkspace: (path: string) => readonly string[]
  /** Runs `node` and programs of packages. */
  readonly node: readonly string[]
  readonly run: readonly string[]
}

const npm = {
  program: 'bin/npm-cli.js',
  install: ['install', '--save-dev', GIVEN],
  frozen: ['ci'],
  another: ['install', OTHER],
  inWorkspace: (path: string) => ['install', '--save-dev', '--workspace', 'app', path],
  node: [],
  run: ['exec', '--offline', '--', 'satchel'],
}

const pnpm = {
  workspace: { 'pnpm-workspace.yaml': 'packages:\n  - packages/*\n' },
  install: ['add', '--save-dev', GIVEN],
  frozen: ['install', '--frozen-lockfile'],
  another: ['add', OTHER],
  inWorkspace: (path: string) => ['--filter', 'app', 'add', '--save-dev', path],
  node: [],
  run: ['exec', 'satchel'],
}

const yarn = {
  install: ['add', '--dev', `satchel@file:${GIVEN}`],
  another: ['add', OTHER],
  inWorkspace: (path: string) => ['workspace', 'app', 'add', '--dev', `satchel@file:${path}`],
  node: ['node'],
  run: ['run', 'satchel'],
}

const berry = {
  ...yarn,
  program: 'bin/yarn.js',
  name: '@yarnpkg/cli-dist@4',
  nodes: NODES,
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
const PRINTED = 'Milk true 0.1.0'

interface Row {
  readonly manager: Manager
  readonly label: string
  readonly node: string
}

async function main(words: readonly string[]): Promise<void> {
  if (!existsSync(PACKAGE)) {
    process.stderr.write('There is no package in dist/npm: run bun run package first\n')
    process.exitCode = 1
    return
  }
  const rows = MANAGERS.flatMap((manager) =>
    manager.nodes.map((node) => ({ manager, label: labelOf(manager), node })),
  ).filter(({ label, node }) => words.every((word) => [label, `node@${node}`].includes(word)))
  using folder = temporaryFolder()
  // A build that begins meanwhile takes the package away.
  const given = join(folder.path, basename(PACKAGE))
  cpSync(PACKAGE, given)
  const tools = await fetchTools(join(folder.path, 'tools'), rows)
  let failures = 0
  for (const row of rows) {
    const room = join(folder.path, 'room')
    const problem = await tryOut(row, room, tools, given)
    if (problem !== undefined) failures += 1
    const cells = [row.label.padEnd(28), `Node.js ${row.node}`, problem ?? 'ok']
    process.stdout.write(`${cells.join('  ')}\n`)
    rmSync(room, { recursive: true, force: true })
  }
  process.stdout.write(`${rows.length - failures} of ${rows.length} rows work\n`)
  if (failures > 0) process.exitCode = 1
}

function labelOf({ name, files }: Manager): string {
  const linker = Object.values(files ?? {})
    .join('')
    .includes('pnp')
    ? ' pnp'
    : ''
  return name.replace('@yarnpkg/cli-dist', 'yarn') + linker
}

/** Resolves to the folder with Node.js and the managers, each under a name of its own. */
async function fetchTools(path: string, rows: readonly Row[]): Promise<string> {
  mkdirSync(path)
  writeFileSync(join(path, 'package.json'), '{"private": true}')
  const platform = `node-${process.platform}-${process.arch}`
  const nodes = rows.map(({ node }) => `${nodeTool(node)}@npm:${platform}@${node}`)
  const managers = rows.map(({ manager }) => `${managerTool(manager)}@npm:${manager.name}`)
  const wanted = [...new Set([...nodes, ...managers])]
  const flags = ['--no-audit', '--no-fund', '--loglevel', 'error']
  const { problem } = await run(path, process.env, 'npm', 'install', ...flags, ...wanted)
  if (problem !== undefined) throw new Error(problem)
  return join(path, 'node_modules')
}

const nodeTool = (node: string) => `node-${node}`
const managerTool = ({ name }: Manager) => name.replaceAll(/[^a-z\d]+/g, '-').replace(/^-/, '')

/** Resolves to the first problem, undefined without one. */
async function tryOut({ manager, node }: Row, room: string, tools: string, given: string) {
  const project = join(room, 'application')
  mkdirSync(join(room, 'satchel', 'dist', 'npm'), { recursive: true })
  cpSync(given, join(project, GIVEN))
  const bin = join(tools, nodeTool(node), 'bin')
  const program = join(tools, managerTool(manager), manager.program)
  const env = {
    ...environment(),
    PATH: [bin, process.env['PATH']].join(delimiter),
    HOME: room,
    npm_config_cache: join(room, 'cache'),
    npm_config_store_dir: join(room, 'store'),
    YARN_CACHE_FOLDER: join(room, 'yarn'),
    YARN_ENABLE_GLOBAL_CACHE: 'false',
    YARN_ENABLE_TELEMETRY: '0',
    // A lock file that changes in a frozen installation is an error without it, too.
    CI: 'true',
  }
  const isScript = program.endsWith('js')
  const manage = (cwd: string, args: readonly string[]) =>
    run(cwd, env, ...(isScript ? [join(bin, 'node')] : []), program, ...args)

  async function check(cwd: string, step: string): Promise<string | undefined> {
    const way = manager.node.length === 0 ? [join(bin, 'node')] : [join(bin, 'node'), program]
    const printed = await run(cwd, env, ...way, ...manager.node, 'check.mjs')
    if (!printed.output.includes(PRINTED)) return `${step}: ${printed.output.slice(-1500)}`
    const version = await manage(cwd, [...manager.run, '--version'])
    return version.output.includes('0.1.0') ? undefined : `${step}: ${version.output.slice(-1500)}`
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
  writeProject(app, { 'check.mjs': PROGRAM }, { name: 'app', version: '1.0.0' })
  return await walk(root, app, [
    { title: 'in a workspace', args: manager.inWorkspace(given) },
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
  const manifest = { name: 'application', version: '1.0.0', private: true, ...more }
  writeFileSync(join(path, 'package.json'), JSON.stringify(manifest))
  // A lock file of its own: the project is not a part of one above it.
  if (files['.yarnrc.yml'] !== undefined) writeFileSync(join(path, 'yarn.lock'), '')
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
}

/** That of this process, without what a script of a package manager has set. */
function environment(): Record<string, string | undefined> {
  const given = Object.entries(process.env).filter(([name]) => !/^npm_|^SATCHEL_/.test(name))
  return Object.fromEntries(given)
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
