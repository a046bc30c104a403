import { type JsonLimits, parseScanned, scanJson } from '../../domain/json/scan'
import { scanInSlices } from '../../domain/json/slices'
import type { Scratch } from '../../domain/store/scratch'
import { SatchelError } from '../../domain/value/error'
import { nextTurn } from '../../domain/value/turn'
import { createLedger, type Ledger, type Reservation } from '../../limits/ledger'
import { type Arrival, createArrivals, piecesOf, tooMany } from './arrivals'
import { free } from './buffer'
import { type ChunkSource, chunksOf, incomplete, type UploadTimeout, withinTime } from './chunks'

export interface BodyLimits extends JsonLimits {
  /** The largest body of one request, in bytes. */
  readonly bytes: number
}

/** JSON above this size is parsed in turn, and so is smaller JSON of so many values that it takes as much. */
const LARGE_BYTES = 1024 * 1024
/** The approximate memory of one parsed JSON value, besides its text. */
const BYTES_PER_VALUE = 64
/** The text of a large body is in memory about so often: in its values, as stored, and as answered. */
const COPIES_OF_TEXT = 3
/** The memory of large bodies that are parsed, of all callers: others wait until one is done. */
const PARSED_BYTES = 96 * 1024 * 1024
/** Smaller bodies are read in one piece: reading them by chunk would cost a third of the time of a write. */
const SMALL_BODY_BYTES = 64 * 1024
/** The small bodies of all callers that are worked on, in bytes. */
const SMALL_BODIES_BYTES = 32 * 1024 * 1024
/** Garbage is collected after this many bytes of large bodies were parsed. */
const COLLECT_AFTER_PARSED_BYTES = 32 * 1024 * 1024
/** JSON of at most so many bytes is parsed at once: it takes about ten milliseconds at the worst. */
const PARSED_AT_ONCE_BYTES = 512 * 1024

/** Reads request bodies within the limits of a request and the memory budgets of the server. */
export interface Bodies {
  /**
   * Calls `work` with the parsed JSON body, whose memory is reserved until `work` is done. A large body
   * comes by way of a file (`Arrivals`); those are parsed one at a time.
   */
  json<T, V = unknown>(call: BodyCall, source: JsonSource<V>, work: JsonWork<T, V>): Promise<T>
  /** The body as text of at most `maxBytes`, for small forms. */
  text(request: Request, maxBytes: number): Promise<string>
}

interface BodyCall {
  readonly sent: Request
  /** The memory of all bodies of a caller is counted together. */
  readonly caller: string
}

export interface JsonSource<V = unknown> {
  /** The place for the file of a large body; absent: it is in memory while it arrives. */
  readonly scratch?: Scratch
  /** A smaller limit than that of all bodies, in bytes. */
  readonly maxBytes?: number
  /** Without it the work gets the parsed JSON. */
  readonly reader?: JsonReader<V>
}

/** Makes of a body what the work gets. */
export interface JsonReader<V> {
  /** Takes the parsed JSON of a light body. */
  small(value: unknown): V
  /** Reads any other one piece by piece. `grow` reserves the memory of so many more values. */
  large(pieces: AsyncIterable<Uint8Array>, grow: (values: number) => Promise<void>): Promise<V>
}

/** Takes what was read of a body, and the size of that in bytes. */
type JsonWork<T, V = unknown> = (value: V, bytes: number) => Promise<T>

/** The work on a body, and the way to read it. */
interface JsonTask<T, V> {
  readonly reader: JsonReader<V> | undefined
  readonly work: JsonWork<T, V>
}

