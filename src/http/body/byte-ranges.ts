import { randomToken } from '../../domain/value/id'

/** Bytes from `begin` up to before `end`. */
export interface ByteRange {
  readonly begin: number
  readonly end: number
}

/** More than a reader of documents asks for, and fewer than are worth an attack. */
const MOST_RANGES = 32

/**
 * The ranges that a `Range` header names in `size` bytes, in its order (RFC 9110 §14). `whole`: it is
 * to be ignored, because it is malformed, of another unit, or asks for more than there is all in all.
 */
export function parseRanges(
  header: string,
  size: number,
): readonly ByteRange[] | 'whole' | 'unsatisfiable' {
  const [, list] = /^\s*bytes\s*=(.*)$/i.exec(header) ?? []
  const texts = (list ?? '').split(',').map((text) => text.trim())
  const named = texts.filter((text) => text !== '')
  if (named.length === 0 || texts.length > MOST_RANGES) return 'whole'
  const ranges = named.map((text) => parseRange(text, size))
  if (!ranges.every((range) => range !== undefined)) return 'whole'
  const within = ranges.filter(({ begin, end }) => begin < end)
  if (within.length === 0) return 'unsatisfiable'
  const total = within.reduce((sum, { begin, end }) => sum + end - begin, 0)
  return total > size ? 'whole' : within
}

/** Empty when nothing of it is there; undefined when it is malformed. */
function parseRange(text: string, size: number): ByteRange | undefined {
  const [, first, last] = /^(\d*)\s*-\s*(\d*)$/.exec(text) ?? []
  if (first === undefined || last === undefined || first + last === '') return undefined
  if (first === '') return { begin: Math.max(0, size - Number(last)), end: size }
  if (last !== '' && Number(last) < Number(first)) return undefined
  return { begin: Number(first), end: last === '' ? size : Math.min(size, Number(last) + 1) }
}

/** A body that is put together from texts and from ranges of a blob. */
export interface ByteParts {
  readonly type: string
  /** Gives one part after the other, none of them empty; undefined after the last. */
  readonly next: () => Promise<Uint8Array | undefined>
}

/** How much of a blob is read at once, in bytes. */
const READ = 256 * 1024

/** All of a blob as it is, without what the server does with ranges of its own accord. */
export function plainBytes(bytes: Blob, type: string): ByteParts {
  return partsOf(bytes, type, [{ begin: 0, end: bytes.size }])
}

/** Several ranges of a blob of this type as `multipart/byteranges` (RFC 9110 §14.6). */
export function multipartBytes(bytes: Blob, type: string, ranges: readonly ByteRange[]): ByteParts {
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

export function contentRange({ begin, end }: ByteRange, size: number): string {
  return `bytes ${begin}-${end - 1}/${size}`
}

type Piece = Uint8Array | ByteRange

function partsOf(bytes: Blob, type: string, pieces: readonly Piece[]): ByteParts {
  const parts = read(bytes, pieces)
  return { type, next: async () => (await parts.next()).value }
}

async function* read(bytes: Blob, pieces: readonly Piece[]): AsyncGenerator<Uint8Array, undefined> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      yield piece
      continue
    }
    for (let begin = piece.begin; begin < piece.end; begin += READ) {
      const part = bytes.slice(begin, Math.min(piece.end, begin + READ))
      const buffer = await part.arrayBuffer()
      if (buffer.byteLength !== part.size) throw new Error('a blob lost bytes while it was read')
      yield new Uint8Array(buffer)
    }
  }
  return undefined
}
