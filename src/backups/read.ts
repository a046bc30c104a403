import { writeHead } from '../domain/backup/frames'
import { blobPath, folderOf, type ManifestDatabase } from '../domain/backup/manifest'
import type { ErasedUser } from '../domain/store/copy'
import { SatchelError } from '../domain/value/error'
import { readBlobList } from './contents'
import type { Target } from './target'

/** Users that are told at once. */
const BATCH = 500

/**
 * A database of a backup as `domain/backup/frames` says, for the process that restores it, with the users who were
 * deleted later. Throws `DAMAGED` for a file that has changed since it was verified.
 */
export async function* sendDatabase(
  target: Target,
  backup: string,
  { name, facts, key }: ManifestDatabase,
  files: readonly { readonly path: string; readonly size: number; readonly hash: string }[],
  erased: readonly ErasedUser[],
): AsyncGenerator<Uint8Array> {
  yield writeHead({ kind: 'database', name, facts, key })
  for (let at = 0; at < erased.length; at += BATCH) {
    const users = erased.slice(at, at + BATCH).map(({ number, created }) => ({ number, created }))
    yield writeHead({ kind: 'erased', users })
  }
  for (const path of ['database.sqlite', 'secret.key']) {
    const whole = `${folderOf(name)}/${path}`
    const file = files.find((known) => known.path === whole)
    if (file === undefined) continue
    yield writeHead({ kind: 'file', path, size: file.size })
    yield* readWhole(target, backup, file)
  }
  for await (const blob of readBlobList(target, backup, name)) {
    yield writeHead({ kind: 'blob', state: 'sent', ...blob })
    const { hash, size } = blob
    yield* readWhole(target, backup, { path: blobPath(name, hash), hash, size })
  }
}

/** The bytes of a file. Throws `DAMAGED` when they are not those of the manifest. */
export async function* readWhole(
  target: Target,
  backup: string,
  { path, size, hash }: { readonly path: string; readonly size: number; readonly hash: string },
): AsyncGenerator<Uint8Array> {
  const hasher = new Bun.CryptoHasher('sha256')
  let read = 0
  for await (const piece of target.read(backup, path)) {
    read += piece.length
    if (read > size) break
    hasher.update(piece)
    yield piece
  }
  if (read === size && hasher.digest('hex') === hash) return
  throw new SatchelError('DAMAGED', `${path} of the backup has changed while it was read`)
}

/** A stream that asks for the next piece when its reader does, and copies it: readers keep what they have. */
export function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = await pieces.next()
      if (next.done === true) controller.close()
      else controller.enqueue(new Uint8Array(next.value))
    },
    cancel: async () => void (await pieces.return(undefined)),
  })
}
