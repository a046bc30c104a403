import { SatchelError } from '../error'
import { nextTurn } from '../turn'
import type { Item, PartLimits } from './entry'
import { detectFormat } from './format'
import { readLineFile } from './line-file'
import { type Target, readArray, readObjectLines } from './plain-file'
import { readSectionFile } from './section-file'

/**
 * Reads a file of whichever format it is; with a `target` it holds nothing but objects of one table.
 * `count` is told the bytes as they are read. Throws what the readers of the formats throw.
 */
export async function* readItems(
  file: AsyncIterable<Uint8Array>,
  target: Target | null,
  limits: PartLimits,
  count: (bytes: number) => void,
): AsyncGenerator<Item> {
  const { format, source } = await detectFormat(inBites(file, count))
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

async function* inBites(
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
