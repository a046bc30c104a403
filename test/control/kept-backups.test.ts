import { describe, expect, test } from 'bun:test'
import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { openTarget } from '../../src/backups/open'
import { countedBytes } from '../../src/control/backups'
import { createDatabase } from '../../src/control/databases'
import { findOperation } from '../../src/control/operations'
import type { Streams } from '../../src/control/operation'
import { perform } from '../../src/control/perform'
import { aborted } from '../../src/domain/value/error'
import { codeOf } from '../auth/setup'
import { temporaryFolder } from '../setup'
import { setupDataFolder } from './setup'

const PLAIN = { backupKey: null, backupKeyFile: null, backupPlain: true }

/** A data folder with the database `main`, whose realm `rlmA` tells it from others, and a place for backups. */
async function setup() {
  await using stack = new AsyncDisposableStack()
  const place = stack.use(temporaryFolder())
  const folder = stack.use(await setupDataFolder())
  folder.backups.place = openTarget(place.path, PLAIN)
  await createDatabase(folder, 'main')
  const owned = stack.move()
  async function run<T>(name: string, input: object = {}, streams: Streams = {}): Promise<T> {
    const operation = findOperation(name)!
    return (await perform(folder, operation, operation.read(input), streams)) as T
  }
  await run('realm.add', { database: 'main', realm: 'rlmA', name: 'A' })
  return {
    folder,
    place: place.path,
    run,
    code: (...args: Parameters<typeof run>) => codeOf(() => run(...args)),
    realms: async (database: string) =>
      (await run<{ realms: { realm: string }[] }>('realm.list', { database })).realms.map(
        ({ realm }) => realm,
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

interface Made {
  readonly backup: string
  readonly sha256: string
}

describe('the backups of a server', () => {
  test('are made, listed, verified, and restored under a new name', async () => {
    await using scene = await setup()
    const { run, place } = scene
    expect(await run<object>('backup.list')).toEqual({ target: place, backups: [] })
    const progress: number[] = []
    const made = await run<Made>('backup.make', {}, { progress: (done) => progress.push(done) })
    expect(made).toMatchObject({ target: place, databases: ['main'], damagedBlobs: 0 })
    expect(progress.length).toBeGreaterThan(0)
    const { backup } = made
    const listed = { backup, databases: ['main'], sha256: made.sha256, problem: null }
    expect(await run<object>('backup.list')).toMatchObject({ backups: [listed] })
    const checked = await run<object>('backup.verify', { backup })
    expect(checked).toMatchObject({ backup, sha256: made.sha256, faults: [] })
    await run('realm.remove', { database: 'main', realm: 'rlmA' })
    await run('backup.restore-kept', { backup, name: 'old', revokeLogins: true })
    expect(await scene.realms('old')).toEqual(['rlmA'])
    expect(await scene.realms('main')).toEqual([])
    expect(await scene.code('backup.restore-kept', { backup, name: 'old' })).toBe('CONFLICT')
  })

  test('are verified no further when nobody waits for the result', async () => {
    await using scene = await setup()
    const { backup } = await scene.run<Made>('backup.make')
    const leaving = new AbortController()
    let pieces = 0
    const streams: Streams = {
      signal: leaving.signal,
      progress() {
        pieces += 1
        leaving.abort(aborted())
      },
    }
    expect(await scene.code('backup.verify', { backup }, streams)).toBe('BUSY')
    expect(pieces).toBe(1)
    const input = { backup, name: 'old' }
    expect(await scene.code('backup.restore-kept', input, streams)).toBe('BUSY')
    expect(pieces).toBe(1)
  })

  test('are restored no further when nobody waits for the database', async () => {
    await using scene = await setup()
    const { backup } = await scene.run<Made>('backup.make')
    const leaving = new AbortController()
    const restore = scene.folder.restore.bind(scene.folder)
    Object.assign(scene.folder, {
      restore(...args: Parameters<typeof restore>) {
        leaving.abort(aborted())
        return restore(...args)
      },
    })
    const streams = { signal: leaving.signal }
    const input = { backup, database: 'main', name: 'old' }
    expect(await scene.code('backup.restore-kept', input, streams)).toBe('BUSY')
    expect(await scene.folder.hosts.list()).toEqual(['main'])
  })

  test('are sent as files, which are restored when they are uploaded', async () => {
    await using scene = await setup()
    const { run } = scene
    await createDatabase(scene.folder, 'other')
    const { backup } = await run<Made>('backup.make')
    expect(await scene.code('backup.read', { backup })).toBe('UNKNOWN_DATABASE')
    const pieces: Uint8Array[] = []
    const download = async (bytes: Uint8Array) => void pieces.push(Uint8Array.from(bytes))
    await run('backup.read', { backup, database: 'main' }, { download })
    const file = new Blob(pieces)
    const upload = () => ({ upload: file.stream() })
    await run('backup.restore', { name: 'old', size: file.size }, upload())
    expect(await scene.realms('old')).toEqual(['rlmA'])
  })

  test('that were changed are found and not restored, and shown where they cannot be read', async () => {
    await using scene = await setup()
    const { run, place } = scene
    const { backup } = await run<Made>('backup.make')
    appendFileSync(join(place, backup, 'databases', 'main', 'database.sqlite'), 'x')
    const checked = await run<{ faults: object[] }>('backup.verify', { backup })
    expect(checked.faults).toEqual([{ path: 'databases/main/database.sqlite', problem: 'damaged' }])
    expect(await scene.code('backup.restore-kept', { backup, name: 'old' })).toBe('DAMAGED')
    expect(await scene.folder.hosts.list()).toEqual(['main'])
    const manifest = readdirSync(join(place, backup)).find((name) => name.endsWith('.json')) ?? ''
    appendFileSync(join(place, backup, manifest), '{')
    const { backups } = await run<{ backups: object[] }>('backup.list')
    expect(backups).toMatchObject([{ backup, bytes: null, problem: expect.stringMatching(/.../) }])
    expect(await scene.code('backup.verify', { backup })).toBe('DAMAGED')
  })

  test('need a place and a name', async () => {
    await using scene = await setup()
    const { folder } = scene
    const unknown = { backup: '2030-01-31T02-30-00Z' }
    expect(await scene.code('backup.verify', unknown)).toBe('UNKNOWN_OBJECT')
    expect(await scene.code('backup.read', { backup: '../main' })).toBe('UNKNOWN_OBJECT')
    folder.backups.place = null
    expect(await scene.run<object>('backup.list')).toEqual({ target: null, backups: [] })
    expect(await scene.code('backup.make')).toBe('CONFLICT')
    expect(await scene.code('backup.verify', unknown)).toBe('CONFLICT')
  })
})

describe('a restore', () => {
  test('of more than the disk has room for is refused before anything is read', async () => {
    await using scene = await setup()
    let isRead = false
    const upload = new ReadableStream<Uint8Array>(
      { pull: () => void (isRead = true) },
      { highWaterMark: 0 },
    )
    const input = { name: 'old', size: 2 ** 52 }
    expect(await scene.code('backup.restore', input, { upload })).toBe('STORAGE_FULL')
    expect(isRead).toBe(false)
    expect(await scene.folder.hosts.list()).toEqual(['main'])
  })

  test('waits for no other one: the second is refused', async () => {
    await using scene = await setup()
    const { promise, resolve } = Promise.withResolvers<void>()
    const upload = new ReadableStream<Uint8Array>({
      async pull(controller) {
        await promise
        controller.close()
      },
    })
    const first = scene.code('backup.restore', { name: 'old' }, { upload })
    expect(await scene.code('backup.restore', { name: 'older' })).toBe('CONFLICT')
    resolve()
    expect(await first).toBe('DAMAGED')
    expect(await scene.code('backup.restore', { name: 'older' })).toBe('DAMAGED')
  })

  test.each([
    ['another file', 'PK\u0003\u0004'],
    ['a line that is no part', 'null\n'],
    ['a part of a negative size', '{"kind":"file","path":"database.sqlite","size":-5}\nabc'],
    ['a part outside of the database', '{"kind":"file","path":"../../x","size":1}\na'],
    ['a blob outside of the store', '{"kind":"blob","state":"sent","file":"../x","size":1}\na'],
    ['a part that was cut off', '{"kind":"file","path":"database.sqlite","size":9}\na'],
  ])('of %s is refused, and leaves nothing', async (_, text) => {
    await using scene = await setup()
    const upload = new Blob([text]).stream()
    expect(await scene.code('backup.restore', { name: 'old' }, { upload })).toBe('DAMAGED')
    expect(readdirSync(join(scene.folder.path, 'databases'))).toEqual(['main'])
  })

  test('counts the bytes of an upload that does not say how many it has', async () => {
    const counts: number[] = []
    const pieces = new Blob(['abc', 'de']).stream()
    for await (const _ of countedBytes(pieces, (bytes) => counts.push(bytes)));
    expect(counts.at(-1)).toBe(5)
  })
})
