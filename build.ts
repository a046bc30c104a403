import { chmod, cp, link, mkdir, rename, rm } from 'node:fs/promises'
import { basename, join, relative } from 'node:path'
import process from 'node:process'
import { license, version } from './package.json'
import { makeBlank } from './src/sqlite/prepare'

/**
 * `bun build.ts` makes `dist/satchel`: the program, its migrations, its workers and the runtime in one
 * file that reads nothing from the folder it is started in (promises.md 44). `bun build.ts --npm` makes
 * the npm packages in `dist/npm`, with an executable for each platform, or for those that are named;
 * `host` takes `dist/satchel` as it is.
 */
const DIST = join(import.meta.dir, 'dist')

/** The packages with executables; Linux on x64 without the instructions of newer processors. */
const PLATFORMS = {
  'linux-x64': { target: 'bun-linux-x64-baseline', os: 'linux', cpu: 'x64', libc: 'glibc' },
  'linux-x64-musl': {
    target: 'bun-linux-x64-baseline-musl',
    os: 'linux',
    cpu: 'x64',
    libc: 'musl',
  },
  'linux-arm64': { target: 'bun-linux-arm64', os: 'linux', cpu: 'arm64', libc: 'glibc' },
  'darwin-x64': { target: 'bun-darwin-x64', os: 'darwin', cpu: 'x64', libc: null },
  'darwin-arm64': { target: 'bun-darwin-arm64', os: 'darwin', cpu: 'arm64', libc: null },
} as const

type Platform = keyof typeof PLATFORMS
const ALL = Object.keys(PLATFORMS) as Platform[]

/**
 * Modules of the runtime that few commands and few requests need: each takes 1 to 4 ms to load, and
 * packages import them at their top.
 */
const LOADED_ON_USE = ['child_process', 'crypto', 'url', 'util', 'zlib']

/** The sources that import them before the server is ready. */
const IMPORTERS = ['src', 'node_modules/commander', 'node_modules/@logtape/logtape']

/**
 * Replaces the functions of these modules by functions that load the module when they are first
 * called. Plugins are not asked to resolve modules of the runtime, so the import statements are changed.
 */
const loadOnUse: Bun.BunPlugin = {
  name: 'load on use',
  setup(build) {
    const names = LOADED_ON_USE.join('|')
    const imports = new RegExp(`^(import [^'"]* from ['"])(?:node:)?(${names})(?=['"])`, 'gm')
    build.onLoad({ filter: /\.[jt]s$/ }, async ({ path }) => {
      const own = relative(import.meta.dir, path)
      if (!IMPORTERS.some((folder) => own.startsWith(`${folder}/`))) return undefined
      const source = await Bun.file(path).text()
      const contents = source.replaceAll(imports, (statement, start: string, name: string) =>
        statement.startsWith('import type') ? statement : `${start}load-on-use:${name}`,
      )
      if (contents === source) return undefined
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' }
    })
    build.onResolve({ filter: /^load-on-use:/ }, ({ path }) => ({
      path: path.replace('load-on-use:', ''),
      namespace: 'load-on-use',
    }))
    build.onLoad({ filter: /.*/, namespace: 'load-on-use' }, async ({ path }) => {
      const module = (await import(`node:${path}`)) as Readonly<Record<string, unknown>>
      // Importing a class or a constant fails the build: these cannot be loaded later.
      const functions = Object.keys(module).filter(
        (name) => name !== 'default' && typeof module[name] === 'function' && /^[a-z]/.test(name),
      )
      const contents = [
        'let module',
        `const load = () => (module ??= process.getBuiltinModule('node:${path}'))`,
        ...functions.map(
          (name) => `export function ${name}(...given) { return load().${name}(...given) }`,
        ),
        `export default { ${functions.join(', ')} }`,
      ]
      return { contents: contents.join('\n'), loader: 'js' }
    })
  },
}

/** Puts a new database file in place of the empty module (src/sqlite/blank.ts). */
const withBlank: Bun.BunPlugin = {
  name: 'blank',
  setup(build) {
    build.onLoad({ filter: /\/src\/sqlite\/blank\.ts$/ }, async () => {
      const text = (await Bun.zstdCompress(makeBlank(), { level: 19 })).toString('base64')
      return { contents: `export const BLANK = '${text}'`, loader: 'js' }
    })
  },
}

