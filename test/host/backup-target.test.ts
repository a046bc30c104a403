import { describe, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFolderTarget } from '../../src/backups/folder'
import { prune } from '../../src/backups/prune'
import { holdTarget } from '../../src/host/backup-target'
import { lockFolderSoon } from '../../src/sqlite/file-task'
import { codeOf, refusalOf } from '../auth/setup'
import { canFreeze, type FreezableDisk, mountFreezableDisk } from '../lab/frozen-disk'
import { temporaryFolder } from '../setup'

const NAMES = ['2030-01-01T00-00-00Z', '2030-01-02T00-00-00Z'] as const
const LATER_S = 20

/** Thaws a disk from outside: work that holds up this thread would never end. */
function thawLater(disk: FreezableDisk, sign: string): Disposable {
  const script = 'sleep "$0" && touch "$2" && fsfreeze -u "$1"'
  const child = Bun.spawn(['sh', '-c', script, String(LATER_S), disk.path, sign])
  return { [Symbol.dispose]: () => child.kill() }
}

test('one process at a time writes to a folder with backups', async () => {
  using folder = temporaryFolder()
  const target = openFolderTarget(join(folder.path, 'backups'))
  {
    await using _ = await holdTarget(target)
    expect(await codeOf(() => holdTarget(target))).toBe('CONFLICT')
  }
  await using _ = await holdTarget(target)
  const nowhere = openFolderTarget('/proc/none')
  expect(await codeOf(() => holdTarget(nowhere))).toBe('STORAGE_FAILED')
  const refused = await refusalOf(() => lockFolderSoon('/nowhere/at/all'))
  expect(refused.message).toBe(
    '/nowhere/at/all cannot be written: make it writable for this user, or name another folder',
  )
})

describe.skipIf(!canFreeze())('a disk for backups that hangs', () => {
  test('holds up nothing else in this process, whatever is asked of it', async () => {
    using signs = temporaryFolder()
    using disk = mountFreezableDisk(64)
    const target = openFolderTarget(join(disk.path, 'backups'))
    let hung = 0

    /** Does the work while the disk hangs, and other work meanwhile. */
    async function hanging<T>(work: () => Promise<T>): Promise<T> {
      const sign = join(signs.path, 'thawed')
      disk.freeze()
      using _ = thawLater(disk, sign)
      let isDone = false
      const working = work().finally(() => (isDone = true))
      for (let turn = 0; turn < 10; turn += 1) {
        await readFile(import.meta.path)
        await Bun.sleep(1)
      }
      expect(existsSync(sign)).toBe(false)
      if (!isDone) hung += 1
      disk.thaw()
      return await working
    }

    const lock = await hanging(() => holdTarget(target))
    for (const name of NAMES) {
      await hanging(() => target.clean(0))
      const draft = await hanging(() => target.begin(name))
      const sink = await hanging(() => draft.create('databases/main/one'))
      await hanging(() => sink.write(Buffer.alloc(100_000, 'x')))
      await hanging(() => sink.end())
      const spare = await draft.create('databases/main/blobs/spare')
      await spare.end()
      await hanging(() => spare.discard())
      if (name === NAMES[1]) await hanging(() => draft.reuse(NAMES[0], 'databases/main/one-more'))
      const other = await hanging(() => draft.create('databases/other/one'))
      await other.end()
      await hanging(() => draft.finish('{}'))
      await draft[Symbol.asyncDispose]()
    }
    expect(await hanging(() => target.list())).toEqual([...NAMES])
    const read = await hanging(() => Array.fromAsync(target.read(NAMES[1], 'databases/main/one')))
    expect(read.length).toBeGreaterThan(0)
    expect(await hanging(() => Array.fromAsync(target.files(NAMES[1])))).toHaveLength(3)
    const given = await hanging(() => target.begin('2030-01-03T00-00-00Z'))
    await given.create('one')
    await hanging(async () => await given[Symbol.asyncDispose]())
    const keep = { days: 1, weeks: 0, months: 0 }
    expect((await hanging(() => prune(target, keep))).removed).toEqual([NAMES[0]])
    await hanging(async () => await lock[Symbol.asyncDispose]())
    // Whatever changes the disk waits for it.
    expect(hung).toBeGreaterThan(10)
  })
})
