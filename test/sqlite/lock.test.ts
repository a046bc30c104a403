import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { lockFolder } from '../../src/sqlite/lock'
import { codeOf } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { shortestTime } from '../timing'

const MODULE = join(import.meta.dir, '../../src/sqlite/lock.ts')

/** The answer to another process that asks for the lock. */
function lockElsewhere(folder: string): { taken: boolean } {
  const script = `
    import { lockFolder } from ${JSON.stringify(MODULE)}
    const taken = lockFolder(${JSON.stringify(folder)}) !== undefined
    console.log(JSON.stringify({ taken }))
    process.kill(process.pid, 'SIGKILL')`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script])
  return JSON.parse(stdout.toString()) as { taken: boolean }
}

test('one process at a time has a folder, and others are refused at once', async () => {
  using folder = temporaryFolder()
  const free = await shortestTime(2, () => expect(lockElsewhere(folder.path).taken).toBe(true))
  const lock = lockFolder(folder.path)
  expect(lock).toBeDefined()
  expect(lockFolder(folder.path)).toBeUndefined()
  const held = await shortestTime(2, () => expect(lockElsewhere(folder.path).taken).toBe(false))
  // Waiting for the lock would take fifty times as long.
  expect(held / free).toBeLessThan(10)
  lock?.[Symbol.dispose]()
  expect(lockElsewhere(folder.path).taken).toBe(true)
})

test('a process that was killed has let go', () => {
  using folder = temporaryFolder()
  expect(lockElsewhere(folder.path).taken).toBe(true)
  using lock = lockFolder(folder.path)
  expect(lock).toBeDefined()
})

test('a folder that is not there cannot be locked', async () => {
  expect(await codeOf(() => lockFolder('/nowhere/at/all'))).toBe('READ_ONLY')
})
