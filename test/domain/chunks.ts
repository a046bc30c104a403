import * as fc from 'fast-check'
import { SatchelError } from '../../src/domain/value/error'

/** Places to cut a file at. */
export function cuts(): fc.Arbitrary<number[]> {
  return fc.array(fc.nat(400), { maxLength: 60 })
}

/** The chunks of a file, cut at these places. */
export async function* cutAt(text: string, places: readonly number[]): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  const sorted = [0, ...places.toSorted((a, b) => a - b), bytes.length]
  for (let i = 1; i < sorted.length; i++) yield reused(bytes.subarray(sorted[i - 1], sorted[i]))
}

/** The chunks of a file, all of this length but the last. */
export async function* cut(input: string | Buffer, length: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(input)
  for (let at = 0; at < bytes.length; at += length) yield reused(bytes.subarray(at, at + length))
}

const SHARED = new Uint8Array(100_000)

/** Files are read into one buffer again and again, so a chunk must not be kept. */
function reused(chunk: Uint8Array): Uint8Array {
  SHARED.fill(0)
  SHARED.set(chunk)
  return SHARED.subarray(0, chunk.length)
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}

/** The refusal that reading to the end ends with. */
export async function refusal(items: AsyncIterable<unknown>): Promise<SatchelError> {
  try {
    await collect(items)
  } catch (error) {
    if (error instanceof SatchelError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}
