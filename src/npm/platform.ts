import { createRequire } from 'node:module'
import process from 'node:process'

/** The platforms that have a package with an executable. */
const PLATFORMS = ['linux-x64', 'linux-x64-musl', 'linux-arm64', 'darwin-x64', 'darwin-arm64']

/**
 * The path of the executable for this machine, from its package, or from the variable
 * `SATCHEL_EXECUTABLE`. Throws an error that says how to install it.
 */
export function findExecutable(): string {
  const given = process.env['SATCHEL_EXECUTABLE']
  if (given !== undefined && given !== '') return given
  const platform = platformOf(process.platform, process.arch, isMusl())
  if (!PLATFORMS.includes(platform)) {
    throw new Error(`Satchel has no executable for ${platform}: there are ${PLATFORMS.join(', ')}`)
  }
  try {
    return createRequire(import.meta.url).resolve(`@satchel/${platform}/bin/satchel`)
  } catch {
    throw new Error(
      `The package @satchel/${platform} is not installed: install satchel again, with its optional dependencies`,
    )
  }
}

function platformOf(platform: string, arch: string, isMusl: boolean): string {
  return isMusl ? `${platform}-${arch}-musl` : `${platform}-${arch}`
}

function isMusl(): boolean {
  if (process.platform !== 'linux') return false
  const report = process.report.getReport() as unknown as {
    readonly header: { readonly glibcVersionRuntime?: string }
  }
  return report.header.glibcVersionRuntime === undefined
}
