import { SatchelError, unprocessable } from '../value/error'
import { describePosition } from '../value/position'
import { sharedTurn } from '../value/turn'
import { setOwn, type WireObject } from '../value/value'
import { type JsonLimits, notJson, parseScanned, scanJson, tooManyValues } from './scan'
import { scanInSlices, SLICE } from './slices'
import { createTokenizer, type Token, Unexpected } from './token'

/** What of a JSON text is read. All else is skipped without being parsed. */
export type Shape =
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Shape> }
  | { readonly kind: 'list'; readonly of: Shape }
  | ValueShape

/** A value that is parsed as a whole. */
interface ValueShape {
  readonly kind: 'value'
  /** Limits of the value; the limit of `bytes` counts for a value of another kind, too. */
  readonly limits: JsonLimits
  readonly bytes: number
  /** Whether a value beyond the limits is left out, as a `LeftOut`; otherwise it is refused. */
  readonly mayBeLeftOut: boolean
}

/** Stands for a value that is beyond the limits of its shape. */
export class LeftOut {
  constructor(readonly refusal: SatchelError) {}
}

/** How the memory of a text is reserved while it is read. */
export interface ShapedRoom {
  /** How many values may be read in all. */
  readonly values: number
  /** Called with the number of values that were read since the last call. */
  grow(values: number): Promise<void>
}

/** The largest value in place of a list or an object: it may be null, or an undefined in wire form. */
const SHORT: ValueShape = {
  kind: 'value',
  limits: { depth: 4, values: 100 },
  bytes: 64 * 1024,
  mayBeLeftOut: false,
}
/** Memory is reserved for so many values at once. */
const GROWTH = 50_000
const NAME = 'The body'

/**
 * Reads what a shape describes of a JSON text, which comes in small chunks; others get a turn after each.
 * A place that should hold a list or an object may hold any short value. Throws `INVALID_REQUEST` with line
 * and column for text that is no JSON, and `UNPROCESSABLE` for values beyond the limits of their shape, or
 * for too many of them.
 */
export async function readShaped(
  chunks: AsyncIterable<Uint8Array>,
  shape: Shape,
  room: ShapedRoom,
): Promise<unknown> {
  /** The containers that are being read. */
  const levels: { readonly shape: Shape; readonly holder: Holder }[] = []
  const root: WireObject = {}
  const late: Late[] = []
  let values = 0
  let reserved = 0

  function shapeAt(path: readonly string[]): Shape | undefined {
    const level = levels.at(-1)
    if (level === undefined) return shape
    if (level.shape.kind === 'list') return level.shape.of
    return level.shape.kind === 'object' ? level.shape.fields.get(path.at(-1) ?? '') : undefined
  }

  function put(path: readonly string[], value: unknown): void {
    const holder = levels.at(-1)?.holder ?? root
    if (Array.isArray(holder)) holder.push(value)
    else setOwn(holder, path.at(-1) ?? '', value)
  }

  function count(more: number): void {
    values += more
    if (values > room.values) throw tooMany(room.values)
  }

  const tokenizer = createTokenizer({
    enters(path, kind) {
      const found = shapeAt(path)
      if (found === undefined || found.kind !== (kind === 'array' ? 'list' : 'object')) return false
      const holder: Holder = kind === 'array' ? [] : {}
      put(path, holder)
      count(1)
      levels.push({ shape: found, holder })
      return true
    },
    leaves: () => void levels.pop(),
    key: (bytes, token) => String(parseScanned(bytes, { name: NAME, start: token })),
    keeps: (path) => shapeAt(path) !== undefined,
    grown(token) {
      if (token.isKey && token.size > SHORT.bytes) throw tooLarge(token, SHORT)
      // Much more than may be parsed, however it is counted.
      if (!token.isKey && token.marks > MOST_MARKS) token.pieces = undefined
    },
    part(path, bytes, token) {
      const found = shapeAt(path)
      if (found === undefined) return
      const { limits, ...rules } = found.kind === 'value' ? found : SHORT
      if (token.pieces === undefined || token.size > rules.bytes) {
        if (!rules.mayBeLeftOut) throw tooLarge(token, rules)
        put(path, new LeftOut(tooManyValues(limits)))
      } else if (bytes.length > SLICE) {
        const holder = levels.at(-1)?.holder ?? root
        const key = Array.isArray(holder) ? holder.length : (path.at(-1) ?? '')
        const pending = { bytes: new Uint8Array(bytes), holder, key, limits, token }
        late.push(pending)
        put(path, pending)
      } else {
        put(path, parse(bytes, token, limits, rules.mayBeLeftOut))
      }
    },
  })

  function parse(
    bytes: Uint8Array,
    start: Token,
    limits: JsonLimits,
    mayBeLeftOut: boolean,
  ): unknown {
    try {
      count(scanJson(bytes, limits))
    } catch (error) {
      if (!mayBeLeftOut || values > room.values) throw error
      return new LeftOut(error as SatchelError)
    }
    return parseScanned(bytes, { name: NAME, start })
  }

  async function parseLate(pending: Late): Promise<void> {
    const { bytes, holder, key, limits, token } = pending
    let value: unknown
    try {
      const source = { name: NAME, start: token }
      const json = await scanInSlices(bytes, limits, SLICE, sharedTurn, source)
      count(json.values)
      await reserve()
      value = await json.parse()
    } catch (error) {
      const isTooMuch = error instanceof SatchelError && error.code === 'UNPROCESSABLE'
      if (!isTooMuch || values > room.values) throw error
      value = new LeftOut(error)
    }
    // Of duplicate keys the last one counts.
    if (Array.isArray(holder)) holder[Number(key)] = value
    else if (holder[key] === pending) setOwn(holder, String(key), value)
  }

  async function reserve(): Promise<void> {
    if (values - reserved < GROWTH) return
    const more = values - reserved
    reserved = values
    await room.grow(more)
  }

  try {
    for await (const chunk of chunks) {
      tokenizer.write(chunk)
      for (const pending of late.splice(0)) await parseLate(pending)
      await reserve()
      await sharedTurn()
    }
    tokenizer.end()
  } catch (error) {
    if (!(error instanceof Unexpected)) throw error
    throw notJson(NAME, error)
  }
  for (const pending of late.splice(0)) await parseLate(pending)
  return root['']
}

type Holder = WireObject | unknown[]

/** A large value that waits to be parsed. */
interface Late {
  readonly bytes: Uint8Array
  readonly holder: Holder
  readonly key: string | number
  readonly limits: JsonLimits
  readonly token: Token
}

/** Commas and opening brackets of one value: there are at most two for each value in it. */
const MOST_MARKS = 2_500_000

function tooLarge(token: Token, { bytes }: Pick<ValueShape, 'bytes'>): SatchelError {
  return unprocessable(
    `${NAME} has a value of more than ${bytes} bytes at ${describePosition(token)}`,
  )
}

function tooMany(values: number): SatchelError {
  return unprocessable(`${NAME} may not hold more than ${values.toLocaleString('en')} values`)
}
