import type { Archive, TransferContext } from './archive'
import type { Arrival } from '../store/blob-store'
import { SatchelError, quoted } from '../value/error'
import type { WriteTx } from '../store/store'
import type { ArchiveFiles } from './archive-file'
import type { BlobEntry } from './entry'

/**
 * Makes sure that every content is what its name says. Throws `INVALID_REQUEST` naming the file.
 * `progress` is told the bytes that are done.
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
    throw new SatchelError(
      'INVALID_REQUEST',
      `The zip is damaged: ${quoted(file.name)} holds other bytes than its name says`,
    )
  }
}

/** Contents on their way from an archive to the records of their blobs. Disposing removes those that were not kept. */
export interface Load extends AsyncDisposable {
  /** Brings the contents of these blobs that the database does not have, or whose bytes are not whole. */
  bring(archive: Archive, blobs: readonly BlobEntry[]): Promise<void>
  /** Runs `record`, during which nobody removes what was brought. */
  keep<T>(record: () => Promise<T>): Promise<T>
  /** False when a content that the database had is there no more. */
  holds(tx: WriteTx, blobs: readonly BlobEntry[]): Promise<boolean>
}

export function createContentLoader({ database, contents }: TransferContext): Load {
  const arrivals = new AsyncDisposableStack()
  const brought = new Map<string, Arrival>()

  async function bringOne(archive: Archive, { blob, packed }: BlobEntry): Promise<void> {
    const room = { bytes: blob.size, refuse: spoiled }
    const arrival = arrivals.use(await contents.receive(archive.open(packed), room))
    if (arrival.hash !== blob.hash) throw spoiled()
    brought.set(blob.hash, arrival)
  }

  /** An archive is where bytes come back from that a disk has lost or changed. */
  async function hasBytes(hash: string): Promise<boolean> {
    try {
      return (await contents.check(hash)) === 'whole'
    } catch {
      return false
    }
  }

  return {
    async bring(archive, blobs) {
      const wanted = new Map(blobs.map((entry) => [entry.blob.hash, entry]))
      const stored = await database.read(async (tx) => {
        const found = new Set<string>()
        for (const hash of wanted.keys()) if (await tx.blobs.isStored(hash)) found.add(hash)
        return found
      })
      const missing: BlobEntry[] = []
      for (const [hash, entry] of wanted) {
        const isThere = brought.has(hash) || (stored.has(hash) && (await hasBytes(hash)))
        if (!isThere) missing.push(entry)
      }
      // One that fails does not leave the others on their way.
      const outcomes = await Promise.allSettled(missing.map((entry) => bringOne(archive, entry)))
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },

    keep(record) {
      const kept = [...brought.values()]
      const keepFrom = (index: number): ReturnType<typeof record> =>
        kept[index]?.keep(() => keepFrom(index + 1)) ?? record()
      return keepFrom(0)
    },

    async holds(tx, blobs) {
      for (const { blob } of blobs) {
        if (!brought.has(blob.hash) && !(await tx.blobs.isStored(blob.hash))) return false
      }
      return true
    },

    [Symbol.asyncDispose]: () => arrivals.disposeAsync(),
  }
}

/** It was looked at before, and was what it should be. */
function spoiled(): SatchelError {
  return new SatchelError('STORAGE_FAILED', 'The spooled zip of an import has changed on the disk')
}
