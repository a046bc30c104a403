import { randomToken } from '../../domain/value/id'

/** Bytes from `begin`, inclusive, to `end`, exclusive. */
export interface ByteRange {
  readonly begin: number
  readonly end: number
}

/** Enough for document viewers, and too few for an attack. */
const MAX_RANGES = 32

/**
 * The ranges of a `Range` header for a content of `size` bytes, in its order (RFC 9110 §14). `whole`:
 * the header is ignored, because it is malformed, in another unit, or requests more bytes than there
 * are in total.
 */
export function parseRanges(
  header: string,
  size: number,
): readonly ByteRange[] | 'whole' | 'unsatisfiable' {
  const [, list] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? []
  const texts = (list ?? '').split(',').map((text) => text.trim())
  const named = texts.filter((text) => text !== '')
  if (named.length === 0 || texts.length > MAX_RANGES) return 'whole'
  const ranges = named.map((text) => parseRange(text, size))
  if (!ranges.every((range) => range !== undefined)) return 'whole'
  const within = ranges.filter(({ begin, end }) => begin < end)
  if (within.length === 0) return 'unsatisfiable'
  const total = within.reduce((sum, { begin, end }) => sum + end - begin, 0)
  return total > size ? 'whole' : within
}

/** An empty range when the content ends before it; undefined when the text is malformed. */
function parseRange(text: string, size: number): ByteRange | undefined {
  const [, first, last] = /^(\d*)\s*-\s*(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  if (first === '') return { begin: Math.max(0, size - Number(last)), end: size }
  if (last !== '' && Number(last) < Number(first)) return undefined
  return { begin: Number(first), end: last === '' ? size : Math.min(size, Number(last) + 1) }
}

/** The value of `Content-Range`. */
export function contentRange({ begin, end }: ByteRange, size: number): string {
  return `bytes ${begin}-${end - 1}/${size}`
}

/** A response body made of texts and ranges of a blob. */
export interface ByteParts {
  /** The content type. */
  readonly type: string
  /** Gives one non-empty part after the other, then undefined. */
  readonly next: () => Promise<Uint8Array | undefined>
}

/** What ranges are read from. */
export interface ByteSource {
  /** In bytes. */
  readonly size: number
  /** All bytes from `begin` up to `end`. */
  read(begin: number, end: number): Promise<Uint8Array>
}

/** How much of a blob is read at once, in bytes. */
const CHUNK_BYTES = 256 * 1024

/** The whole blob as a stream, which Bun does not apply ranges of its own to. */
export function plainBytes(bytes: ByteSource, type: string): ByteParts {
  return partsOf(bytes, type, [{ begin: 0, end: bytes.size }])
}

/** Several ranges of a blob of this type as `multipart/byteranges` (RFC 9110 §14.6). */
export function multipartBytes(
  bytes: ByteSource,
  type: string,
  ranges: readonly ByteRange[],
): ByteParts {
  const boundary = randomToken(18)
  const pieces = ranges.flatMap((range) => [
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: ${type}\r\n` +
        `Content-Range: ${contentRange(range, bytes.size)}\r\n\r\n`,
    ),
    range,
  ])
  const end = Buffer.from(`\r\n--${boundary}--\r\n`)
  return partsOf(bytes, `multipart/byteranges; boundary=${boundary}`, [...pieces, end])
}

type Piece = Uint8Array | ByteRange

function partsOf(bytes: ByteSource, type: string, pieces: readonly Piece[]): ByteParts {
  const parts = read(bytes, pieces)
  return { type, next: async () => (await parts.next()).value }
}

async function* read(
  bytes: ByteSource,
  pieces: readonly Piece[],
): AsyncGenerator<Uint8Array, undefined> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      yield piece
      continue
    }
    for (let begin = piece.begin; begin < piece.end; begin += CHUNK_BYTES) {
      yield await bytes.read(begin, Math.min(piece.end, begin + CHUNK_BYTES))
    }
  }
  return undefined
}
