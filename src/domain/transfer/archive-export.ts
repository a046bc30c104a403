import type { ArchiveWriter, TransferContext } from './archive'
import type { Blob, StoredBlob } from '../store/blobs'
import { SatchelError, quoted } from '../value/error'
import { BLOB_LIST, DATA, contentFile, formatBlob } from './archive-file'
import { withFileOf } from '../blob/content'
import { pagesByFile } from '../blob/list'
import type { BlobFacts } from './entry'
import { type ExportPiece, type Selection, exportLines, isPart } from './export'
import type { DamagedObject } from './rows'
import type { Scratch, ScratchWriter } from '../store/scratch'
import { blobsIn, mentionsBlobs } from '../value/blob'
import { parseStored } from '../value/value'
import type { ReadTx } from '../store/store'

/** The result of an export. */
export interface ExportCount {
  readonly objects: number
  readonly blobs: number
  /** The objects that were left out, because they are damaged. */
  readonly damaged: readonly DamagedObject[]
}

/**
 * An archive with the NDJSON export and its blobs; of a part,
 * those that its objects reference. The blobs come after the objects, so that none that an object
 * references is missed. `now` in ms; `progress` is called with the counts so far. Throws `UNKNOWN_TABLE`, and
 * `BLOB_DAMAGED` naming a blob with other bytes than those uploaded.
 */
export async function* exportArchive(
  context: TransferContext,
  now: number,
  selection: Selection,
  progress: (count: ExportCount) => void,
): AsyncGenerator<Uint8Array> {
  const maker = context.archives.create(now)
  const census = createBlobCensus(selection)
  const damaged: DamagedObject[] = []
  const count = { objects: 0, blobs: 0, damaged }
  await using list = await context.scratch.create('ndjson')

  async function* data(): AsyncGenerator<Uint8Array> {
    for await (const piece of exportLines(context.database, selection)) {
      census.add(piece)
      count.objects += piece.values.length
      damaged.push(...piece.damaged)
      progress({ ...count })
      yield Buffer.from(piece.text)
    }
  }

  yield* maker.add(DATA, data(), { compress: true })
  yield* addBlobs(
    context,
    maker,
    list,
    (id) => census.has(id),
    () => {
      count.blobs += 1
      progress({ ...count })
    },
  )
  if (count.blobs > 0) yield* addList(maker, context.scratch, list)
  yield* maker.finish()
}

/**
 * An archive of blobs alone (protocol.md §9.4 `blobs.dcbl`): those with these ids, or those that the selected
 * objects reference, or all. Throws as `exportArchive`.
 */
export async function* exportBlobs(
  context: TransferContext,
  now: number,
  selection: Selection,
  ids: readonly string[] | undefined,
): AsyncGenerator<Uint8Array> {
  const maker = context.archives.create(now)
  const census = createBlobCensus(selection)
  if (ids === undefined && isPart(selection)) {
    for await (const piece of exportLines(context.database, selection)) census.add(piece)
  }
  const named = ids && new Set(ids.map((id) => id.replace(/^\d+:/, '')))
  const isWanted = (id: string) => named?.has(id) ?? census.has(id)
  await using list = await context.scratch.create('ndjson')
  yield* maker.add(DATA, noObjects(), { compress: false })
  yield* addBlobs(context, maker, list, isWanted, () => undefined)
  yield* addList(maker, context.scratch, list)
  yield* maker.finish()
}

async function* noObjects(): AsyncGenerator<Uint8Array> {}

/** Adds the contents of blobs, and writes the list of them. */
async function* addBlobs(
  context: TransferContext,
  maker: ArchiveWriter,
  list: ScratchWriter,
  isWanted: (id: string) => boolean,
  added: () => void,
): AsyncGenerator<Uint8Array> {
  let written = ''
  for await (const facts of readBlobs(context)) {
    const { blob } = facts
    if (!isWanted(blob.id)) continue
    if (blob.hash !== written) {
      const content = await openContent(context, blob)
      if (content === undefined) continue
      yield* addContent(maker, blob, content)
      written = blob.hash
    }
    await list.write(formatBlob(facts))
    added()
  }
}

