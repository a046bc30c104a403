import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { temporaryFolder } from '../setup'

/** Opens a database when no file descriptor is left, and says why that fails. */
const SCRIPT = `
  import { openSync } from 'node:fs'
  import { openDatabase } from './src/sqlite/database'
  const [folder] = process.argv.slice(-1)
  await openDatabase('main', folder, { clock: { now: () => 0 }, durability: 'none' })[Symbol.asyncDispose]()
  try {
    for (;;) openSync('/dev/null', 'r')
  } catch {}
  try {
    openDatabase('main', folder, { clock: { now: () => 0 }, durability: 'none' })
  } catch ({ code, message }) {
    console.log(code, message)
  }
`

test.if(process.platform === 'linux')(
  'a database that cannot be opened for want of file descriptors is busy, not broken',
  async () => {
    using folder = temporaryFolder()
    const limited = ['/bin/sh', '-c', 'ulimit -n 64; exec "$@"', 'sh']
    const child = Bun.spawn([...limited, process.execPath, '-e', SCRIPT, folder.path], {
      cwd: join(import.meta.dir, '../..'),
      stderr: 'pipe',
    })
    expect(await child.stdout.text()).toBe(
      'BUSY Too many files are open here: repeat the request\n',
    )
  },
)
