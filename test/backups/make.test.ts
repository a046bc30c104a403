import { expect, test } from 'bun:test'
import { chownSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openFolderTarget } from '../../src/backups/folder'
import { makeBackup, makeVerifiedBackup } from '../../src/backups/make'
import { runJson } from '../cli/setup'
import { setupServer, temporaryFolder } from '../setup'

/** The open files of this process with this name; Linux only. */
function openFiles(name: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((file) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${file}`)
      return path.endsWith(name) ? [path] : []
    } catch {
      // Closed since the folder was read.
      return []
    }
  })
}

test.skipIf(process.platform !== 'linux')(
  'the list of known blobs is closed, however far the sender reads it',
  async () => {
    await using server = await setupServer()
    using place = temporaryFolder()
    const headers = { authorization: `Bearer ${await server.token()}` }
    for (let n = 0; n < 5; n += 1) {
      const init = { method: 'PUT', headers, body: `content ${n}` }
      expect((await fetch(`${server.main}/blob/a-blob-of-a-backup-${n}`, init)).status).toBe(200)
    }
    await runJson(['backup', place.path, '--data', server.folder])
    const target = openFolderTarget(place.path)
    const during: string[] = []
    const made = makeBackup(
      target,
      async ({ upload }) => {
        await upload?.getReader().read()
        during.push(...openFiles('blobs.ndjson'))
        throw new Error('The sender needs no more')
      },
      { now: Date.UTC(2031, 0, 1), version: '1' },
    )
    expect(await made.catch(String)).toBe('Error: The sender needs no more')
    expect(during).toHaveLength(1)
    expect(openFiles('blobs.ndjson')).toEqual([])
  },
)

test.skipIf(process.getuid?.() !== 0)(
  'a backup of root belongs to the owner of the folder, who may read and remove it',
  async () => {
    using place = temporaryFolder()
    chownSync(place.path, 65534, 65534)
    const target = openFolderTarget(place.path)
    const file = Buffer.from('{"kind":"file","path":"server.sqlite","size":2}\n42')
    const now = Date.UTC(2031, 0, 1)
    await makeBackup(target, async ({ download }) => await download(file), { now, version: '1' })
    const paths = readdirSync(place.path, { recursive: true, encoding: 'utf8' })
    expect(paths).toHaveLength(3)
    for (const path of paths) expect(statSync(join(place.path, path))).toMatchObject(NOBODY)
  },
)

const NOBODY = { uid: 65534, gid: 65534 }

test('nothing is left of a backup whose verification is ended', async () => {
  using place = temporaryFolder()
  const target = openFolderTarget(place.path)
  const stop = new AbortController()
  const size = 1024 * 1024
  const head = `{"kind":"file","path":"server.sqlite","size":${size}}\n`
  const file = Buffer.concat([Buffer.from(head), Buffer.alloc(size)])
  const made = makeVerifiedBackup(target, async ({ download }) => await download(file), {
    now: Date.UTC(2031, 0, 1),
    version: '1',
    signal: stop.signal,
    progress: () => stop.abort(new Error('The server stops')),
  })
  expect(await made.catch(String)).toBe('Error: The server stops')
  expect(readdirSync(place.path)).toEqual([])
})
