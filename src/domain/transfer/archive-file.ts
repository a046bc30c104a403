import type { Archive, PackedFile } from './archive'
import { SatchelError, quoted, invalidRequest, conflict } from '../value/error'
import { splitLines } from '../json/ndjson'
import {
  type BlobEntry,
  type BlobFacts,
  type Item,
  type PartLimits,
  atLocation,
  refuseAt,
} from './entry'
import { type FileLine, parseLine, readLineFile } from './text-file'
import type { Blob } from '../store/blobs'
import { requireBlobId, requireBlobType } from '../value/blob'
import { requireUserId } from '../value/user-id'

/** The NDJSON part of every export. */
export const DATA = 'data.ndjson'
/** A line for every blob. */
export const BLOB_LIST = 'blobs.ndjson'

/** The file of a content, which is there once, however many blobs have it. */
export function contentFile(hash: string): string {
  return `${CONTENTS}${hash}`
}

/** The importable parts of an archive. */
export interface ArchiveFiles {
  readonly data: PackedFile
  readonly blobs: PackedFile | undefined
  /** By their hash, which is not verified yet. */
  readonly contents: ReadonlyMap<string, PackedFile>
}

/**
 * Looks through an archive as `satchel export` makes it. Throws `INVALID_REQUEST` when a file is
 * missing, appears twice, or is unknown.
 */
export async function findFiles(archive: Archive): Promise<ArchiveFiles> {
  const found = new Map<string, PackedFile>()
  const contents = new Map<string, PackedFile>()
  for await (const file of archive.list()) {
    const { name } = file
    if (IGNORED.test(name)) continue
    const hash = CONTENT.exec(name)?.[1]
    if (hash === undefined && name !== DATA && name !== BLOB_LIST) throw unknownFile(name)
    const known = hash === undefined ? found : contents
    if (known.has(hash ?? name)) throw refusal(`has ${quoted(name)} twice`)
    known.set(hash ?? name, file)
  }
  const data = found.get(DATA)
  const blobs = found.get(BLOB_LIST)
  if (data === undefined) throw refusal(`has no ${DATA}: it is not an export`)
  if (blobs === undefined && contents.size > 0) {
    throw refusal(`has no ${BLOB_LIST}, the list of the blobs in ${CONTENTS}`)
  }
  return { data, blobs, contents }
}

/** The bytes of the NDJSON parts, unpacked. */
export function sizeOfLists({ data, blobs }: ArchiveFiles): number {
  return data.size + (blobs?.size ?? 0)
}

/** The bytes of all contents, unpacked. */
export function sizeOfContents({ contents }: ArchiveFiles): number {
  return contents.values().reduce((sum, { size }) => sum + size, 0)
}

const CONTENTS = 'blobs/'
const CONTENT = /^blobs\/([\da-f]{64})$/
/** Entries that programs add besides the packed files. */
const IGNORED = /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/

function unknownFile(name: string): SatchelError {
  const isForeign = name.endsWith('.dcbl') || name.endsWith('.dcyj')
  return refusal(
    isForeign
      ? `has ${quoted(name)}, which has a private format of Dexie Cloud: remove it to import the rest`
      : `has ${quoted(name)}, which is not part of an export (${DATA}, ${BLOB_LIST} and ${CONTENTS}…)`,
  )
}

function refusal(problem: string): SatchelError {
  return invalidRequest(`The zip ${problem}`)
}

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
    const line = await parseLine(number, text, lineLimits, BLOB_LIST)
    const location = `${BLOB_LIST}, line ${number}`
    const facts = parseBlob({ ...line, location })
    const { id, hash, size } = facts.blob
    if (ids.has(id)) throw refuseAt(location, `the blob ${quoted(id)} is listed twice`)
    ids.add(id)
    orphans.delete(hash)
    const packed = contents.get(hash)
    if (packed === undefined) {
      throw refuseAt(location, `the bytes of the blob, ${contentFile(hash)}, are missing`)
    }
    if (packed.size !== size) {
      throw refuseAt(
        location,
        `the blob has ${size} bytes, ${contentFile(hash)} has ${packed.size}`,
      )
    }
    yield { location, ...facts, packed }
  }
  for (const hash of orphans) {
    throw refuseAt(BLOB_LIST, `${contentFile(hash)} is in the zip, but not in its list of blobs`)
  }
}

export function formatBlob({ blob, uploaders }: BlobFacts): string {
  const { id, hash, size, type, created } = blob
  const at = new Date(created).toISOString()
  return `${JSON.stringify({ id, hash, size, type, created: at, uploaders })}\n`
}

/** Throws `INVALID_REQUEST` or `UNPROCESSABLE` naming the line. */
export function parseBlob({ location, object }: FileLine): BlobFacts {
  const { id, hash, size, type, created, uploaders = [] } = object
  const time = typeof created === 'string' ? Date.parse(created) : Number.NaN
  if (typeof id !== 'string') throw refuseAt(location, '"id" is missing: the id of the blob')
  if (typeof hash !== 'string' || !/^[\da-f]{64}$/.test(hash)) {
    throw refuseAt(location, '"hash" is missing: the SHA-256 of its bytes in hex')
  }
  if (!Number.isSafeInteger(size) || Number(size) < 0) {
    throw refuseAt(location, '"size" is missing: how many bytes it has')
  }
  if (typeof type !== 'string') throw refuseAt(location, '"type" is missing: its content type')
  if (Number.isNaN(time)) throw refuseAt(location, '"created" is missing: when it was uploaded')
  if (!Array.isArray(uploaders)) throw refuseAt(location, '"uploaders" must be a list of user ids')
  return atLocation(location, () => ({
    blob: {
      id: requireBlobId(id),
      hash,
      size: Number(size),
      type: requireBlobType(type),
      created: time,
    },
    uploaders: uploaders.map((user: unknown) => requireUserId(user)),
  }))
}

/** Throws `CONFLICT` unless an existing blob has the bytes of the one in the file. */
export function requireSameBytes(known: Blob, { id, hash, size }: Blob): void {
  if (known.hash === hash && known.size === size) return
  throw conflict(`the database has a blob ${quoted(id)} with other bytes, which never change`)
}
