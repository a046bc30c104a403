import { readFileSync } from 'node:fs'
import { chmod, cp, link, mkdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import process from 'node:process'
import { license, version } from './package.json'
import { bundle } from './src/admin/bundle'
import manifest from './src/npm/package.json'
import { thisPlatform } from './src/npm/platform'
import { makeBlank } from './src/sqlite/prepare'

/**
 * `bun build.ts` makes `dist/satchel`: the program, its migrations, its workers and the runtime in one
 * file that reads nothing from the folder it is started in (promises.md 44). `bun build.ts --npm` packs it
 * into an npm package, `dist/npm/satchel-0.1.0.tgz`; `bun build.ts --npm darwin-arm64 linux-x64` packs
 * executables for these platforms. `bun build.ts --publish` makes the packages for a registry in
 * `dist/publish`: one for each platform, and one that depends on them. Those, and the executable of
 * `bun build.ts --reproducible`, are the same bytes for the same commit.
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

/** Classes of them that are constructed, and used for nothing else. */
const CONSTRUCTED = ['X509Certificate']

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
      // At once: which module is read first would decide on the order of their names.
      const source = readFileSync(path, 'utf8')
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
      // Importing a constant or another class fails the build: these cannot be loaded later.
      const functions = Object.keys(module).filter(
        (name) => name !== 'default' && typeof module[name] === 'function' && /^[a-z]/.test(name),
      )
      const contents = [
        'let module',
        `const load = () => (module ??= process.getBuiltinModule('node:${path}'))`,
        ...functions.map(
          (name) => `export function ${name}(...given) { return load().${name}(...given) }`,
        ),
        ...CONSTRUCTED.filter((name) => Object.hasOwn(module, name)).map(
          (name) => `export function ${name}(...given) { return new (load().${name})(...given) }`,
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

/** Writes the files of the page for administrators to a folder, and embeds them (src/admin/embedded.ts). */
async function withAdminPage(folder: string): Promise<Bun.BunPlugin> {
  // Before the build: a build within a build never ends.
  const files = (await bundle()).map((file) => ({ ...file, path: join(folder, `${file.name}.gz`) }))
  for (const { path, bytes } of files) await Bun.write(path, bytes)
  const contents = [
    ...files.map(({ path }, at) => {
      return `import file${at} from ${JSON.stringify(path)} with { type: 'file' }`
    }),
    'const read = async (path) => await Bun.file(path).bytes()',
    'export const readFiles = async () => [',
    ...files.map(({ name, type, isImmutable }, at) => {
      return `{ ...${JSON.stringify({ name, type, isImmutable })}, bytes: await read(file${at}) },`
    }),
    ']',
  ].join('\n')
  return {
    name: 'admin page',
    setup(build) {
      build.onLoad({ filter: /\/src\/admin\/embedded\.ts$/ }, () => ({ contents, loader: 'js' }))
    },
  }
}

/** Puts the commit in place of nothing (src/commit.ts): one commit always gives the same executable. */
const withCommit: Bun.BunPlugin = {
  name: 'commit',
  setup(build) {
    build.onLoad({ filter: /\/src\/commit\.ts$/ }, async () => ({
      contents: `export const COMMIT = ${JSON.stringify(await findCommit())}`,
      loader: 'js',
    }))
  },
}

/** Null outside a checkout. */
async function findCommit(): Promise<string | null> {
  if (Bun.which('git') === null) return null
  const head = await Bun.$`git rev-parse HEAD`
    .cwd(import.meta.dir)
    .quiet()
    .nothrow()
  if (head.exitCode !== 0) return null
  const changes = await Bun.$`git status --porcelain`
    .cwd(import.meta.dir)
    .quiet()
    .nothrow()
    .text()
  return `${head.text().trim()}${changes === '' ? '' : '-changed'}`
}

/** The most executables that are made until two are equal. */
const MOST_ATTEMPTS = 8

/**
 * `compile` until two results are equal. The runtime writes the bytecode of about one executable in twenty
 * in another order, which means the same.
 */
async function compileReproducibly(
  outfile: string,
  target?: Bun.Build.CompileTarget,
): Promise<void> {
  const seen = new Set<string>()
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt += 1) {
    await compile(outfile, target)
    const hash = await sha256(outfile)
    if (seen.has(hash)) return
    seen.add(hash)
  }
  throw new Error(`No two of ${MOST_ATTEMPTS} executables were equal`)
}

async function sha256(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const piece of Bun.file(path).stream()) hasher.update(piece)
  return hasher.digest('hex')
}

/** With a target, for another platform than this one. */
async function compile(outfile: string, target?: Bun.Build.CompileTarget): Promise<void> {
  // Put in place when it is whole, also under a program that runs. Its name is in the executable, where a
  // number of a process would be of no use.
  const draft = join(DIST, String(process.pid), 'satchel')
  const withPage = await withAdminPage(join(DIST, String(process.pid), 'admin'))
  await Bun.build({
    root: import.meta.dir,
    // Workers are entry points of their own: an executable has no files to load them from.
    entrypoints: [
      'src/main.ts',
      'src/sqlite/checkpoint-worker.ts',
      'src/sqlite/file-worker.ts',
    ].map((path) => join(import.meta.dir, path)),
    target: 'bun',
    format: 'esm',
    plugins: [withBlank, withPage, withCommit, loadOnUse],
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
  await mkdir(dirname(outfile), { recursive: true })
  await rename(draft, outfile)
  await rm(dirname(draft), { recursive: true })
  process.stdout.write(`Made ${relative(process.cwd(), outfile)}\n`)
}

/** One package with the executables for these platforms, or with `dist/satchel` for this one. */
async function makePackage(platforms: readonly Platform[]): Promise<void> {
  const root = join(DIST, 'npm')
  await rm(root, { recursive: true, force: true })
  const folder = join(root, 'satchel')
  await makeModules(folder, {})
  await mkdir(join(folder, 'bin'))
  const own = findPlatform(thisPlatform())
  for (const platform of platforms.length === 0 ? [own] : platforms) {
    const executable = join(folder, 'bin', `satchel-${platform}`)
    if (platforms.length > 0) await compile(executable, PLATFORMS[platform].target)
    else await link(join(DIST, 'satchel'), executable)
  }
  const made = await pack(folder, platforms.length === 0 ? FAST : SMALL)
  process.stdout.write(`Install it with npm install --save-dev ${made}\n`)
}

/** The packages of a registry, with the executables themselves and their sums for other downloads. */
async function makePublished(): Promise<void> {
  const root = join(DIST, 'publish')
  await rm(root, { recursive: true, force: true })
  const sums: string[] = []
  for (const platform of ALL) {
    const executable = await makePlatformPackage(root, platform)
    sums.push(`${await sha256(executable)}  ${basename(executable)}\n`)
  }
  await Bun.write(join(root, 'SHA256SUMS'), sums.join(''))
  const folder = join(root, 'satchel')
  const names = ALL.map((platform) => `@satchel/${platform}`)
  await makeModules(folder, {
    optionalDependencies: Object.fromEntries(names.map((name) => [name, version])),
  })
  await pack(folder, SMALL)
}

/** Returns the path of the executable, which is also in the package. */
async function makePlatformPackage(root: string, platform: Platform): Promise<string> {
  const { target, os, cpu, libc } = PLATFORMS[platform]
  const folder = join(root, `${platform}.package`)
  const executable = join(root, `satchel-${platform}`)
  await mkdir(join(folder, 'bin'), { recursive: true })
  await compileReproducibly(executable, target)
  await link(executable, join(folder, 'bin', 'satchel'))
  await writeJson(join(folder, 'package.json'), {
    name: `@satchel/${platform}`,
    version,
    description: `The executable of Satchel for ${platform}.`,
    license,
    os: [os],
    cpu: [cpu],
    ...(libc === null ? {} : { libc: [libc] }),
    // Programs cannot be run inside an archive.
    preferUnplugged: true,
  })
  await pack(folder, SMALL)
  return executable
}

/** The launcher and the module for tests. Nothing is run when the package is installed. */
async function makeModules(folder: string, more: object): Promise<void> {
  const source = join(import.meta.dir, 'src', 'npm')
  const compiler = Bun.spawn([process.execPath, 'x', 'tsc', '-p', source, '--outDir', folder], {
    cwd: import.meta.dir,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if ((await compiler.exited) !== 0) throw new Error('the npm package has faulty types')
  await chmod(join(folder, 'launcher.js'), 0o755)
  await cp(join(source, 'README.md'), join(folder, 'README.md'))
  await cp(join(import.meta.dir, 'LICENSE'), join(folder, 'LICENSE'))
  await writeJson(join(folder, 'package.json'), { ...manifest, version, license, ...more })
}

/** Levels of compression: for a file that is installed from beside it, and for one that is downloaded. */
const FAST = '1'
const SMALL = '9'

/** Packs a package beside its folder. Returns the path from here. */
async function pack(folder: string, level: string): Promise<string> {
  const root = dirname(folder)
  const command = ['pm', 'pack', '--destination', root, '--gzip-level', level, '--quiet']
  const packer = Bun.spawn([process.execPath, ...command], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [name, exitCode] = await Promise.all([packer.stdout.text(), packer.exited])
  if (exitCode !== 0) throw new Error(`${folder} cannot be packed`)
  const file = join(root, basename(name.trim()))
  const megabytes = Math.round(Bun.file(file).size / 1e6)
  process.stdout.write(`Made ${relative(process.cwd(), file)}, ${megabytes} MB\n`)
  return relative(process.cwd(), file)
}

async function writeJson(path: string, value: object): Promise<void> {
  await Bun.write(path, `${JSON.stringify(value, null, 2)}\n`)
}

/** Windows lacks what the server keeps data with: folders that are synced, and files with an owner and a mode. */
const WITHOUT_WINDOWS =
  'Windows has no executable: it cannot sync folders and keeps no modes of files, on which durability and private files depend; use that for linux-x64 in WSL 2'

function findPlatform(name: string): Platform {
  const found = ALL.find((platform) => platform === name)
  if (found !== undefined) return found
  if (name.startsWith('win')) throw new Error(WITHOUT_WINDOWS)
  throw new Error(`${name} is no platform: there are ${ALL.join(', ')}`)
}

const [flag, ...names] = process.argv.slice(2)
try {
  if (flag === '--publish' || names.includes('--publish')) await makePublished()
  else if (flag === '--npm') await makePackage(names.map(findPlatform))
  else if (flag === '--reproducible') await compileReproducibly(join(DIST, 'satchel'))
  else if (flag === undefined) await compile(join(DIST, 'satchel'))
  else throw new Error(`${flag} is unknown: there are --npm, --publish and --reproducible`)
} catch (error) {
  // Of a build, its errors tell the place.
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  for (const one of errors)
    process.stderr.write(`${one instanceof Error ? one.message : String(one)}\n`)
  process.exitCode = 1
}
