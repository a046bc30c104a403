import type { Archive, TransferContext } from './archive'
import type { Arrival } from '../store/blob-store'
import { SatchelError, quoted, invalidRequest, busy } from '../value/error'
import { keepAll } from '../blob/content'
import type { FileOf } from './application'
import type { ReadTx } from '../store/store'
import type { ArchiveFiles } from './archive-file'
import type { BlobEntry } from './entry'

/**
 * Makes sure that every content is what its name says. Throws `INVALID_REQUEST` naming the file.
 * `progress` is called with the bytes done.
 */
export async function verifyContents(
  archive: Archive,
  { contents }: ArchiveFiles,
  progress: (done: number) => void,
): Promise<void> {
  let done = 0
  for (const [hash, file] of contents) {
    const hasher = new Bun.CryptoHasher('sha256')
    for await (const bytes of archive.open(file)) {
      hasher.update(bytes)
      done += bytes.length
      progress(done)
    }
    if (hasher.digest('hex') === hash) continue
    throw invalidRequest(
      `The zip is damaged: ${quoted(file.name)} does not match the hash in its name`,
    )
  }
}

/** Contents on their way from an archive to the records of their blobs. Disposing removes those that were not kept. */
export interface ContentLoader extends AsyncDisposable {
  /** Stores the contents of these blobs that the database lacks, or whose bytes are damaged. */
  load(archive: Archive, blobs: readonly BlobEntry[]): Promise<void>
  /** Keeps the loaded contents if `record` asks for their files; otherwise, or when it throws, they are removed. */
  keep<T>(record: () => Promise<T>): Promise<T>
  /** Throws `BUSY` when the content was collected meanwhile. */
  readonly fileOf: FileOf
}

export function createContentLoader({ database, contents }: TransferContext): ContentLoader {
  const arrivals = new AsyncDisposableStack()
  const loaded = new Map<string, Arrival>()
  let isRecorded = false

  async function loadOne(archive: Archive, { blob, packed }: BlobEntry): Promise<void> {
    const room = { bytes: blob.size, refuse: spoiled }
    const arrival = arrivals.use(await contents.receive(archive.open(packed), room))
    if (arrival.hash !== blob.hash) throw spoiled()
    loaded.set(blob.hash, arrival)
  }

  /** Bytes that cannot be read count as lost: the archive restores them. */
  async function hasBytes(hash: string): Promise<boolean> {
    try {
      const file = await database.read((tx) => knownFile(tx, hash))
      return file !== undefined && (await contents.check(file, hash)) === 'whole'
    } catch {
      return false
    }
  }

  return {
    async load(archive, blobs) {
      const wanted = new Map(blobs.map((entry) => [entry.blob.hash, entry]))
      const missing: BlobEntry[] = []
      for (const [hash, entry] of wanted) {
        if (!loaded.has(hash) && !(await hasBytes(hash))) missing.push(entry)
      }
      // All have ended when one of them fails.
      const outcomes = await Promise.allSettled(missing.map((entry) => loadOne(archive, entry)))
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },

    async keep(record) {
      let outcome: Awaited<ReturnType<typeof record>> | undefined
      try {
        return await keepAll([...loaded.values()], async () => {
          outcome = await record()
          if (!isRecorded && loaded.size > 0) throw NOT_RECORDED
          return outcome
        })
      } catch (error) {
        if (error === NOT_RECORDED) return outcome!
        throw error
      }
    },

    fileOf(tx, { blob }) {
      isRecorded = true
      const file = loaded.get(blob.hash)?.file ?? knownFile(tx, blob.hash)
      // The database had the content when the import asked.
      if (file === undefined) throw busy('Blobs are being collected: repeat the import')
      return file
    },

    [Symbol.asyncDispose]: () => arrivals.disposeAsync(),
  }
}

/** The file of a blob that has these bytes. The names of files begin with the hash. */
function knownFile(tx: ReadTx, hash: string): string | undefined {
  const [found] = tx.blobs.byFile({ file: hash, id: '' }, 1)
  return found?.hash === hash ? found.file : undefined
}

/** Ends the keeping of contents that `record` did not need: another process has recorded theirs. */
const NOT_RECORDED = new Error('the contents were not recorded')

/** The zip was verified before. */
function spoiled(): SatchelError {
  return new SatchelError('STORAGE_FAILED', 'The spooled zip of an import has changed on the disk')
}
