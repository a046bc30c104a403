import { readFileSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import process from 'node:process'
import { bundle } from '../admin/bundle'
import { makeBlank } from '../sqlite/prepare'
import { findCommit } from './commit'
import { DIST, ROOT } from './folders'

/** The program and its workers, which an executable has no files to load from. */
export const ENTRY_POINTS: readonly string[] = [
  'src/main.ts',
  'src/sqlite/checkpoint-worker.ts',
  'src/sqlite/file-worker.ts',
].map((path) => join(ROOT, path))

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
      const own = relative(ROOT, path)
      if (!IMPORTERS.some((folder) => own.startsWith(`${folder}/`))) return undefined
      // At once: which module is read first would decide on the order of their names.
      const source = readFileSync(path, 'utf8')
      const contents = source.replaceAll(imports, (statement, start: string, name: string) =>
        statement.startsWith('import type') ? statement : `${start}load-on-use:${name}`,
      )
      if (contents === source) return undefined
      return { contents, loader: path.endsWith('.ts') ? 'ts' : 'js' }
    })
    // The prefix stays: which of two modules with the same path is meant would be left to chance, whatever namespace
    // they have, and imports of the module itself would sometimes get this one.
    build.onResolve({ filter: /^load-on-use:/ }, ({ path }) => ({ path, namespace: 'load-on-use' }))
    build.onLoad({ filter: /.*/, namespace: 'load-on-use' }, async ({ path: prefixed }) => {
      const path = prefixed.replace('load-on-use:', '')
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

/** The files of the page for administrators, one after the other. Its path decides on names in the executable. */
const PAGE_FILES = join(DIST, 'page.bin')

/**
 * Puts the files of the page for administrators in place of their sources (src/admin/embedded.ts), in one file of the
 * executable: a text of a module would be in it twice, as source and as bytecode. `folder` is for a draft of that file.
 */
async function withAdminPage(folder: string): Promise<Bun.BunPlugin> {
  // Before the build: a build within a build never ends.
  const files = await bundle()
  const whole = join(folder, 'page.bin')
  await Bun.write(whole, new Blob(files.map(({ bytes }) => bytes)))
  await rename(whole, PAGE_FILES)
  const table = files.map(({ bytes, ...file }) => ({ ...file, size: bytes.length }))
  const contents = `import path from ${JSON.stringify(PAGE_FILES)} with { type: 'file' }
const table = ${JSON.stringify(table)}
export async function readFiles() {
  const all = await Bun.file(path).bytes()
  let at = 0
  return table.map(({ size, ...file }) => ({ ...file, bytes: all.slice(at, (at += size)) }))
}`
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

/** The most executables that are made until two are equal. */
const MAX_ATTEMPTS = 8

/**
 * `compile` until two results are equal. The runtime writes the bytecode of about one executable in twenty
 * in another order, which means the same.
 */
export async function compileReproducibly(
  outfile: string,
  target?: Bun.Build.CompileTarget,
): Promise<void> {
  const seen = new Set<string>()
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
    await compile(outfile, target)
    const hash = await sha256(outfile)
    if (seen.has(hash)) return
    seen.add(hash)
  }
  throw new Error(`No two of ${MAX_ATTEMPTS} executables were equal`)
}

/** Of a file, in hexadecimal. */
export async function sha256(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const piece of Bun.file(path).stream()) hasher.update(piece)
  return hasher.digest('hex')
}

/** Makes an executable; with a target, for another platform than this one. */
export async function compile(outfile: string, target?: Bun.Build.CompileTarget): Promise<void> {
  // Put in place when it is whole, also under a program that runs. Its name is in the executable, where a
  // number of a process would be of no use.
  const draft = join(DIST, String(process.pid), 'satchel')
  const withPage = await withAdminPage(dirname(draft))
  await Bun.build({
    root: ROOT,
    entrypoints: [...ENTRY_POINTS],
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
