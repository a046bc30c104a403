import { existsSync } from 'node:fs'
import process from 'node:process'
import { CHROMIUM } from './chromium'

/** Puts the browser of the tests in place where it is missing, which on Debian only root can. */
if (!existsSync(CHROMIUM)) {
  await run('apt-get', 'update', '-q')
  await run('apt-get', 'install', '-q', '-y', '--no-install-recommends', 'chromium')
}

async function run(...command: string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const child = Bun.spawn(command, { env, stdio: ['ignore', 'inherit', 'inherit'] })
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed`)
}
