import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'

/** The platforms that have an executable. */
const PLATFORMS = ['linux-x64', 'linux-x64-musl', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/** The executables in this package, when it was made in a checkout (docs/testing.md). */
const OWN = join(__dirname, 'bin')
const PREFIX = 'satchel-'

/**
 * The path of the executable for this machine: that of the variable `SATCHEL_EXECUTABLE`, the one in this
 * package, or the one in the package of the platform. Throws an error that says how to get it.
 */
export function findExecutable(): string {
  const given = process.env['SATCHEL_EXECUTABLE']
  if (given !== undefined && given !== '') return given
  const platform = thisPlatform()
  const own = join(OWN, PREFIX + platform)
  if (existsSync(own)) return own
  if (platform.startsWith('win32-')) {
    throw new Error(
      'Satchel does not run on Windows: run it, and the tests that need it, in WSL 2 with Node.js for Linux',
    )
  }
  if (!PLATFORMS.includes(platform)) {
    throw new Error(`Satchel has no executable for ${platform}: there are ${PLATFORMS.join(', ')}`)
  }
  if (existsSync(OWN)) {
    const names = listOwn().join(' ')
    throw new Error(
      `This package of Satchel has executables for ${names}, and this machine is ${platform}: make one for both in the checkout of Satchel, with "bun run package ${names} ${platform}", and install it on both`,
    )
  }
  try {
    return require.resolve(`@satchel/${platform}/bin/satchel`)
  } catch {
    throw new Error(
      `The package @satchel/${platform} is not installed: install satchel again, with its optional dependencies`,
    )
  }
}

/** The name of this machine among the platforms, such as `linux-x64-musl`. */
export function thisPlatform(): string {
  const platform = `${process.platform}-${process.arch}`
  return isMusl() ? `${platform}-musl` : platform
}

function listOwn(): string[] {
  return readdirSync(OWN).map((name) => name.replace(PREFIX, ''))
}

function isMusl(): boolean {
  if (process.platform !== 'linux') return false
  const report = process.report.getReport() as unknown as {
    readonly header: { readonly glibcVersionRuntime?: string }
  }
  return report.header.glibcVersionRuntime === undefined
}
