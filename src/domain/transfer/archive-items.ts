import type { Archive } from './archive'
import { quoted } from '../value/error'
import { splitLines } from '../json/ndjson'
import { type ArchiveFiles, BLOB_LIST, contentFile, DATA } from './archive-files'
import { parseBlob } from './blob-line'
import { type BlobEntry, type Item, type PartLimits, refuseAt } from './entry'
import { parseLine, readLineFile } from './line-file'

/**
 * Reads what an archive tells: the blobs, then everything else, which may reference them. Throws
 * `INVALID_REQUEST` or `UNPROCESSABLE`, naming the line; the bytes of the blobs are not read.
 */
export async function* readArchive(
  archive: Archive,
  files: ArchiveFiles,
  limits: PartLimits,
): AsyncGenerator<Item> {
  yield* readBlobs(archive, files, limits)
  yield* readLineFile(archive.open(files.data), limits, DATA)
}

async function* readBlobs(
  archive: Archive,
  { blobs, contents }: ArchiveFiles,
  limits: PartLimits,
): AsyncGenerator<BlobEntry> {
  if (blobs === undefined) return
  const ids = new Set<string>()
  const orphans = new Set(contents.keys())
  // A line, and the list of uploaders in it.
  const lineLimits = { ...limits, depth: 2 }
  const rules = { name: BLOB_LIST, maxBytes: limits.bytes }
  for await (const { line: number, text } of splitLines(archive.open(blobs), rules)) {
    const line = parseLine(number, text, lineLimits, BLOB_LIST)
    const place = `${BLOB_LIST}, line ${number}`
    const facts = parseBlob({ ...line, place })
    const { id, hash, size } = facts.blob
    if (ids.has(id)) throw refuseAt(place, `the blob ${quoted(id)} is there twice`)
    ids.add(id)
    orphans.delete(hash)
    const packed = contents.get(hash)
    if (packed === undefined) {
      throw refuseAt(place, `the bytes of the blob, ${contentFile(hash)}, are missing`)
    }
    if (packed.size !== size) {
      throw refuseAt(place, `the blob has ${size} bytes, ${contentFile(hash)} has ${packed.size}`)
    }
    yield { place, ...facts, packed }
  }
  for (const hash of orphans) {
    throw refuseAt(BLOB_LIST, `${contentFile(hash)} is there, but no line says what it is`)
  }
}
