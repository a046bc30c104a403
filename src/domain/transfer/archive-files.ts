import type { Archive, Packed } from './archive'
import { SatchelError, quoted } from '../value/error'

/** What every export has as NDJSON. */
export const DATA = 'data.ndjson'
/** A line for every blob. */
export const BLOB_LIST = 'blobs.ndjson'

/** The file of a content, which is there once, however many blobs have it. */
export function contentFile(hash: string): string {
  return `${CONTENTS}${hash}`
}

/** What an archive holds that is to be imported. */
export interface ArchiveFiles {
  readonly data: Packed
  readonly blobs: Packed | undefined
  /** By their hash, which nobody has compared yet. */
  readonly contents: ReadonlyMap<string, Packed>
}

/**
 * Looks through an archive as `satchel export` makes it. Throws `INVALID_REQUEST` when a file is
 * missing, is there twice, or is none of ours.
 */
export async function findFiles(archive: Archive): Promise<ArchiveFiles> {
  const found = new Map<string, Packed>()
  const contents = new Map<string, Packed>()
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
  if (data === undefined) throw refusal(`has no ${DATA}: it is no export`)
  if (blobs === undefined && contents.size > 0) {
    throw refusal(`has no ${BLOB_LIST}, which says whose the bytes in ${CONTENTS} are`)
  }
  return { data, blobs, contents }
}

const CONTENTS = 'blobs/'
const CONTENT = /^blobs\/([\da-f]{64})$/
/** What programs put beside the files that they pack. */
const IGNORED = /^__MACOSX\/|(?:^|\/)(?:\.DS_Store|Thumbs\.db|desktop\.ini)$/

function unknownFile(name: string): SatchelError {
  const isForeign = name.endsWith('.dcbl') || name.endsWith('.dcyj')
  return refusal(
    isForeign
      ? `has ${quoted(name)}, whose format nobody but Dexie Cloud knows: leave it out to import the rest`
      : `has ${quoted(name)}, which is no part of an export: ${DATA}, ${BLOB_LIST} and ${CONTENTS}… are`,
  )
}

function refusal(problem: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', `The zip ${problem}`)
}
