import { type JsonLimits, parseScanned, scanJson } from '../../domain/json/scan'
import { scanInSlices } from '../../domain/json/slices'
import { SatchelError } from '../../domain/value/error'
import { nextTurn } from '../../domain/value/turn'

export interface BodyLimits extends JsonLimits {
  /** The largest body of one request, in bytes. */
  readonly bytes: number
}

/** Request bodies that are in memory at the same time, of all callers, in bytes (design.md §6). */
const BUDGET = 64 * 1024 * 1024
/** Bodies above this size, before or after parsing, count against the budgets of large ones. */
const LARGE = 1024 * 1024
/** The approximate memory of one parsed JSON value, besides its text. */
const BYTES_PER_VALUE = 64
/** The text of a large body is in memory about so often: in its values, as stored, and as answered. */
const COPIES = 3
/**
 * The part of the budget that large bodies may reserve. They reserve their `Content-Length` in advance
 * and other bodies what has arrived, so a caller that announces much and sends nothing must not block
 * the others.
 */
const BUDGET_OF_LARGE = 48 * 1024 * 1024
/** The memory of large bodies that are parsed, of all callers: others wait until one is done. */
const BUDGET_OF_PARSED = 96 * 1024 * 1024
/** Smaller bodies are read in one piece: reading them by chunk would cost a third of the time of a write. */
const SMALL = 64 * 1024
/** Garbage is collected after this many bytes of large bodies were parsed. */
const COLLECT_AFTER_PARSED = 32 * 1024 * 1024
/** JSON of at most so many bytes is parsed at once: it takes about ten milliseconds at the worst. */
const AT_ONCE = 512 * 1024

/** Reads request bodies within the limits of a request and the memory budget of the server. */
export interface Bodies {
  /**
   * Calls `work` with the parsed JSON body, whose memory is reserved until `work` is done.
   */
  json<T>(request: Request, work: JsonWork<T>): Promise<T>
  /** The body as text of at most `maxBytes`, for small forms. */
  text(request: Request, maxBytes: number): Promise<string>
}

/** Takes a parsed body and its size in bytes. */
type JsonWork<T> = (value: unknown, bytes: number) => Promise<T>

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?(?:json|x?-?tson)\s*(?:;|$)/i

export function createBodies(limits: BodyLimits): Bodies {
  let reservedByAll = 0
  let lastParsing: Promise<unknown> = Promise.resolve()
  let parsedMemory = 0
  const waitingForMemory: { readonly weight: number; readonly enter: () => void }[] = []
  let parsedBytes = 0

  async function withBytes<T>(
    request: Request,
    maxBytes: number,
    work: (bytes: Uint8Array) => Promise<T>,
  ): Promise<T> {
    const declared = declaredLength(request)
    if (declared !== undefined && declared > maxBytes) throw tooLarge(maxBytes)
    let reserved = 0
    const reserve = (total: number) => {
      if (total > maxBytes) throw tooLarge(maxBytes)
      const more = total - reserved
      const isAlone = reservedByAll === reserved
      const budget = total > LARGE && !isAlone ? BUDGET_OF_LARGE : BUDGET
      if (reservedByAll + more > budget) throw tooMany()
      reservedByAll += more
      reserved = total
    }
    try {
      if (isLarge(declared)) reserve(declared)
      const isCounted = declared === undefined || (declared > SMALL && !isLarge(declared))
      const bytes = await received(
        isCounted ? gather(request.body ?? [], maxBytes, reserve) : request.bytes(),
      )
      if (bytes.length > reserved) reserve(bytes.length)
      if (declared !== undefined && bytes.length !== declared) throw incomplete()
      return await work(bytes)
    } finally {
      reservedByAll -= reserved
    }
  }

  function withJson<T>(bytes: Uint8Array, work: JsonWork<T>): Promise<T> {
    const { length } = bytes
    const isLight = length <= AT_ONCE && length + BYTES_PER_VALUE * scanJson(bytes, limits) <= LARGE
    return isLight ? work(parse(bytes), length) : withLargeJson(bytes, work)
  }

  async function withLargeJson<T>(bytes: Uint8Array, work: JsonWork<T>): Promise<T> {
    const { length } = bytes
    const json = await scanInSlices(bytes, limits)
    const weight = COPIES * length + BYTES_PER_VALUE * json.values
    await enter(weight)
    try {
      const value = await oneByOne(() => json.parse().finally(() => free(bytes)))
      return await work(value, length)
    } finally {
      void leave(weight)
    }
  }

  /** Large bodies are parsed one at a time; the work on them goes on side by side. */
  function oneByOne<T>(parsing: () => Promise<T>): Promise<T> {
    const turn = lastParsing.then(parsing)
    lastParsing = turn.catch(() => undefined)
    return turn
  }

  /** Resolves when there is memory for a parsed body, in the order of the calls. */
  function enter(weight: number): Promise<void> {
    return new Promise((resolve) => {
      waitingForMemory.push({ weight, enter: resolve })
      admit()
    })
  }

  async function leave(weight: number): Promise<void> {
    await collect(weight)
    parsedMemory -= weight
    admit()
  }

  function admit(): void {
    for (let next = waitingForMemory[0]; next !== undefined; next = waitingForMemory[0]) {
      if (parsedMemory > 0 && parsedMemory + next.weight > BUDGET_OF_PARSED) return
      waitingForMemory.shift()
      parsedMemory += next.weight
      next.enter()
    }
  }

  /** The collector underestimates the memory of strings: a few large bodies would take 500 MB. */
  async function collect(weight: number): Promise<void> {
    parsedBytes += weight
    if (parsedBytes < COLLECT_AFTER_PARSED) return
    parsedBytes = 0
    await nextTurn()
    Bun.gc(true)
  }

  return {
    json(request, work) {
      requireJson(request)
      return withBytes(request, limits.bytes, (bytes) => withJson(bytes, work))
    },

    text: (request, maxBytes) =>
      withBytes(request, Math.min(maxBytes, limits.bytes), async (bytes) => decode(bytes)),
  }
}

