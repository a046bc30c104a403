import { openBlob } from '../../domain/blob/content'
import type { StoredBlob } from '../../domain/store/blobs'
import { SatchelError } from '../../domain/value/error'
import { answer, type Body, errorAnswer } from '../answer'
import { contentRange, multipartBytes, plainBytes, parseRanges } from '../body/byte-ranges'
import { pacedStream } from '../body/json-stream'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import type { OpenDatabase } from '../../host/host'

/** A blob never changes. */
const IMMUTABLE = 'private, max-age=31536000, immutable'
/** A browser that opens a blob directly runs no scripts, with no origin and no network (promise 41). */
const SANDBOX = "default-src 'none'; sandbox"

/**
 * The download of a reader that accepts nothing for this long is aborted, s. The kernel buffers up to
 * 4 MB and reports progress after a third of that, so readers need at least 6 KB/s.
 */
const STALL_SECONDS = 240
/** The network accepts blobs of this size at once, in bytes. */
const SMALL_BYTES = 64 * 1024

/**
 * Answers with a blob, whole or in ranges, or with 304 when the caller has it (RFC 9110 §13, §14). Bun
 * sends whole blobs and single ranges from the file to the network.
 */
export async function blobAnswer(
  http: HttpContext,
  call: Call,
  { database, blobs }: OpenDatabase,
  blob: StoredBlob,
): Promise<Response> {
  const { type, size } = blob
  const etag = `"${blob.hash}"`
  const headers = {
    ETag: etag,
    'Cache-Control': IMMUTABLE,
    'Accept-Ranges': 'bytes',
    'Content-Security-Policy': SANDBOX,
    ...(isInert(type) ? {} : { 'Content-Disposition': 'attachment' }),
  }
  const send = (body: Body, status: number, more: Record<string, string> = {}, sentType = type) =>
    answer(call, body, { status, type: sentType, headers: { ...headers, ...more } })
  const sendBytes: typeof send = (body, ...rest) => {
    // Bun sets the usual timeout when it begins to send.
    if (size > SMALL_BYTES) setImmediate(() => call.setIdleTimeout(STALL_SECONDS))
    return send(body, ...rest)
  }
  const sendFile: typeof send = (...file) => {
    call.isFile = size > SMALL_BYTES
    return sendBytes(...file)
  }

  if (includesTag(call.sent.headers.get('if-none-match'), etag)) {
    return answer(call, null, { status: 304, type: null, headers })
  }
  const open = async () => {
    const content = await openBlob(database, blobs, blob)
    if (content === undefined) throw new SatchelError('UNKNOWN_BLOB', 'The blob was removed')
    return content
  }
  const content = await open()
  if (call.method === 'HEAD') return send(null, 200, { 'Content-Length': String(size) })

  const header = call.sent.headers.get('range')
  const condition = call.sent.headers.get('if-range')
  if (header === null) return sendFile(content.body(), 200)
  const ranges = condition === null || condition === etag ? parseRanges(header, size) : 'whole'
  if (ranges === 'unsatisfiable') return notSatisfiable(call, size)
  const [range, another] = ranges === 'whole' ? [] : ranges
  if (range !== undefined && another === undefined) {
    const part = content.slice(range.begin, range.end)
    return sendFile(part.body(), 206, { 'Content-Range': contentRange(range, size) })
  }
  const bytes = {
    size,
    async read(begin: number, end: number) {
      // An upload of the same bytes may have moved them since the answer began.
      const part = (await open()).slice(begin, end)
      const read = await new Response(part.body()).bytes()
      if (read.length !== end - begin) throw new Error('a blob was truncated while it was read')
      return read
    },
  }
  const parts = ranges === 'whole' ? plainBytes(bytes, type) : multipartBytes(bytes, type, ranges)
  const stream = pacedStream(parts.next, {
    failed: (error) => http.failure(call.id, error),
    stall: STALL_SECONDS * 1000,
    reservation: call.reservation,
  })
  return sendBytes(stream, ranges === 'whole' ? 200 : 206, {}, parts.type)
}

/** True when a list of entity tags includes this one or is `*`; weak tags match (RFC 9110 §13.1.2). */
function includesTag(list: string | null, etag: string): boolean {
  if (list === null) return false
  return list
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
    .some((tag) => tag === etag || tag === '*')
}

function notSatisfiable(call: Call, size: number): Response {
  const error = new SatchelError(
    'RANGE_NOT_SATISFIABLE',
    `The requested range is beyond the end of the blob, which has ${size} bytes`,
  )
  return errorAnswer(call, error, { 'Content-Range': `bytes */${size}` })
}

/**
 * True for content types that browsers display without running scripts (promise 41); all others are
 * downloads. A value must be one type with plain parameters, so that no browser reads another type.
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
