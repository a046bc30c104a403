import { randomToken } from '../domain/value/id'
import type { ByteRange } from './range'

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
