import { describe, expect, test } from 'bun:test'
import { createDatabase } from '../../src/control/databases'
import { getOperation } from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import type { DataFolder } from '../../src/host/data-folder'
import { PLAIN_IMPORT } from '../setup'
import { setupDataFolder } from './setup'

/** Runs `work` after the first piece of a backup, and the rest of the backup after that. */
async function duringBackup(folder: DataFolder, work: () => Promise<unknown>): Promise<unknown> {
  let begun: Promise<unknown> | undefined
  const backingUp = perform(
    folder,
    getOperation('backup'),
    { database: 'main' },
    {
      async download() {
        begun ??= work()
        await begun
      },
    },
  )
  return await backingUp.catch((error: unknown) => error)
}

describe('a backup', () => {
  test('of a database that is deleted meanwhile ends with a sentence', async () => {
    await using folder = await setupDataFolder()
    for (const name of ['main', 'other']) await createDatabase(folder, name)
    const failure = await duringBackup(folder, () => folder.hosts.remove('main'))
    expect(String(failure)).toContain('was closed or deleted while it was backed up')
    expect(await folder.hosts.list()).toEqual(['other'])
    // The next one is not refused.
    const other = await perform(folder, getOperation('backup'), { database: null }, {})
    expect(other).toEqual({ databases: 1 })
  })

  test('is complete beside a verification, an import and a new index', async () => {
    await using folder = await setupDataFolder()
    await createDatabase(folder, 'main')
    const key = JSON.stringify(['rlm-public', 'x'])
    const row = { realm: 'rlm-public', table: 'roles', id: key, data: { name: 'x' } }
    const beside = async () => {
      const run = (name: Parameters<typeof getOperation>[0], input: object, upload?: Blob) =>
        perform(folder, getOperation(name), getOperation(name).read(input) as never, {
          upload: upload?.stream(),
        })
      await Promise.all([
        run('verify', { database: 'main' }),
        run('import', PLAIN_IMPORT, new Blob([`${JSON.stringify(row)}\n`])),
        run('schema.push', { database: 'main' }, new Blob(['{"items": "@id, title"}'])),
      ])
    }
    expect(await duringBackup(folder, beside)).toEqual({ databases: 1 })
  })
})