export interface BodyOptions {
  /** How a caller gets more data in. */
  readonly advice?: string
  /** For callers whose connection may be idle for long. A small body has `silence` for all of it. */
  readonly timeout?: UploadTimeout
  /** Collects garbage: at once, or in the background. */
  readonly collectGarbage?: (isAtOnce: boolean) => void
  readonly ledger?: Ledger
  /** The bodies that share these budgets. */
  readonly name?: string
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?(?:json|x?-?tson)\s*(?:;|$)/i

export function createBodies(
  limits: BodyLimits,
  {
    advice = 'send it in several requests',
    timeout,
    collectGarbage = Bun.gc,
    ledger = createLedger(),
    name = 'bodies',
  }: BodyOptions = {},
): Bodies {
  const arrivals = createArrivals({ ledger, name })
  const small = ledger.open(`small ${name}`, { most: SMALL_BODIES_BYTES, refuse: tooMany })
  // How much of a small body has arrived is not known.
  const within = timeout && withinTime(timeout.silence)
  const parsed = ledger.open(`parsed ${name}`, {
    most: PARSED_BYTES,
    isFreeAlone: true,
    refuse: tooMany,
  })
  let lastParsing: Promise<unknown> = Promise.resolve()
  /** Large bodies that are parsed, or wait for that. */
  let parsing = 0
  let parsedBytes = 0

  /**
   * Gives the bytes of a small body to `use`, with `context`. No async function, here and in `json`: for
   * such a body each would cost as much as to parse it.
   */
  function withSmall<T, C>(
    request: Request,
    length: number,
    use: (request: Request, bytes: Uint8Array, context: C) => Promise<T>,
    context: C,
  ): Promise<T> {
    const arriving = request.bytes()
    return (within === undefined ? arriving : within(arriving)).then((bytes) => {
      if (bytes.length !== length) throw incomplete()
      const reservation = { owner: '', bytes: 0 }
      small.reserve(reservation, length)
      const release = () => small.release(reservation)
      try {
        const done = use(request, bytes, context)
        void done.then(release, release)
        return done
      } catch (error) {
        release()
        throw error
      }
    }, refuseIncomplete)
  }

  async function withArrival<T, V>(
    { sent, caller }: BodyCall,
    scratch: Scratch | undefined,
    chunks: ChunkSource,
    task: JsonTask<T, V>,
  ): Promise<T> {
    await using arrival = await arrivals.receive({ chunks, scratch, caller, timeout })
    if (arrival.size <= PARSED_AT_ONCE_BYTES)
      return await withJson(sent, await arrival.take(), task)
    const { reader, work } = task
    if (reader === undefined) {
      return await inTurn(sent, async () => parseLarge<V>(await takeFrom(arrival)), work)
    }
    const read = async () => {
      const { size } = arrival
      const large = await readLarge(sent, reader, arrival.pieces(), size)
      await arrival[Symbol.asyncDispose]()
      return large
    }
    return await inTurn(sent, read, work)
  }

  function chunksOfAtMost(request: Request, length: number | undefined, maxBytes: number) {
    let received = 0
    return chunksOf(request, length, (bytes) => {
      received += bytes
      if (received > maxBytes) throw tooLarge(maxBytes, advice)
    })
  }

  /** Small bodies of few values are parsed at once. */
  function withJson<T, V>(
    request: Request,
    bytes: Uint8Array,
    { reader, work }: JsonTask<T, V>,
  ): Promise<T> {
    const { length } = bytes
    if (isLight(bytes, reader !== undefined)) {
      const value = parse(bytes)
      return work(reader === undefined ? (value as V) : reader.small(value), length)
    }
    return inTurn(
      request,
      reader === undefined
        ? () => parseLarge<V>(bytes)
        : () => readLarge(request, reader, piecesOf(bytes), length).finally(() => free(bytes)),
      work,
    )
  }

  /** `hasReader`: JSON that is too deep, or has too many values, is left to a reader. */
  function isLight(bytes: Uint8Array, hasReader: boolean): boolean {
    try {
      return bytes.length + BYTES_PER_VALUE * scanJson(bytes, limits) <= LARGE_BYTES
    } catch (error) {
      if (hasReader) return false
      throw error
    }
  }

  /** Large bodies are read and parsed one at a time; the work on them goes on side by side. */
  async function inTurn<T, V>(
    request: Request,
    read: () => Promise<LargeBody<V>>,
    work: JsonWork<T, V>,
  ): Promise<T> {
    const { value, length, reservation } = await oneByOne(async () => {
      // The caller is gone: another one has its turn.
      if (request.signal.aborted) throw incomplete()
      return await read()
    })
    try {
      return await work(value, length)
    } finally {
      void leave(reservation)
    }
  }

  async function parseLarge<V>(bytes: Uint8Array): Promise<LargeBody<V>> {
    const { length } = bytes
    try {
      const json = await scanInSlices(bytes, limits)
      const reservation = { owner: '', bytes: 0 }
      await parsed.reserveInTurn(
        reservation,
        COPIES_OF_TEXT * length + BYTES_PER_VALUE * json.values,
      )
      try {
        return { value: (await json.parse()) as V, length, reservation }
      } catch (error) {
        void leave(reservation)
        throw error
      }
    } finally {
      free(bytes)
    }
  }

  async function readLarge<V>(
    request: Request,
    reader: JsonReader<V>,
    pieces: AsyncIterable<Uint8Array>,
    length: number,
  ): Promise<LargeBody<V>> {
    const reservation = { owner: '', bytes: 0 }
    const grow = (more: number) => parsed.reserveInTurn(reservation, reservation.bytes + more)
    await grow(COPIES_OF_TEXT * length)
    try {
      const value = await reader.large(collecting(whileAwaited(request, pieces)), (values) =>
        grow(BYTES_PER_VALUE * values),
      )
      return { value, length, reservation }
    } catch (error) {
      void leave(reservation)
      throw error
    }
  }

  /** Collects garbage in the background while a body is read. */
  async function* collecting(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let read = 0
    for await (const piece of pieces) {
      read += piece.length
      yield piece
      if (read < COLLECT_AFTER_PARSED_BYTES) continue
      read = 0
      collectGarbage(false)
    }
  }

  function oneByOne<T>(parse: () => Promise<T>): Promise<T> {
    parsing += 1
    const turn = lastParsing.then(parse).finally(() => {
      parsing -= 1
    })
    lastParsing = turn.catch(() => undefined)
    return turn
  }

  async function leave(reservation: Reservation): Promise<void> {
    await collect(reservation.bytes)
    parsed.release(reservation)
  }

  /**
   * The collector underestimates the memory of strings: a few large bodies would take 500 MB. All callers
   * would wait up to a tenth of a second for it, so it works in the background unless another large body
   * needs the memory.
   */
  async function collect(weight: number): Promise<void> {
    parsedBytes += weight
    if (parsedBytes < COLLECT_AFTER_PARSED_BYTES) return
    parsedBytes = 0
    await nextTurn()
    const isNeeded = parsing > 0 || parsed.reserved > weight
    collectGarbage(isNeeded)
  }

  return {
    json(call, source, work) {
      const { sent } = call
      const task = { reader: source.reader, work }
      const { maxBytes = limits.bytes } = source
      try {
        requireJson(sent)
        const length = declaredLength(sent)
        if (length !== undefined && length > maxBytes) throw tooLarge(maxBytes, advice)
        return length !== undefined && length <= SMALL_BODY_BYTES
          ? withSmall(sent, length, withJson, task)
          : withArrival(call, source.scratch, chunksOfAtMost(sent, length, maxBytes), task)
      } catch (error) {
        return Promise.reject(error)
      }
    },

    async text(request, maxBytes) {
      const most = Math.min(maxBytes, limits.bytes)
      const length = declaredLength(request)
      if (length !== undefined && length > most) throw tooLarge(most, advice)
      return length === undefined
        ? decode(await readAll(chunksOfAtMost(request, length, most)))
        : await withSmall(request, length, async (_, bytes) => decode(bytes), undefined)
    },
  }
}

/** Throws `UNSUPPORTED_MEDIA_TYPE` for a body that is not JSON, or compressed. */
export function requireJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (type !== null && !JSON_TYPE.test(type)) {
    throw new SatchelError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send Content-Type: application/json',
    )
  }
  requireUncompressed(request)
}

