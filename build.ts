import { join } from 'node:path'
import process from 'node:process'
import { compile, compileReproducibly } from './src/packaging/compile'
import { makeDebs } from './src/packaging/deb'
import { DIST } from './src/packaging/folders'
import { makePackage, makePublished } from './src/packaging/npm'
import { findPlatform } from './src/packaging/platforms'
import { makeRelease } from './src/packaging/release'

const EXECUTABLE = join(DIST, 'satchel')

/** Each flag with the things that it makes of the words after it; of several flags the last one counts. */
const MODES: Readonly<Record<string, (names: readonly string[]) => Promise<void>>> = {
  /**
   * `bun build.ts` makes `dist/satchel`: the program, its migrations, its workers and the runtime in one file
   * that reads nothing from the folder it is started in (promises.md 44).
   */
  '': () => compile(EXECUTABLE),
  /** The same bytes from the same commit, as all that is for a registry or a release. */
  '--reproducible': () => compileReproducibly(EXECUTABLE),
  /**
   * `bun build.ts --npm` packs the executable into an npm package, `dist/npm/satchel-0.2.0.tgz`; with names such as
   * `darwin-arm64 linux-x64` executables for these platforms.
   */
  '--npm': (names) => makePackage(names.map(findPlatform)),
  /** `bun run package` makes the executable before. */
  '--package': async (names) => {
    await compile(EXECUTABLE)
    await makePackage(names.map(findPlatform))
  },
  /** The packages for a registry in `dist/publish`: one for each platform, and one that depends on them. */
  '--publish': makePublished,
  /** Packages for Debian in `dist/deb`; `arm64` or `amd64` makes one of them. */
  '--deb': makeDebs,
  /** `bun run release`: everything that is downloaded, in `dist/release`; with names, for these platforms only. */
  '--release': (names) => makeRelease(names.map(findPlatform)),
}

// Files of packages are readable by all, in every shell.
process.umask(0o022)
const given = process.argv.slice(2)
const flag = given.findLast((word) => word.startsWith('--')) ?? ''
try {
  const make = MODES[flag]
  if (make === undefined) {
    const flags = Object.keys(MODES).filter((known) => known !== '')
    throw new Error(`${flag} is unknown: there are ${flags.join(', ')}`)
  }
  await make(given.filter((word) => !word.startsWith('--')))
} catch (error) {
  // Of a build, its errors tell the place.
  const errors: readonly unknown[] = error instanceof AggregateError ? error.errors : [error]
  for (const one of errors)
    process.stderr.write(`${one instanceof Error ? one.message : String(one)}\n`)
  process.exitCode = 1
}
