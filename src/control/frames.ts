import { NEWLINE } from '../domain/json/bytes'
import type { Event } from './event'

/** The user of the operating system that a command runs as. */
export const UID_HEADER = 'satchel-uid'

/** A piece of a file between the events of the control channel. */
export interface Piece {
  readonly bytes: Uint8Array
}

/** Larger pieces are in memory of their own. */
const FRAME_BYTES = 64 * 1024 + 32

/**
 * Writes lines of JSON with the number of bytes that follow, and these bytes. Each is good until the call after the
 * next one: a backup of gigabytes has two buffers, and leaves the collector nothing to do.
 */
export function createPieceWriter(): (bytes: Uint8Array) => Buffer {
  let [next, other] = [NO_BYTES, NO_BYTES]
  return (bytes) => {
    const head = `${JSON.stringify({ bytes: bytes.length })}\n`
    const length = head.length + bytes.length
    if (length > FRAME_BYTES) return Buffer.concat([Buffer.from(head), bytes])
    const frame = next.length === 0 ? Buffer.allocUnsafeSlow(FRAME_BYTES) : next
    ;[next, other] = [other, frame]
    frame.write(head, 'latin1')
    frame.set(bytes, head.length)
    return frame.subarray(0, length)
  }
}

const NO_BYTES = Buffer.alloc(0)

/** The events and pieces of an answer as they arrive. They are trusted: the other side is the same program. */
export async function* readFrames(body: AsyncIterable<Uint8Array>): AsyncGenerator<Event | Piece> {
  let unread = Buffer.alloc(0)
  let following = 0
  for await (const chunk of body) {
    unread = Buffer.concat([unread, chunk])
    for (;;) {
      if (following > 0 && unread.length > 0) {
        const bytes = unread.subarray(0, following)
        following -= bytes.length
        unread = unread.subarray(bytes.length)
        yield { bytes }
      }
      const end = unread.indexOf(NEWLINE)
      if (following > 0 || end < 0) break
      const event = JSON.parse(unread.toString('utf8', 0, end)) as Event | Announced
      unread = unread.subarray(end + 1)
      if ('bytes' in event) following = event.bytes
      else yield event
    }
  }
}

interface Announced {
  readonly bytes: number
}
