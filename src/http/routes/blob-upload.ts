import type { Actor } from '../../domain/access/actor'
import { requireBlobType } from '../../domain/value/blob'
import { putBlob, roomForBlob } from '../../domain/blob/upload'
import { decodePercent } from '../../domain/value/percent'
import { SatchelError } from '../../domain/value/error'
import { brokenOff, declaredLength, requireUncompressed } from '../body/body'
import type { Call } from '../call'
import type { HttpContext } from '../context'
import type { Host } from '../../host/host'
import { type ChunkSource, patiently } from '../body/patient'

/** A connection whose upload is over is one like all others again, s. */
const USUAL_PATIENCE = 30

export interface Upload {
  readonly call: Call
  readonly host: Host
  readonly actor: Actor
  /** As the address has it, decoded. */
  readonly id: string
  readonly shares: UploadShares
}

/**
 * Takes the body of a request as a blob, which is durable and noted when this resolves to its ref
 * (spec.md §4.5, protocol.md §8.1).
 */
export async function takeUpload(http: HttpContext, upload: Upload): Promise<string> {
  const { call, host, actor, id, shares } = upload
  const { limits, patience } = http.blobs
  const type = contentType(call)
  requireWhole(call.sent)
  const length = declaredLength(call.sent)
  const room = await roomForBlob(host.database, actor, id, limits, http.clock.now())
  if (length !== undefined && length > room.bytes) throw room.refuse()
  using held = new DisposableStack()
  held.use(await http.hosts.hold(host.name))
  const { took } = held.use(http.bodies.pass(`${host.database.id} ${actor.subject}`))
  const takers = [took]
  for (const { whose, left } of room.quotas) {
    const payer = `${whose} ${host.database.id} ${whose === 'user' ? actor.subject : ''}`
    const { take } = held.use(shares.begin(payer, left))
    // Bytes that are only announced reserve no room.
    if (whose === 'user' && length !== undefined) take(length)
    else takers.push(take)
  }
  call.setPatience(0)
  held.defer(() => call.setPatience(USUAL_PATIENCE))
  const bytes = patiently(chunksOf(call.sent, length, takers), patience)
  await using arrival = await host.blobs.receive(bytes, room)
  const { hash, size } = arrival
  const now = http.clock.now()
  return await arrival.keep(() =>
    putBlob(host.database, actor, { id, hash, size, type, now }, limits),
  )
}

/** A body breaks off when its sender has gone, so there is no answer to send. */
function chunksOf(
  { body }: Request,
  length: number | undefined,
  takers: readonly ((bytes: number) => void)[],
): ChunkSource {
  const reader = body?.getReader()
  let received = 0
  let isCancelled = false
  return {
    read: () =>
      (reader?.read() ?? Promise.resolve({ value: undefined })).then(
        ({ value }) => {
          const isWhole = !isCancelled && (length === undefined || received === length)
          if (value === undefined && !isWhole) throw brokenOff()
          received += value?.length ?? 0
          for (const take of takers) take(value?.length ?? 0)
          return value
        },
        () => Promise.reject(brokenOff()),
      ),
    cancel() {
      // A wait for more ends with this as if there was none.
      isCancelled = true
      reader?.cancel().catch(() => undefined)
    },
  }
}

/** A part of a blob is no blob (RFC 9110 §14.5). */
function requireWhole(request: Request): void {
  requireUncompressed(request)
  if (request.headers.has('content-range')) {
    throw new SatchelError(
      'INVALID_REQUEST',
      'A blob must be uploaded as a whole: send no Content-Range',
    )
  }
}

/** `ct` before the header (protocol.md §8.1). Throws `INVALID_REQUEST` for an invalid header value. */
function contentType({ query, sent }: Call): string {
  const part = query.split('&').find((each) => each.startsWith('ct='))
  const given = part?.slice('ct='.length)
  return requireBlobType(given ? decodePercent(given) : (sent.headers.get('content-type') ?? ''))
}

/**
 * Uploads that come at the same time. Until each is noted the quotas know nothing of it: together they
 * must fit what is left, or a small quota would be no protection for the disk.
 */
export interface UploadShares {
  /** Adds an upload to this account, which has `left` bytes left. Disposed, it is over. */
  begin(payer: string, left: number): Share
}

export interface Share extends Disposable {
  /** Throws `BUSY` when the others leave no room for this many bytes; a single upload is never refused. */
  readonly take: (bytes: number) => void
}

export function createUploadShares(): UploadShares {
  const bytesByPayer = new Map<string, number>()
  return {
    begin(payer, left) {
      let own = 0
      const others = () => (bytesByPayer.get(payer) ?? 0) - own
      return {
        take(bytes) {
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
