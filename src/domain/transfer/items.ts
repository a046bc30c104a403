import { SatchelError } from '../value/error'
import { nextTurn } from '../value/turn'
import type { Item, PartLimits } from './entry'
import { formatOf, type Glanced } from './format'
import { readLineFile } from './line-file'
import { type Target, readArray, readObjectLines } from './plain-file'
import { readSectionFile } from './section-file'

/**
 * Reads a text file of whichever format it is; with a `target` it holds nothing but objects of one
 * table. Throws what the readers of the formats throw.
 */
export async function* readItems(
  { beginning, source }: Glanced,
  target: Target | null,
  limits: PartLimits,
): AsyncGenerator<Item> {
  const format = formatOf(beginning)
  if (target !== null) {
    const read = format === 'array' ? readArray : readObjectLines
    yield* read(source, target, limits)
  } else if (format === 'array') {
    throw new SatchelError(
      'INVALID_REQUEST',
      'The file is a list of objects: name their table and realm with --table and --realm',
    )
  } else {
    yield* format === 'lines' ? readLineFile(source, limits) : readSectionFile(source, limits)
  }
}

/** How much of a file is read in one turn of the event loop, in bytes. */
const BITE = 64 * 1024

/** The file as it is read; `count` is told the bytes. */
export async function* inBites(
  file: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of file) {
    for (let start = 0; start < chunk.length; start += BITE) {
      const bite = chunk.subarray(start, start + BITE)
      count(bite.length)
      yield bite
      await nextTurn()
    }
  }
}
