import { describe, expect, test } from 'bun:test'
import { chownSync, readdirSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { openBucketTarget } from '../../src/backups/bucket'
import { openFolderTarget } from '../../src/backups/folder'
import { makeVerifiedBackup, type SendBackup } from '../../src/backups/make'
import type { BackupReader, Target } from '../../src/backups/target'
import { runJson } from '../cli/setup'
import { setupServer, temporaryFolder } from '../setup'
import { type HangingBucket, serveHangingBucket } from './hanging-bucket'

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
    const made = makeVerifiedBackup(
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
    await makeVerifiedBackup(target, async ({ download }) => await download(file), {
      now,
      version: '1',
    })
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

describe('a backup that is being verified', () => {
  const TWO_BYTES = Buffer.from('{"kind":"file","path":"server.sqlite","size":2}\n42')

  /** Begins a backup of two bytes whose draft is read by way of `reader`. */
  function begin(place: string, options: Begun) {
    const folder = openFolderTarget(place)
    const target: Target = {
      ...folder,
      async begin(backup) {
        const draft = await folder.begin(backup)
        return { ...draft, sync: async () => options.reader(await draft.sync()) }
      },
    }
    const now = Date.UTC(2031, 0, 1)
    const { signal } = options
    const send: SendBackup = async ({ download }) => await download(TWO_BYTES)
    return { folder, made: makeVerifiedBackup(target, send, { now, version: '1', signal }) }
  }

  test.each(['files', 'read'] as const)(
    'is none while its place hangs in %s, and ends with the reason',
    async (verb) => {
      using place = temporaryFolder()
      const stop = new AbortController()
      const hung = Promise.withResolvers<void>()
      async function* hang(): AsyncGenerator<never> {
        hung.resolve()
        yield await new Promise<never>(() => {})
      }
      const { folder, made } = begin(place.path, {
        signal: stop.signal,
        reader: (reader) => ({ ...reader, [verb]: hang }),
      })
      await hung.promise
      // A process that is killed now leaves no more than this.
      expect(await folder.list()).toEqual([])
      expect(readdirSync(place.path)).toEqual([expect.stringMatching(/\.partial$/)])
      stop.abort(new Error('The server stops'))
      expect(await made.catch(String)).toBe('Error: The server stops')
      expect(readdirSync(place.path)).toEqual([])
    },
  )

  test('ends with the reason though what there is of it cannot be removed', async () => {
    const bucket = serveHangingBucket('reads')
    const target = open(bucket)
    const stop = new AbortController()
    const made = makeVerifiedBackup(target, async ({ download }) => await download(TWO_BYTES), {
      now: Date.UTC(2031, 0, 1),
      version: '1',
      signal: stop.signal,
    })
    await bucket.hung
    stop.abort(new Error('The server stops'))
    bucket[Symbol.dispose]()
    expect(await made.catch(String)).toBe('Error: The server stops')
    expect(bucket.objects()).toEqual([expect.stringMatching(/server\.sqlite$/)])
  })

  test('that a broken connection ends is not called damaged', async () => {
    using bucket = serveHangingBucket('cuts')
    const made = makeVerifiedBackup(
      open(bucket),
      async ({ download }) => await download(TWO_BYTES),
      {
        now: Date.UTC(2031, 0, 1),
        version: '1',
      },
    )
    expect(await made.catch((error: unknown) => error)).toMatchObject({
      code: 'STORAGE_FAILED',
      message: expect.stringContaining('s3://bucket/backups cannot be used: '),
    })
    expect(bucket.objects()).toEqual([])
  })

  test('with a fault is never a backup', async () => {
    using place = temporaryFolder()
    const { made } = begin(place.path, {
      signal: new AbortController().signal,
      reader: (reader) => ({
        ...reader,
        async *read() {
          yield Buffer.from('43')
        },
      }),
    })
    expect(await made.catch(String)).toContain('server.sqlite of the backup differs')
    expect(readdirSync(place.path)).toEqual([])
  })
})

interface Begun {
  readonly signal: AbortSignal
  readonly reader: (reader: BackupReader) => BackupReader
}

function open({ address, environment }: HangingBucket): Target {
  return openBucketTarget(address, {
    key: null,
    endpoint: environment['AWS_ENDPOINT_URL'],
    region: undefined,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  })
}
