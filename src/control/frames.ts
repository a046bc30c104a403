import { NEWLINE } from '../domain/json/bytes'
import { SatchelError } from '../domain/value/error'
import { isRecord } from '../domain/value/value'
import type { Event } from './event'

/** The user of the operating system that a command runs as. */
export const UID_HEADER = 'satchel-uid'

/** The address at which every version answers, without a head: a command finds out whether a server is there. */
const HELLO = '/_control/hello'
/** The shape of requests is a part of their address: a server of another version refuses them by a sentence. */
const OPERATIONS = '/_control/2/'

/** The address of an operation. */
export function addressOf(name: string): string {
  return name === 'hello' ? HELLO : `${OPERATIONS}${name}`
}

/** The operation at an address; undefined: there is none. */
export function nameAt(address: string): string | undefined {
  if (address === HELLO) return 'hello'
  return address.startsWith(OPERATIONS) ? address.slice(OPERATIONS.length) : undefined
}

/** The first line of the body of a request; with `hasUpload` the bytes of a file follow. */
export interface Head {
  readonly input: unknown
  readonly hasRows: boolean
  readonly hasUpload: boolean
}

/** The input may hold an object with its largest value. */
const MAX_HEAD_BYTES = 32 * 1024 * 1024

/** Throws `PAYLOAD_TOO_LARGE`. */
export function writeHead(head: Head): Buffer {
  const line = Buffer.from(`${JSON.stringify(head)}\n`)
  if (line.length > MAX_HEAD_BYTES) throw tooLarge()
  return line
}

/** The head of a request, and what follows it. Throws `INVALID_REQUEST` and `PAYLOAD_TOO_LARGE`. */
export async function readHead(
  body: ReadableStream<Uint8Array> | null,
): Promise<Head & { readonly rest: ReadableStream<Uint8Array> }> {
  const reader = (body ?? new Blob().stream()).getReader()
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    const end = done ? 0 : value.indexOf(NEWLINE) + 1
    const piece = end > 0 ? value?.subarray(0, end) : value
    if (piece !== undefined) pieces.push(piece)
    bytes += piece?.length ?? 0
    if (bytes > MAX_HEAD_BYTES) throw tooLarge()
    if (!done && end === 0) continue
    const head = parseHead(Buffer.concat(pieces).toString('utf8'))
    return { ...head, rest: restOf(reader, value?.subarray(end)) }
  }
}

function parseHead(text: string): Head {
  const { input, hasRows, hasUpload } = partsOf(text === '' ? '{}' : text)
  return { input: input ?? {}, hasRows: hasRows === true, hasUpload: hasUpload === true }
}

function partsOf(text: string): Readonly<Record<string, unknown>> {
  try {
    const parts: unknown = JSON.parse(text)
    if (isRecord(parts)) return parts
  } catch {
    // The same refusal.
  }
  throw new SatchelError('INVALID_REQUEST', 'The body of a command begins with a line of JSON')
}

interface Reader {
  read(): Promise<{ readonly value?: Uint8Array | undefined }>
  cancel(reason: unknown): Promise<void>
}

/** What a reader has not read yet, after the part that it has read too much. */
function restOf(reader: Reader, first: Uint8Array | undefined): ReadableStream<Uint8Array> {
  let unread = first
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const value = unread?.length ? unread : (await reader.read()).value
        unread = undefined
        if (value === undefined) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

function tooLarge(): SatchelError {
  const most = MAX_HEAD_BYTES / 1024 ** 2
  return new SatchelError('PAYLOAD_TOO_LARGE', `The input of a command has at most ${most} MiB`)
}

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
