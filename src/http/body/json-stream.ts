import type { List } from '../../domain/object/list'
import { nextTurn } from '../../domain/value/turn'

const encoder = new TextEncoder()

/** The texts of a list as one JSON array; at once when there is only one chunk. */
export function jsonArray(list: List, options: PaceOptions): string | ReadableStream<Uint8Array> {
  if (list.more === undefined) return `[${list.texts.join(',')}]`
  const nextPart = partsOf(list)
  return pacedStream(async () => {
    const part = await nextPart()
    return part === undefined ? undefined : encoder.encode(part)
  }, options)
}

/** The array in parts, of which none is empty; undefined after the last. */
function partsOf(list: List): () => Promise<string | undefined> {
  let next: List | List['more'] = list
  let opening = '['
  let comma = ''
  return async () => {
    while (next !== undefined) {
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

export interface PaceOptions {
  /** Told why a stream broke off, when that was not its reader's doing. */
  readonly failed: (error: unknown) => void
  /** A reader that takes nothing for this long is cut, ms (design.md §3 Lists). */
  readonly stall?: number
}

const STALL = 30_000

/**
 * Part by part, each made when the network has taken the one before and released as soon as it is
 * handed over, so a reader that stalls holds nothing but its socket. Undefined follows the last part;
 * none is empty.
 */
export function pacedStream(
  nextPart: () => Promise<Uint8Array | undefined>,
  { failed, stall = STALL }: PaceOptions,
): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false

  function end(): void {
    clearTimeout(timer)
    isOver = true
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(timer)
        try {
          const part = await nextPart()
          if (isOver) return
          if (part === undefined) return controller.close()
          controller.enqueue(part)
          timer = setTimeout(() => {
            end()
            controller.error(new Error('the reader took nothing for too long'))
          }, stall)
        } catch (error) {
          if (isOver) return
          end()
          failed(error)
          // In the turn that began the answer, the server would print the error.
          await nextTurn()
          controller.error(error)
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}
