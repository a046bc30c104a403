import { SatchelError } from '../../domain/value/error'
import { type JsonLimits, parseScanned, scanJson } from '../../domain/json/scan'
import { nextTurn } from '../../domain/value/turn'
import { callOf } from '../call'

export interface BodyLimits extends JsonLimits {
  /** The largest body of one request. */
  readonly bytes: number
}

/** All bodies that are held at the same time, from all callers (design.md §6). */
const BUDGET = 64 * 1024 * 1024
/**
 * Bodies above this are parsed and written one after the other, and so are smaller ones that are
 * larger than this when they are parsed.
 */
const LARGE = 1024 * 1024
/** What a parsed value takes, roughly, besides its text: `[]` as much as a number or a name. */
const VALUE = 64
/**
 * Room for a large body is reserved when it is announced, for others when they arrive: a caller
 * that announces much and sends nothing must not block those.
 */
const BUDGET_OF_LARGE = 48 * 1024 * 1024
/** To read bodies of most requests chunk by chunk would cost a third of their writes. */
const SMALL = 64 * 1024
/** Memory is collected after so many bytes of large bodies, parsed. */
const COLLECTED_AFTER = 16 * 1024 * 1024
/**
 * What a body that passes through holds. Whose chunks are small is slow and holds little: however many
 * of those there are, they must not keep others out.
 */
const SLOW = 64 * 1024
const FAST = 512 * 1024
/**
 * What all bodies of one sender may hold that pass through: a hundred at once are no abuse, and
 * others come in whatever one sends.
 */
const SHARE = 56 * 1024 * 1024
/** The chunks of bodies that passed through are collected after so many bytes. */
const PASSED = 128 * 1024 * 1024

/** Reads request bodies, after the actor is checked and never more than fits. */
export interface Bodies {
  /** Runs `work` with the parsed JSON body, whose room is held until `work` is done. */
  json<T>(request: Request, work: (value: unknown) => Promise<T>): Promise<T>
  /** The body as text of at most `most` bytes, for small forms. */
  text(request: Request, most: number): Promise<string>
  /** Lets a body of this sender pass through. Throws `BUSY` when too many do that come fast. */
  pass(sender: string): Passage
}

/** A body on its way to somewhere else. Disposing gives its room back. */
export interface Passage extends Disposable {
  /** To be told of every chunk, in bytes. Throws `BUSY` as `pass`. */
  readonly took: (bytes: number) => void
}

const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?(?:json|x?-?tson)\s*(?:;|$)/i

export function createBodies(limits: BodyLimits): Bodies {
  let held = 0
  let large = Promise.resolve()
  let uncollected = 0
  let passing = 0
  const passingOf = new Map<string, number>()
  let passed = 0

  async function withBytes<T>(
    routed: Request,
    most: number,
    weigh: (bytes: Uint8Array) => number,
    work: (bytes: Uint8Array) => Promise<T>,
  ): Promise<T> {
    const request = callOf(routed).sent
    const declared = declaredLength(request)
    if (declared !== undefined && declared > most) throw tooLarge(most)
    let reserved = 0
    const grown = (total: number) => {
      if (total > most) throw tooLarge(most)
      const more = total - reserved
      const isAlone = held === reserved
      if (held + more > (total > LARGE && !isAlone ? BUDGET_OF_LARGE : BUDGET)) throw tooMany()
      held += more
      reserved = total
    }
    try {
      if (isLarge(declared)) grown(declared)
      const isCounted = declared === undefined || (declared > SMALL && !isLarge(declared))
      const bytes = await received(
        isCounted ? gather(request.body ?? [], most, grown) : request.bytes(),
      )
      if (bytes.length > reserved) grown(bytes.length)
      if (declared !== undefined && bytes.length !== declared) throw brokenOff()
      const weight = weigh(bytes)
      return weight > LARGE ? await oneByOne(weight, () => work(bytes)) : await work(bytes)
    } finally {
      held -= reserved
    }
  }

  function oneByOne<T>(weight: number, work: () => Promise<T>): Promise<T> {
    const turn = large.then(work)
    const recovered = () => recover(weight)
    large = turn.then(recovered, recovered)
    return turn
  }

  /** What texts hold does not press the collector hard enough: a few large bodies would be 500 MB. */
  async function recover(weight: number): Promise<void> {
    uncollected += weight
    if (uncollected < COLLECTED_AFTER) return
    uncollected = 0
    await nextTurn()
    Bun.gc(true)
  }

  return {
    json(request, work) {
      requireJson(request)
      const weigh = (bytes: Uint8Array) => bytes.length + VALUE * scanJson(bytes, limits)
      return withBytes(request, limits.bytes, weigh, (bytes) => work(parsed(bytes)))
    },
    text: (request, most) =>
      withBytes(request, Math.min(most, limits.bytes), lengthOf, async (bytes) => decode(bytes)),
    pass(sender) {
      let bytes = 0
      const grow = (to: number) => {
        const own = (passingOf.get(sender) ?? 0) + to - bytes
        if (own > SHARE) throw tooMany()
        passingOf.set(sender, own)
        passing += to - bytes
        bytes = to
      }
      // Not of what others hold: blobs that take hours must not keep objects out.
      if (passing + SLOW > BUDGET) throw tooMany()
      grow(SLOW)
      return {
        took(count) {
          if (bytes === SLOW && count > SLOW) grow(FAST)
          passed += count
          if (passed < PASSED) return
          passed = 0
          // Chunks that wait for the disk live long enough to be promoted as lasting objects.
          Bun.gc(true)
        },
        [Symbol.dispose]() {
          passing -= bytes
          const own = (passingOf.get(sender) ?? 0) - bytes
          if (own > 0) passingOf.set(sender, own)
          else passingOf.delete(sender)
        },
      }
    },
  }
}

