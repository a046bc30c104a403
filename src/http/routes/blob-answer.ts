import type { BlobStore } from '../../domain/store/blob-store'
import { SatchelError } from '../../domain/value/error'
import { answer, type Body, errorAnswer } from '../answer'
import { contentRange, multipartBytes, plainBytes, parseRanges } from '../body/byte-ranges'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import { pacedStream } from '../body/json-stream'
import type { Blob as BlobRecord } from '../../domain/store/blobs'

/** Its bytes never change, and its readers may keep them. */
const FOR_EVER = 'private, max-age=31536000, immutable'
/** What a browser opens by itself has no rights, no address and no network (promise 41). */
const SANDBOX = "default-src 'none'; sandbox"

/**
 * How long a reader may take nothing, s. What the network holds for them, up to 4 MB, hides what they
 * take until a third of it is gone: this lets those live who take 6 KB a second.
 */
const READER_PATIENCE = 240
/** What the network takes at once, in bytes: such a reader is not waited for. */
const AT_ONCE = 64 * 1024

/**
 * The bytes of a blob, whole or in ranges, unless the caller has them (RFC 9110 §13, §14). From the
 * file to the network without passing through here, where one range or all of it is asked for.
 */
export async function blobAnswer(
  http: HttpContext,
  call: Call,
  store: BlobStore,
  blob: BlobRecord,
): Promise<Response> {
  const { type, size } = blob
  const etag = `"${blob.hash}"`
  const headers = {
    ETag: etag,
    'Cache-Control': FOR_EVER,
    'Accept-Ranges': 'bytes',
    'Content-Security-Policy': SANDBOX,
    ...(isInert(type) ? {} : { 'Content-Disposition': 'attachment' }),
  }
  const send = (body: Body, status: number, more: Record<string, string> = {}, sentType = type) =>
    answer(call, body, { status, type: sentType, headers: { ...headers, ...more } })
  const sendBytes: typeof send = (body, ...rest) => {
    // When it begins to send it, the server gives the reader the patience it has with everybody.
    if (size > AT_ONCE) setImmediate(() => call.setPatience(READER_PATIENCE))
    return send(body, ...rest)
  }

  if (namesTag(call.sent.headers.get('if-none-match'), etag)) {
    return answer(call, null, { status: 304, type: null, headers })
  }
  const bytes = await store.open(blob.hash, size)
  if (call.method === 'HEAD') return send(null, 200, { 'Content-Length': String(size) })

  const header = call.sent.headers.get('range')
  const condition = call.sent.headers.get('if-range')
  if (header === null) return sendBytes(bytes, 200)
  const ranges = condition === null || condition === etag ? parseRanges(header, size) : 'whole'
  if (ranges === 'unsatisfiable') return notSatisfiable(call, size)
  const [range, another] = ranges === 'whole' ? [] : ranges
  if (range !== undefined && another === undefined) {
    const part = bytes.slice(range.begin, range.end)
    return sendBytes(part, 206, { 'Content-Range': contentRange(range, size) })
  }
  const parts = ranges === 'whole' ? plainBytes(bytes, type) : multipartBytes(bytes, type, ranges)
  const stream = pacedStream(parts.next, {
    failed: (error) => http.failure(call.id, error),
    stall: READER_PATIENCE * 1000,
  })
  return sendBytes(stream, ranges === 'whole' ? 200 : 206, {}, parts.type)
}

/** True when a list of entity tags has this one, or is `*`; weak ones count (RFC 9110 §13.1.2). */
function namesTag(list: string | null, etag: string): boolean {
  if (list === null) return false
  return list
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*')
}

function notSatisfiable(call: Call, size: number): Response {
  const error = new SatchelError(
    'RANGE_NOT_SATISFIABLE',
    `The blob has ${size} bytes, and the requested range has none of them: request a range within them`,
  )
  return errorAnswer(call, error, { 'Content-Range': `bytes */${size}` })
}

/**
 * True for types that a browser shows without executing anything (promise 41); all others are
 * downloads. Anything but one type with plain parameters could be read as another type.
 */
export function isInert(type: string): boolean {
  const [, essence] = ONE_TYPE.exec(type) ?? []
  return essence !== undefined && INERT.has(essence.toLowerCase())
}

const ONE_TYPE = /^([\w.+-]+\/[\w.+-]+)(?:\s*;\s*[\w-]+=[\w.+-]+)*$/

const INERT: ReadonlySet<string> = new Set([
  'application/json',
  'audio/aac',
  'audio/flac',
  'audio/mp4',
  'audio/mpeg',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
  'font/otf',
  'font/ttf',
  'font/woff',
  'font/woff2',
  'image/apng',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/jpeg',
  'image/jxl',
  'image/png',
  'image/tiff',
  'image/vnd.microsoft.icon',
  'image/webp',
  'image/x-icon',
  'text/csv',
  'text/plain',
  'video/mp4',
  'video/mpeg',
  'video/ogg',
  'video/quicktime',
  'video/webm',
])
