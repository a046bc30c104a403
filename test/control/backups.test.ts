import { describe, expect, test } from 'bun:test'
import { type Migration, migrations } from '../../migrations/sqlite/index'
import { createDatabase } from '../../src/control/databases'
import { getOperation } from '../../src/control/operations'
import { perform } from '../../src/control/perform'
import { createFrameReader, type FrameHead } from '../../src/domain/backup/frames'
import type { DataFolder } from '../../src/host/data-folder'
import { openFolderEngine } from '../../src/host/folder-engine'
import { createSqliteStore } from '../../src/sqlite/store'
import { PLAIN_IMPORT, temporaryFolder } from '../setup'
import { setupDataFolder } from './setup'

const NEXT: Migration = {
  name: '9999_next',
  sql: `CREATE TABLE next (n INTEGER) STRICT;
    INSERT INTO next WITH RECURSIVE numbers (n) AS
      (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 300000) SELECT n FROM numbers;`,
}

/** An engine of a later version. */
const openMigrating: typeof openFolderEngine = (path, options) => {
  const engine = openFolderEngine(path, options)
  const store = createSqliteStore(path, { ...options, migrations: [...migrations, NEXT] })
  return {
    ...engine,
    store,
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await engine[Symbol.asyncDispose]()
    },
  }
}

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

  test('that begins during a migration has the migrated database', async () => {
    using place = temporaryFolder()
    {
      await using folder = await setupDataFolder(place.path)
      await createDatabase(folder, 'main')
    }
    const parts: FrameHead[] = []
    const reader = createFrameReader({
      begin: async (head) => void parts.push(head),
      bytes: async () => {},
      end: async () => {},
    })
    await using folder = await setupDataFolder(place.path, openMigrating)
    const opening = folder.hosts.open('main')
    const streams = { download: reader.push }
    await perform(folder, getOperation('backup'), { database: 'main' }, streams)
    reader.close()
    expect(parts[0]).toMatchObject({ kind: 'database', facts: { migration: NEXT.name } })
    await opening
  })

  test('goes on where a compaction begins meanwhile, which is refused', async () => {
    await using folder = await setupDataFolder()
    await createDatabase(folder, 'main')
    let refusal: unknown
    const compact = async () => {
      refusal = await folder.compact('main').catch((error: unknown) => error)
    }
    expect(await duringBackup(folder, compact)).toEqual({ databases: 1 })
    expect(String(refusal)).toContain('A backup of this data folder is under way')
    await folder.compact('main')
  })

  test('goes on where a compaction waits for an erasure meanwhile, and is refused then', async () => {
    await using folder = await setupDataFolder()
    await createDatabase(folder, 'main')
    const { database } = await folder.hosts.open('main')
    const erasure = {
      id: 'erasure',
      kind: 'erase' as const,
      state: {},
      done: 0,
      total: null,
      created: 0,
      failure: null,
    }
    const end = () => database.write((tx) => tx.jobs.remove(erasure.id))
    await database.write((tx) => tx.jobs.put(erasure))
    const compacted = folder.compact('main').catch(String)
    let refusal: unknown
    const endErasure = async () => {
      await end()
      refusal = await compacted
    }
    expect(await duringBackup(folder, endErasure)).toEqual({ databases: 1 })
    expect(refusal).toContain('A backup of this data folder is under way')
  })

  test('goes on beside a verification, an import and a new index', async () => {
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
