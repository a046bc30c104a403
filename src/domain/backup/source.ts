import type { BlobStore } from '../store/blob-store'
import type { DatabaseCopy, StoredContent } from '../store/copy'
import { SatchelError } from '../value/error'
import { type FrameHead, type KeyFacts, writeHead } from './frames'

/** A database that is backed up, and everything that belongs to it. */
export interface BackupSource {
  readonly name: string
  readonly copy: DatabaseCopy
  readonly blobs: BlobStore
  readonly key: KeyFacts
  /** The bytes of `secret.key`, unless the key is in the settings. */
  readonly keyFile: Uint8Array | null
}

/** Contents and users that are looked up at once. */
const BATCH = 500

/**
 * The parts of the backup of a database, in pieces that are good until the next one is asked for. `isKnown` tells
 * of contents that the receiver has; it is asked for each hash, in order.
 */
export async function* backUp(
  { name, copy, blobs, key, keyFile }: BackupSource,
  isKnown: (hash: string) => Promise<boolean>,
): AsyncGenerator<Uint8Array> {
  yield writeHead({ kind: 'database', name, facts: copy.facts, key })
  for (let after = 0; ;) {
    const users = copy.erasedUsers(after, BATCH)
    if (users.length > 0) yield writeHead({ kind: 'erased', users })
    if (users.length < BATCH) break
    after = users.at(-1)?.number ?? after
  }
  yield writeHead({ kind: 'file', path: 'database.sqlite', size: copy.size })
  yield* copy.bytes()
  if (keyFile !== null) {
    yield writeHead({ kind: 'file', path: 'secret.key', size: keyFile.length })
    yield keyFile
  }
  const rest = createRest()
  for (let after = ''; ;) {
    const contents = copy.contents(after, BATCH)
    for (const content of contents) {
      await rest()
      const state = (await isKnown(content.hash)) ? 'known' : undefined
      if (state === undefined) yield* sendContent(blobs, content, copy)
      else yield blobHead(content, state)
    }
    const last = contents.at(-1)
    if (last === undefined || contents.length < BATCH) return
    after = last.file
  }
}

/** After this much work on blobs a backup rests as long: thousands of small files are in the way of requests. */
const WORK_MS = 5
const LONGEST_REST_MS = 100

function createRest(): () => Promise<void> {
  let since = performance.now()
  return async () => {
    const worked = performance.now() - since
    if (worked < WORK_MS) return
    await Bun.sleep(Math.min(worked, LONGEST_REST_MS))
    since = performance.now()
  }
}

/** The receiver compares the bytes with the hash. */
async function* sendContent(
  blobs: BlobStore,
  content: StoredContent,
  copy: DatabaseCopy,
): AsyncGenerator<Uint8Array> {
  const { file, size } = content
  const opened = await openContent(blobs, file, size)
  if (opened === undefined) {
    yield blobHead(content, 'damaged')
    return
  }
  yield blobHead(content, 'sent')
  let sent = 0
  for await (const piece of opened.pieces()) {
    sent += piece.length
    if (sent > size) break
    yield piece
    await copy.giveWay()
  }
  if (sent !== size) {
    throw new SatchelError(
      'BLOB_DAMAGED',
      `The file of the blob with the SHA-256 ${content.hash} changed while it was backed up: look at it with satchel blob verify`,
    )
  }
}

/** Undefined when the bytes are missing or too few. */
async function openContent(blobs: BlobStore, file: string, size: number) {
  try {
    return await blobs.open(file, size)
  } catch (error) {
    if (error instanceof SatchelError && error.code === 'BLOB_DAMAGED') return undefined
    throw error
  }
}

function blobHead(
  content: StoredContent,
  state: Extract<FrameHead, { kind: 'blob' }>['state'],
): Uint8Array {
  return writeHead({ kind: 'blob', state, ...content })
}
