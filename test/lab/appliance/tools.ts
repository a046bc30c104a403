import process from 'node:process'

/** How to get each program that the tests of the appliance call. */
const SOURCES = {
  buildah: 'apt-get install buildah',
  'dpkg-deb': 'apt-get install dpkg',
  lintian: 'apt-get install lintian',
  mmdebstrap: 'apt-get install mmdebstrap',
  nsenter: 'apt-get install util-linux',
  openssl: 'apt-get install openssl',
  pebble:
    'apt-get install pebble, or go install github.com/letsencrypt/pebble/v2/cmd/pebble@latest',
  'pebble-challtestsrv':
    'apt-get install pebble, or go install github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv@latest',
  promtool: 'apt-get install prometheus',
  'systemd-analyze': 'apt-get install systemd',
  'systemd-nspawn': 'apt-get install systemd-container',
} as const

export type Tool = keyof typeof SOURCES

/** The programs that are missing for a test, as a suffix of its name; undefined when it can run. */
export function missing(tools: readonly Tool[], needsRoot = false): string | undefined {
  const absent = tools.filter((tool) => Bun.which(tool) === null)
  const hints = absent.map((tool) => `${tool}: ${SOURCES[tool]}`)
  if (needsRoot && process.getuid?.() !== 0) hints.push('root: sudo')
  return hints.length === 0 ? undefined : ` (needs ${hints.join('; ')})`
}

/** Runs a command and returns its output. Throws with all that it printed when it fails. */
export async function output(command: readonly string[], cwd?: string): Promise<string> {
  const child = Bun.spawn([...command], {
    ...(cwd === undefined ? {} : { cwd }),
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [exitCode, printed, errors] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  if (exitCode === 0) return printed
  throw new Error(`${command.join(' ')} ended with ${exitCode}:\n${printed}${errors}`)
}
