import type { List } from '../domain/object/list'
import { type PaceOptions, pacedStream } from './paced-stream'

const encoder = new TextEncoder()

export interface ListOptions extends PaceOptions {
  /** Asked before each further chunk is read; it throws when the reader may not have it. */
  readonly requireReader?: () => Promise<void>
}

/** The texts of a list as one JSON array; at once when there is only one chunk. */
export function jsonArray(list: List, options: ListOptions): string | ReadableStream<Uint8Array> {
  if (list.more === undefined) return `[${list.texts.join(',')}]`
  const nextPart = partsOf(list, options.requireReader)
  return pacedStream(async () => {
    const part = await nextPart()
    return part === undefined ? undefined : encoder.encode(part)
  }, options)
}

/** The array in parts, of which none is empty; undefined after the last. */
function partsOf(
  list: List,
  requireReader: ListOptions['requireReader'],
): () => Promise<string | undefined> {
  let next: List | List['more'] = list
  let opening = '['
  let comma = ''
  return async () => {
    while (next !== undefined) {
      if (typeof next === 'function') await requireReader?.()
      const { texts, more }: List = typeof next === 'function' ? await next() : next
      next = more
      const values = texts.length === 0 ? '' : comma + texts.join(',')
      const part = opening + values + (more === undefined ? ']' : '')
      opening = ''
      if (values !== '') comma = ','
      if (part !== '') return part
    }
    return undefined
  }
}