interface StoredFacts extends BlobFacts {
  readonly blob: StoredBlob
}

/** All blobs, those with the same content together. */
async function* readBlobs({ database }: TransferContext): AsyncGenerator<StoredFacts> {
  const factsIn = (tx: ReadTx, blobs: readonly StoredBlob[]) =>
    blobs.map((blob) => {
      const realms = tx.blobs.uploaders(blob.id).map((ref) => tx.realms.findByRef(ref))
      return { blob, uploaders: realms.flatMap((realm) => realm?.id ?? []).toSorted() }
    })
  for await (const facts of pagesByFile(database, factsIn)) yield* facts
}

/** A content whose file is open. */
interface Opened {
  readonly first: IteratorResult<Uint8Array>
  readonly rest: AsyncIterator<Uint8Array>
}

/**
 * Undefined when the blob was removed meanwhile. Its first chunk is read at once, because a stream that
 * has begun goes on even if the bytes are removed. Throws `BLOB_DAMAGED`.
 */
async function openContent(
  { database, contents }: TransferContext,
  blob: StoredBlob,
): Promise<Opened | undefined> {
  try {
    return await withFileOf(database, blob, async (file) => {
      const rest = (await contents.open(file, blob.size)).stream()[Symbol.asyncIterator]()
      return { first: await rest.next(), rest }
    })
  } catch (error) {
    throw error instanceof SatchelError && error.code === 'BLOB_DAMAGED' ? damaged(blob.id) : error
  }
}

async function* addContent(
  maker: ArchiveWriter,
  { id, hash, size }: Blob,
  { first, rest }: Opened,
): AsyncGenerator<Uint8Array> {
  async function* compared(): AsyncGenerator<Uint8Array> {
    const hasher = new Bun.CryptoHasher('sha256')
    for (let next = first; next.done !== true; next = await rest.next()) {
      hasher.update(next.value)
      yield next.value
    }
    if (hasher.digest('hex') !== hash) throw damaged(id)
  }
  try {
    yield* maker.add(contentFile(hash), compared(), { size, compress: false })
  } finally {
    await rest.return?.()
  }
}

async function* addList(
  maker: ArchiveWriter,
  scratch: Scratch,
  list: ScratchWriter,
): AsyncGenerator<Uint8Array> {
  await list.finish()
  using file = await scratch.open(list.name)
  yield* maker.add(BLOB_LIST, file.stream(), { compress: true })
}

function damaged(id: string): SatchelError {
  return new SatchelError(
    'BLOB_DAMAGED',
    `The bytes of the blob ${quoted(id)} are missing or damaged (satchel blob verify lists all such): nothing was exported. An export as .ndjson leaves blobs out`,
  )
}

/** Which blobs belong to an export: all of them, or those that the objects of a part reference. */
interface BlobCensus {
  /** To be shown everything that is exported. */
  add(piece: ExportPiece): void
  has(id: string): boolean
  /** The number of blobs in the database; referenced ones may have been collected. */
  count(tx: ReadTx): number
}

export function createBlobCensus(selection: Selection): BlobCensus {
  if (!isPart(selection)) {
    return {
      add() {},
      has: () => true,
      count: (tx) => tx.blobs.usage(null).blobs,
    }
  }
  const ids = new Set<string>()
  return {
    add({ values }) {
      for (const value of values.filter(mentionsBlobs)) {
        for (const id of blobsIn(parseStored(value))) ids.add(id)
      }
    },
    has: (id) => ids.has(id),
    count(tx) {
      let count = 0
      for (const id of ids) if (tx.blobs.find(id) !== undefined) count += 1
      return count
    },
  }
}
