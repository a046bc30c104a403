import { join } from 'node:path'
import { MACHINE_TOOLS, makeImage } from './machine'
import { missing } from './tools'

const FILES = new Bun.Glob('*.ts')
/** Parts of the tests. */
const OTHERS = new Set(['machine.ts', 'run.ts', 'tools.ts'])

/**
 * `bun run lab appliance`: the tests of the package, the service and everything around it, with the programs of an
 * operating system. Each one that is missing skips its test by name. Returns the exit code.
 */
export async function runAppliance(options: readonly string[]): Promise<number> {
  // Minutes on a busy machine, which belong to no test.
  if (missing(MACHINE_TOOLS, true) === undefined) await makeImage()
  const files = [...FILES.scanSync(import.meta.dir)].filter((name) => !OTHERS.has(name)).toSorted()
  const paths = files.map((name) => join(import.meta.dir, name))
  const child = Bun.spawn([process.execPath, 'test', '--timeout', '300000', ...options, ...paths], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return await child.exited
}
