import { NEWLINE } from '../domain/json/bytes'
import type { Event } from './event'

/** The user of the operating system that a command runs as. */
export const UID_HEADER = 'satchel-uid'

/** A piece of a file between the events of the control channel. */
export interface Piece {
  readonly bytes: Uint8Array
}

/** A line of JSON with the number of bytes that follow it. */
export function writePiece(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([Buffer.from(`${JSON.stringify({ bytes: bytes.length })}\n`), bytes])
}

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