function isLarge(declared: number | undefined): declared is number {
  return declared !== undefined && declared > LARGE
}

function requireJson(request: Request): void {
  const type = request.headers.get('content-type')
  if (type !== null && !JSON_TYPE.test(type)) {
    throw new SatchelError(
      'UNSUPPORTED_MEDIA_TYPE',
      'The body must be JSON: send Content-Type: application/json',
    )
  }
  requireUncompressed(request)
}

/** Throws `UNSUPPORTED_MEDIA_TYPE` for a body that would have to be inflated. */
export function requireUncompressed(request: Request): void {
  const encoding = request.headers.get('content-encoding')
  if (encoding === null || encoding === 'identity') return
  throw new SatchelError(
    'UNSUPPORTED_MEDIA_TYPE',
    'Compressed bodies are not supported: send the body without Content-Encoding',
  )
}

/** `Content-Length`, if there is one. */
export function declaredLength(request: Request): number | undefined {
  const header = request.headers.get('content-length')
  if (header === null) return undefined
  const length = Number(header)
  if (Number.isSafeInteger(length) && length >= 0) return length
  throw new SatchelError('INVALID_REQUEST', 'Content-Length must be a non-negative integer')
}

/** A body breaks off when its sender has gone, so there is no answer to send. */
async function received(reading: Promise<Uint8Array>): Promise<Uint8Array> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof SatchelError) throw error
    throw brokenOff()
  }
}

export function brokenOff(): SatchelError {
  return new SatchelError('INVALID_REQUEST', 'The body ended early: send it again')
}

function lengthOf(bytes: Uint8Array): number {
  return bytes.length
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return parseScanned(bytes)
  } finally {
    release(bytes)
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new SatchelError('INVALID_REQUEST', 'The body must be UTF-8')
  }
}

function tooMany(): SatchelError {
  return new SatchelError('BUSY', 'Too many large bodies at once: repeat the request', {
    retryAfter: 2,
  })
}

function tooLarge(most: number): SatchelError {
  return new SatchelError(
    'PAYLOAD_TOO_LARGE',
    `The body is larger than ${most} bytes: send it in several requests`,
  )
}

/** Not worth the time that giving it back at once takes. */
const TINY = 4096
const NONE = new Uint8Array(0)

/**
 * The chunks in one piece that grows to at most `most` bytes: small ones, kept, would be many times
 * what is in them. `grown` is told how many bytes there are before they are taken, and throws when
 * there are too many.
 */
export async function gather(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  most: number,
  grown: (total: number) => void,
): Promise<Uint8Array> {
  let bytes: Uint8Array = NONE
  let total = 0
  try {
    for await (const chunk of chunks) {
      const end = total + chunk.length
      grown(end)
      const isOurs = isAlone(chunk)
      if (total === 0 && isOurs) {
        bytes = chunk
      } else {
        if (end > bytes.length) bytes = widen(bytes, total, Math.min(most, end * 2))
        bytes.set(chunk, total)
        if (isOurs) release(chunk)
      }
      total = end
    }
    return total === bytes.length ? bytes : bytes.subarray(0, total)
  } catch (error) {
    release(bytes)
    throw error
  }
}

function widen(bytes: Uint8Array, used: number, length: number): Uint8Array {
  const wider = Buffer.allocUnsafeSlow(length)
  wider.set(bytes.subarray(0, used))
  release(bytes)
  return wider
}

/** Nothing else lies where these bytes do, or they are too few to be given back. */
function isAlone(bytes: Uint8Array): boolean {
  return bytes.length <= TINY || bytes.length === bytes.buffer.byteLength
}

/**
 * Gives back at once what these bytes lie in, and nobody else does: the collector comes when that is
 * hundreds of megabytes.
 */
export function release(bytes: Uint8Array): void {
  if (bytes.length > TINY && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}

/**
 * The fields of a form that a browser posts, those of `names` alone. Throws `UNSUPPORTED_MEDIA_TYPE`
 * with the `sentence` that says what is expected, and what `Bodies` throws.
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
  const form = new URLSearchParams(await bodies.text(request, LONGEST_FORM))
  return new URLSearchParams([...form].filter(([name]) => names.includes(name)))
}

const LONGEST_FORM = 16 * 1024