function isLarge(declared: number | undefined): declared is number {
  return declared !== undefined && declared > LARGE
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

/** Reports an aborted body as an error of the caller. */
async function received(reading: Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof SatchelError) throw error
    throw incomplete()
  }
}

/** The error for a body whose connection closed before its end. */
export function incomplete(): SatchelError {
  return new SatchelError('INVALID_REQUEST', 'The body ended early: send it again')
}

function parse(bytes: Uint8Array): unknown {
  try {
    return parseScanned(bytes)
  } finally {
    free(bytes)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SatchelError('INVALID_REQUEST', 'The body must be UTF-8')
  }
}

/** The error when a budget of memory is spent. */
export function tooMany(): SatchelError {
  return new SatchelError('BUSY', 'Too many large bodies at once: repeat the request', {
    retryAfter: 2,
  })
}

function tooLarge(maxBytes: number): SatchelError {
  return new SatchelError(
    'PAYLOAD_TOO_LARGE',
    `The body is larger than ${maxBytes} bytes: send it in several requests`,
  )
}

/** Smaller buffers are left to the garbage collector. */
const TINY = 4096
const NONE = new Uint8Array(0)

/**
 * Concatenates the chunks in one buffer that grows to at most `maxBytes`: the overhead of many small
 * chunks would exceed their content. Before a chunk is copied, `reserve` is called with the new total
 * and throws when that is too much.
 */
async function gather(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  reserve: (total: number) => void,
): Promise<Uint8Array> {
  let bytes: Uint8Array = NONE
  let total = 0
  try {
    for await (const chunk of chunks) {
      const end = total + chunk.length
      reserve(end)
      const isOurs = isSoleView(chunk)
      if (total === 0 && isOurs) {
        bytes = chunk
      } else {
        if (end > bytes.length) bytes = grow(bytes, total, Math.min(maxBytes, end * 2))
        bytes.set(chunk, total)
        if (isOurs) free(chunk)
      }
      total = end
    }
    return total === bytes.length ? bytes : bytes.subarray(0, total)
  } catch (error) {
    free(bytes)
    throw error
  }
}

function grow(bytes: Uint8Array, used: number, length: number): Uint8Array {
  const larger = Buffer.allocUnsafeSlow(length)
  larger.set(bytes.subarray(0, used))
  free(bytes)
  return larger
}

/** True when no other view shares the buffer, or the view is too small to free. */
function isSoleView(bytes: Uint8Array): boolean {
  return bytes.length <= TINY || bytes.length === bytes.buffer.byteLength
}

/**
 * Frees the buffer at once; the bytes and all other views of it are empty afterwards. The garbage
 * collector would wait until buffers take hundreds of megabytes.
 */
function free(bytes: Uint8Array): void {
  if (bytes.length > TINY && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
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
