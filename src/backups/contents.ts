import {
  BLOB_LIST,
  folderOf,
  MANIFEST,
  type Manifest,
  readManifest,
} from '../domain/backup/manifest'
import { NEWLINE } from '../domain/json/bytes'
import type { StoredContent } from '../domain/store/copy'
import type { BackupReader } from './target'

/** A line in the list of blobs. */
export type BlobEntry = StoredContent

/** Throws `DAMAGED` and `NEWER_DATA`, with the name of the backup. */
export async function readManifestOf(target: BackupReader, backup: string) {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of target.read(backup, MANIFEST))
    text += decoder.decode(piece, { stream: true })
  return readManifest(text + decoder.decode())
}

/** The size of a backup, shared blobs included. */
export function bytesOf({ files, databases }: Manifest): number {
  const blobs = databases.reduce((sum, database) => sum + database.blobs.bytes, 0)
  return files.reduce((sum, { size }) => sum + size, blobs)
}

/** The blobs of a database in the order of their hashes. */
export function readBlobList(
  target: BackupReader,
  backup: string,
  database: string,
): AsyncGenerator<BlobEntry> {
  return linesOf(target.read(backup, `${folderOf(database)}/${BLOB_LIST}`))
}

/** The values of lines of JSON. */
export async function* linesOf<T>(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<T> {
  let rest = Buffer.alloc(0)
  for await (const piece of bytes) {
    rest = Buffer.concat([rest, piece])
    let start = 0
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE, start)) {
      yield JSON.parse(rest.toString('utf8', start, end)) as T
      start = end + 1
    }
    rest = rest.subarray(start)
  }
}
