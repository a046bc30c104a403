import { putBlob, roomForBlob } from '../../domain/blob/upload'
import { requireBlobType } from '../../domain/value/blob'
import { SatchelError } from '../../domain/value/error'
import { decodePercent } from '../../domain/value/percent'
import { declaredLength, requireUncompressed } from '../body/body'
import { chunksOf, tooSlow, withTimeout } from '../body/chunks'
import { type Call, keepOpen } from '../call'
import type { Authorised } from '../caller'
import type { HttpContext } from '../context'

export interface Upload extends Authorised {
  /** The id in the path, decoded. */
  readonly id: string
  readonly quotas: UploadQuotas
}

/**
 * Stores the body of a request as a blob and returns its ref. The blob is durable then (spec.md §4.5,
 * protocol.md §8.1).
 */
export async function receiveUpload(http: HttpContext, upload: Upload): Promise<string> {
  const { call, opened: host, actor, id, quotas } = upload
  const { limits, timeout } = http.blobs
  const type = contentType(call)
  requireComplete(call.sent)
  const length = declaredLength(call.sent)
  const reservation = await roomForBlob(host.database, actor, id, limits, host.clock.now())
  if (length !== undefined && length > reservation.bytes) throw reservation.refuse()
  using held = new DisposableStack()
  held.use(await http.hosts.hold(host.name))
  let isCut = false
  const memory = held.use(
    http.uploads.begin(`${host.database.id} ${actor.subject}`, () => {
      isCut = true
      chunks.cancel()
    }),
  )
  const consumers = [memory.consume]
  for (const { whose, left } of reservation.quotas) {
    const payer = `${whose} ${host.database.id} ${whose === 'user' ? actor.subject : ''}`
    const { consume } = held.use(quotas.begin(payer, left))
    // The declared length is reserved in the quota of the user; the shared quota counts what has arrived.
    if (whose === 'user' && length !== undefined) consume(length)
    else consumers.push(consume)
  }
  held.use(keepOpen(call))
  const count = (bytes: number) => consumers.forEach((consume) => consume(bytes))
  const chunks = chunksOf(call.sent, length, count)
  const read = () => {
    memory.await()
    return chunks.read()
  }
  const bytes = withTimeout({ ...chunks, read }, timeout)
  const receiving = host.blobs.receive(bytes, reservation)
  // The source of an upload that was cut reports that it ended early.
  await using arrival = await receiving.catch((error: unknown) =>
    Promise.reject(isCut ? tooSlow() : error),
  )
  const { hash, size, file } = arrival
  const now = host.clock.now()
  return await arrival.keep(() =>
    putBlob(host.database, actor, { id, hash, file, size, type, now }, limits),
  )
}

/** Throws for compressed and partial bodies (RFC 9110 §14.5). */
function requireComplete(request: Request): void {
  requireUncompressed(request)
  if (request.headers.has('content-range')) {
    throw new SatchelError(
      'INVALID_REQUEST',
      'A blob must be uploaded as a whole: send no Content-Range',
    )
  }
}

/** `ct` overrides the header (protocol.md §8.1). Throws `INVALID_REQUEST` for an invalid header value. */
function contentType({ query, sent }: Call): string {
  const part = query.split('&').find((each) => each.startsWith('ct='))
  const given = part?.slice('ct='.length)
  return requireBlobType(given ? decodePercent(given) : (sent.headers.get('content-type') ?? ''))
}

/**
 * Uploads in progress, by the quota that pays for them. The stored quotas count an upload only when it
 * is complete, so the uploads in progress must fit in the rest together.
 */
export interface UploadQuotas {
  /** Begins an upload for this payer, whose quota has `left` bytes left. Disposing it ends the upload. */
  begin(payer: string, left: number): UploadShare
}

export interface UploadShare extends Disposable {
  /** Throws `BUSY` when the other uploads leave no room for these bytes; a single upload always passes. */
  readonly consume: (bytes: number) => void
}

export function createUploadQuotas(): UploadQuotas {
  const bytesByPayer = new Map<string, number>()
  return {
    begin(payer, left) {
      let own = 0
      const others = () => (bytesByPayer.get(payer) ?? 0) - own
      return {
        consume(bytes) {
          if (others() > 0 && others() + own + bytes > left) throw tooMany()
          bytesByPayer.set(payer, others() + own + bytes)
          own += bytes
        },
        [Symbol.dispose]() {
          const rest = others()
          own = 0
          if (rest > 0) bytesByPayer.set(payer, rest)
          else bytesByPayer.delete(payer)
        },
      }
    },
  }
}

function tooMany(): SatchelError {
  return new SatchelError(
    'BUSY',
    'Uploads in progress take all the space left for blobs: repeat the request when they are done',
    { retryAfter: 2 },
  )
}