/** With a target, for another platform than this one. */
async function compile(outfile: string, target?: Bun.Build.CompileTarget): Promise<void> {
  // Put in place when it is whole, also under a program that runs.
  const draft = `${outfile}.${process.pid}`
  await Bun.build({
    root: import.meta.dir,
    // Workers are entry points of their own: an executable has no files to load them from.
    entrypoints: [
      'src/main.ts',
      'src/sqlite/checkpoint-worker.ts',
      'src/sqlite/migration-worker.ts',
    ].map((path) => join(import.meta.dir, path)),
    target: 'bun',
    format: 'esm',
    plugins: [withBlank, loadOnUse],
    bytecode: true,
    // Modules that are imported on demand are also read from the file on demand.
    splitting: true,
    // The web framework reads the source of handlers: names of parameters are to stay.
    minify: { whitespace: true, syntax: true, identifiers: false },
    sourcemap: 'none',
    compile: {
      outfile: draft,
      ...(target === undefined ? {} : { target }),
      autoloadDotenv: false,
      autoloadBunfig: false,
      autoloadTsconfig: false,
      autoloadPackageJson: false,
    },
  })
  await rename(draft, outfile)
  process.stdout.write(`Made ${relative(process.cwd(), outfile)}\n`)
}

async function makePackages(names: readonly string[]): Promise<void> {
  const root = join(DIST, 'npm')
  await rm(root, { recursive: true, force: true })
  const sums: string[] = []
  for (const name of names) {
    const executable = await makePlatformPackage(root, name)
    const hash = new Bun.CryptoHasher('sha256').update(await Bun.file(executable).bytes())
    sums.push(`${hash.digest('hex')}  ${basename(executable)}\n`)
  }
  await Bun.write(join(root, 'SHA256SUMS'), sums.join(''))
  await makeMainPackage(join(root, 'satchel'))
}

/** Returns the path of the executable, which is also in the package. */
async function makePlatformPackage(root: string, name: string): Promise<string> {
  const isForHost = name === 'host'
  const platform = platformNamed(isForHost ? `${process.platform}-${process.arch}` : name)
  const { target, os, cpu, libc } = PLATFORMS[platform]
  const folder = join(root, `satchel-${platform}.package`)
  const executable = join(root, `satchel-${platform}`)
  await mkdir(join(folder, 'bin'), { recursive: true })
  if (isForHost) await link(join(DIST, 'satchel'), executable)
  else await compile(executable, target)
  await chmod(executable, 0o755)
  await link(executable, join(folder, 'bin', 'satchel'))
  await writeJson(join(folder, 'package.json'), {
    name: `@satchel/${platform}`,
    version,
    description: `The executable of Satchel for ${platform}.`,
    license,
    os: [os],
    cpu: [cpu],
    ...(libc === null ? {} : { libc: [libc] }),
    files: ['bin'],
  })
  return executable
}

/** The launcher and the module for tests. Nothing is run when it is installed. */
async function makeMainPackage(folder: string): Promise<void> {
  const source = join(import.meta.dir, 'src', 'npm')
  const compiler = Bun.spawn(['bunx', 'tsc', '-p', source], {
    cwd: import.meta.dir,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if ((await compiler.exited) !== 0) throw new Error('the npm package has faulty types')
  await chmod(join(folder, 'launcher.js'), 0o755)
  await cp(join(source, 'README.md'), join(folder, 'README.md'))
  await cp(join(import.meta.dir, 'LICENSE'), join(folder, 'LICENSE'))
  const names = ALL.map((platform) => `@satchel/${platform}`)
  await writeJson(join(folder, 'package.json'), {
    name: 'satchel',
    version,
    description:
      'An open backend for local-first applications, speaking the Dexie Cloud interface.',
    license,
    type: 'module',
    engines: { node: '>=20' },
    bin: { satchel: 'launcher.js' },
    exports: { './testing': { types: './testing.d.ts', default: './testing.js' } },
    files: ['*.js', '*.d.ts'],
    optionalDependencies: Object.fromEntries(names.map((name) => [name, version])),
  })
  process.stdout.write(`Made ${relative(process.cwd(), folder)}\n`)
}

async function writeJson(path: string, value: object): Promise<void> {
  await Bun.write(path, `${JSON.stringify(value, null, 2)}\n`)
}

function platformNamed(name: string): Platform {
  const found = ALL.find((platform) => platform === name)
  if (found !== undefined) return found
  throw new Error(`${name} is no platform: there are ${ALL.join(', ')} and host`)
}

const [flag, ...names] = process.argv.slice(2)
if (flag === '--npm') {
  await makePackages(names.length === 0 ? ALL : names)
} else if (flag === undefined) {
  await compile(join(DIST, 'satchel'))
} else {
  throw new Error(`${flag} is unknown: there is --npm`)
}
