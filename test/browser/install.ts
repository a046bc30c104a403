import { existsSync } from 'node:fs'
import process from 'node:process'
import { CHROMIUM } from './chromium'

/**
 * Puts in place what the tests need besides npm packages: the browser, and the programs that the
 * commands of the guides call. On Debian only root can.
 */
const missing = [
  ...(existsSync(CHROMIUM) ? [] : ['chromium']),
  ...['curl', 'jq', 'zip'].filter((program) => Bun.which(program) === null),
]
if (missing.length > 0) {
  await run('apt-get', 'update', '-q')
  await run('apt-get', 'install', '-q', '-y', '--no-install-recommends', ...missing)
}

async function run(...command: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const child = Bun.spawn(command, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
}
