import { SatchelError } from '../value/error'
import { isWireObject } from '../value/value'
import { FILE } from './entry'

/** `lines`: NDJSON. `sections`: the JSON import file. `array`: a JSON array. */
export type Format = 'lines' | 'sections' | 'array'

/** How much is looked at, in bytes. */
const GLANCE = 1024 * 1024

/** A file of which the beginning was looked at. */
export interface Glanced {
  readonly beginning: Buffer
  /** The whole file, what was looked at included. */
  readonly source: AsyncIterable<Uint8Array>
}

export async function glance(source: AsyncIterable<Uint8Array>): Promise<Glanced> {
  const rest = source[Symbol.asyncIterator]()
  const chunks: Uint8Array[] = []
  let size = 0
  while (size < GLANCE) {
    const { value, done } = await rest.next()
    if (done === true) break
    // The source may use the memory again.
    chunks.push(value.slice())
    size += value.length
  }
  return { beginning: Buffer.concat(chunks), source: resume(chunks, rest) }
}

/** Tells the format of a file by how it begins. Throws `INVALID_REQUEST` when it is none of ours. */
export function formatOf(beginning: Buffer): Format {
  const text = beginning.toString().trimStart()
  if (text === '') throw refusal('is empty')
  if (text.startsWith('\u001f')) throw refusal('is packed: unpack it and import what is in it')
  if (text.startsWith('[')) return 'array'
  if (text.startsWith('{')) return isLine(text.split('\n', 1)[0] ?? '') ? 'lines' : 'sections'
  throw refusal('is neither JSON, NDJSON nor a zip')
}

/** An import file on one line and one that begins with a line of NDJSON differ in what they name. */
function isLine(text: string): boolean {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return /^\{\s*"(?:\$?type|realm|table|id)"/.test(text)
  }
  return (
    isWireObject(value) && ['type', '$type', 'table'].some((name) => Object.hasOwn(value, name))
  )
}

async function* resume(
  chunks: readonly Uint8Array[],
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks
    for (;;) {
      const { value, done } = await rest.next()
      if (done === true) return
      yield value
    }
  } finally {
    await rest.return?.()
  }
}

function refusal(problem: string): SatchelError {
  return new SatchelError('INVALID_REQUEST', `${FILE} ${problem}`)
}
