import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ENTRY_POINTS } from './compile'
import { ROOT } from './folders'

/** A package of others of which a part is in the executable. */
export interface BundledPackage {
  readonly name: string
  readonly version: string
  /** Its name among the licences of SPDX. */
  readonly license: string
  /** Its licence and its notices, in full. */
  readonly texts: readonly string[]
}

/** Every package that the bundler reads for the executable or the page in it, in the order of their names. */
export async function bundledPackages(): Promise<readonly BundledPackage[]> {
  const [program, page] = await Promise.all([
    filesOf(ENTRY_POINTS, 'bun'),
    filesOf([join(ROOT, 'src', 'admin', 'page', 'main.tsx')], 'browser'),
  ])
  const folders = [...program, ...page].flatMap((path) => PACKAGE.exec(path)?.[0] ?? [])
  return [...new Set(folders)].toSorted().map(readPackage)
}

/** The folder of a package in the path of its file, also of one below another. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/

async function filesOf(entrypoints: readonly string[], target: 'bun' | 'browser') {
  const { metafile } = await Bun.build({
    root: ROOT,
    entrypoints: [...entrypoints],
    target,
    splitting: true,
    metafile: true,
  })
  // Relative to the folder of this process.
  return Object.keys(metafile?.inputs ?? {})
}

interface Manifest {
  readonly name: string
  readonly version: string
  readonly license: string
}

/** Throws when the package has no text of its licence. */
function readPackage(folder: string): BundledPackage {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, 'package.json'), 'utf8'),
  ) as Manifest
  const own = readdirSync(folder).filter((file) => TEXT.test(file))
  const texts = own.toSorted().map((file) => readFileSync(join(folder, file), 'utf8'))
  if (texts.length > 0) return { name, version, license, texts }
  // Without a text of its own a package refers to that of the licence, which is ours too.
  if (license !== 'Apache-2.0') throw new Error(`${name} has no text of its licence, ${license}`)
  return { name, version, license, texts: [readFileSync(join(ROOT, 'LICENSE'), 'utf8')] }
}

const TEXT = /^(?:licen[cs]e|copying|notice)(?:\.\w+)?$/i
