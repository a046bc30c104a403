import { type ErrorCode, SatchelError } from '../domain/value/error'
import { NEWLINE } from '../domain/json/bytes'

/** A part of the answer of the control listener. The last one is a result or an error. */
export type Event =
  | {
      readonly progress: {
        readonly done: number
        readonly total: number | null
        readonly phase?: string | undefined
      }
    }
  /** A piece of a file. */
  | { readonly bytes: Uint8Array }
  | { readonly result: unknown }
  | { readonly error: WireError }

interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly reason?: string
}

/** A line of JSON; for a piece of a file it holds the number of bytes that follow. */
export function writeEvent(event: Event): Uint8Array {
  if (!('bytes' in event)) return Buffer.from(`${JSON.stringify(event)}\n`)
  const { bytes } = event
  return Buffer.concat([Buffer.from(`${JSON.stringify({ bytes: bytes.length })}\n`), bytes])
}

/** The events of an answer as they arrive. They are trusted: the other side is the same program. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<Event> {
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
      const event = JSON.parse(unread.toString('utf8', 0, end)) as Exclude<Event, Bytes> | Announced
      unread = unread.subarray(end + 1)
      if ('bytes' in event) following = event.bytes
      else yield event
    }
  }
}

type Bytes = Extract<Event, { readonly bytes: Uint8Array }>

interface Announced {
  readonly bytes: number
}

/** An error as the command may see it: the message of an unexpected one stays in the log. */
export function toWire(error: unknown): WireError {
  if (!(error instanceof SatchelError)) {
    return { code: 'INTERNAL', message: 'The server failed; its log says more' }
  }
  const { code, message, reason } = error
  return { code, message, ...(reason === undefined ? {} : { reason }) }
}

export function fromWire({ code, message, reason }: WireError): SatchelError {
  return new SatchelError(code, message, reason === undefined ? {} : { reason })
}
