import type { Archive, TransferContext } from './archive'
import { SatchelError, invalidRequest } from '../value/error'
import {
  type ArchiveFiles,
  findFiles,
  readArchive,
  sizeOfContents,
  sizeOfLists,
} from './archive-file'
import { FILE, type Item, type PartLimits } from './entry'
import { type Target, type TextFormat, readItems } from './text-file'
import { jsonOf } from '../value/escape'
import { nextTurn } from '../value/turn'
import { requireSpace } from './spool'
import type { ScratchWriter } from '../store/scratch'
import { isRecord } from '../value/value'

/** An import file, ready to be read. */
interface OpenedFile extends AsyncDisposable {
  /** The content, which can be read once. */
  readonly items: AsyncIterable<Item>
  /** Set when the file is an archive: the source of the bytes of its blobs. */
  readonly archive: OpenedArchive | undefined
}

export interface OpenedArchive {
  readonly archive: Archive
  readonly files: ArchiveFiles
  /** The temporary copy that the archive is read from. */
  readonly scratch: ScratchWriter
}

interface OpenOptions {
  readonly target: Target | null
  readonly limits: PartLimits
  /** Called with the bytes that were just read. */
  readonly onRead: (bytes: Uint8Array) => void
}

/**
 * Detects the format of a file and opens it. An archive is copied first, because its directory is at
 * its end and the job that applies it reads it again. The file is closed when this throws, or when what it
 * opened is disposed. Throws `INVALID_REQUEST` for an unknown format.
 */
export async function openFile(
  context: TransferContext,
  file: AsyncIterable<Uint8Array>,
  { target, limits, onRead }: OpenOptions,
): Promise<OpenedFile> {
  await using undo = new AsyncDisposableStack()
  const slices = inSlices(file, onRead)
  undo.defer(async () => void (await slices.return()))
  const { beginning, source } = await peek(slices)
  if (context.archives.isArchive(beginning)) {
    if (target === null) return await openArchive(context, source, limits)
    throw invalidRequest(
      'The file is a zip, which names its tables and realms itself: leave out --table',
    )
  }
  const items = readItems(source, formatOf(beginning), target, limits)
  const parts = undo.move()
  return { items, archive: undefined, [Symbol.asyncDispose]: () => parts.disposeAsync() }
}

async function openArchive(
  context: TransferContext,
  source: AsyncIterable<Uint8Array>,
  limits: PartLimits,
): Promise<OpenedFile> {
  await using undo = new AsyncDisposableStack()
  const scratch = undo.use(await context.scratch.create('zip'))
  for await (const bytes of source) await scratch.write(bytes)
  await scratch.finish()
  const archive = undo.use(await context.archives.open(await context.scratch.open(scratch.name)))
  const files = await findFiles(archive)
  // The lines of both lists are written to a spool, and then to the tables.
  await requireSpace(context.scratch, 2 * sizeOfLists(files) + sizeOfContents(files))
  const parts = undo.move()
  return {
    items: readArchive(archive, files, limits),
    archive: { archive, files, scratch },
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

/** How much of a file is read in one turn of the event loop, in bytes. */
const SLICE = 64 * 1024

/** The bytes of a file in slices; `onRead` is called with each. */
async function* inSlices(
  file: AsyncIterable<Uint8Array>,
  onRead: (bytes: Uint8Array) => void,
): AsyncGenerator<Uint8Array, void> {
  for await (const chunk of file) {
    for (let start = 0; start < chunk.length; start += SLICE) {
      const slice = chunk.subarray(start, start + SLICE)
      onRead(slice)
      yield slice
      await nextTurn()
    }
  }
}

/** How much of a file is peeked at, in bytes. */
const PEEK_BYTES = 1024 * 1024

/** A file whose beginning was read to find out its format. */
interface PeekedFile {
  readonly beginning: Buffer
  /** The whole file, including its beginning. */
  readonly source: AsyncIterable<Uint8Array>
}

async function peek(rest: AsyncGenerator<Uint8Array, void>): Promise<PeekedFile> {
  const chunks: Uint8Array[] = []
  let size = 0
  while (size < PEEK_BYTES) {
    const { value } = await rest.next()
    if (value === undefined) break
    // The source may reuse the memory of a chunk.
    chunks.push(value.slice())
    size += value.length
  }
  return { beginning: Buffer.concat(chunks), source: resume(chunks, rest) }
}

/** The format of a text file by its first character and line. Throws `INVALID_REQUEST`. */
function formatOf(beginning: Buffer): TextFormat {
  const text = beginning.toString().trimStart()
  if (text === '') throw refusal('is empty')
  if (text.startsWith('\u001f')) throw refusal('is compressed: unpack it and import what is in it')
  if (text.startsWith('[')) return 'array'
  if (text.startsWith('{')) return isLine(text.split('\n', 1)[0] ?? '') ? 'lines' : 'sections'
  throw refusal('is neither JSON, NDJSON nor a zip')
}

/** A line of NDJSON names its type or table; an import file on a single line does not. */
function isLine(text: string): boolean {
  const value = jsonOf(text)
  if (value === undefined) return /^\{\s*"(?:\$?type|realm|table|id)"/.test(text)
  return isRecord(value) && ['type', '$type', 'table'].some((name) => Object.hasOwn(value, name))
}

async function* resume(
  chunks: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* chunks
  yield* rest
}

function refusal(problem: string): SatchelError {
  return invalidRequest(`${FILE} ${problem}`)
}
