import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { lockFolder } from '../../src/sqlite/lock'
import { codeOf } from '../auth/setup'
import { temporaryFolder } from '../setup'

const MODULE = join(import.meta.dir, '../../src/sqlite/lock.ts')

/** The answer to another process that asks for the lock, and the time it takes, in ms. */
function lockElsewhere(folder: string): { taken: boolean; took: number } {
  const script = `
    import { lockFolder } from ${JSON.stringify(MODULE)}
    const begin = performance.now()
    const taken = lockFolder(${JSON.stringify(folder)}) !== undefined
    console.log(JSON.stringify({ taken, took: performance.now() - begin }))
    process.kill(process.pid, 'SIGKILL')`
  const { stdout } = Bun.spawnSync([process.execPath, '-e', script])
  return JSON.parse(stdout.toString()) as { taken: boolean; took: number }
}

test('one process at a time has a folder, the others learn it in milliseconds', () => {
  using folder = temporaryFolder()
  const lock = lockFolder(folder.path)
  expect(lock).toBeDefined()
  expect(lockFolder(folder.path)).toBeUndefined()
  const refused = lockElsewhere(folder.path)
  expect(refused.taken).toBe(false)
  expect(refused.took).toBeLessThan(100)
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