/** Throws `UNSUPPORTED_MEDIA_TYPE` for a compressed body. */
export function requireUncompressed(request: Request): void {
  const encoding = request.headers.get('content-encoding')
  if (encoding === null || encoding === 'identity') return
  throw new SatchelError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Compressed bodies are not supported: send the body without Content-Encoding',
  )
}

/** The value of `Content-Length`; undefined without one. Throws `INVALID_REQUEST`. */
export function declaredLength(request: Request): number | undefined {
  const header = request.headers.get('content-length')
  if (header === null) return undefined
  const length = Number(header)
  if (Number.isSafeInteger(length) && length >= 0) return length
  throw new SatchelError('INVALID_REQUEST', 'Content-Length must be a non-negative integer')
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseScanned(bytes)
  } finally {
    free(bytes)
  }
}

function refuseIncomplete(error: unknown): never {
  throw error instanceof SatchelError ? error : incomplete()
}

/** The bytes, whose memory or file the arrival then leaves to others. */
async function takeFrom(arrival: Arrival): Promise<Uint8Array> {
  const bytes = await arrival.take()
  await arrival[Symbol.asyncDispose]()
  return bytes
}

/** A body that was read, and the memory that is reserved for it. */
interface LargeBody<V> {
  readonly value: V
  readonly length: number
  readonly reservation: Reservation
}

/** The pieces, as long as the caller is there. */
async function* whileAwaited(
  { signal }: Request,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (signal.aborted) throw incomplete()
    yield piece
  }
}

async function readAll({ read }: ChunkSource): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  for (let chunk = await read(); chunk !== undefined; chunk = await read()) chunks.push(chunk)
  return Buffer.concat(chunks)
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SatchelError('INVALID_REQUEST', 'The body must be UTF-8')
  }
}

function tooLarge(maxBytes: number, advice: string): SatchelError {
  return new SatchelError(
    'PAYLOAD_TOO_LARGE',
    `The body is larger than ${maxBytes} bytes: ${advice}`,
  )
}

/**
 * Reads a form that a browser posts, and keeps only the fields in `names`. Throws
 * `UNSUPPORTED_MEDIA_TYPE` with `sentence` for any other content type, and what `Bodies.text` throws.
 */
export async function readForm(
  bodies: Bodies,
  request: Request,
  names: readonly string[],
  sentence: string,
): Promise<URLSearchParams> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/x-www-form-urlencoded *(?:;|$)/i.test(type)) {
    throw new SatchelError('UNSUPPORTED_MEDIA_TYPE', sentence)
  }
  const form = new URLSearchParams(await bodies.text(request, MAX_FORM_BYTES))
  return new URLSearchParams([...form].filter(([name]) => names.includes(name)))
}

const MAX_FORM_BYTES = 16 * 1024
