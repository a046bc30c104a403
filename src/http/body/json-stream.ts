import type { List } from '../../domain/object/list'
import { nextTurn } from '../../domain/value/turn'

const encoder = new TextEncoder()

/** The texts of a list as one JSON array: a string when there is only one chunk, else a stream. */
export function jsonArray(list: List, options: StreamOptions): string | ReadableStream<Uint8Array> {
  if (list.more === undefined) return `[${list.texts.join(',')}]`
  const nextPart = partsOf(list)
  return pacedStream(async () => {
    const part = await nextPart()
    return part === undefined ? undefined : encoder.encode(part)
  }, options)
}

/** Gives the non-empty parts of the array, then undefined. */
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

export interface StreamOptions {
  /** Called with the error when the stream fails, unless the reader disconnected. */
  readonly failed: (error: unknown) => void
  /** The stream ends when the reader accepts nothing for this long, ms (design.md §3 Lists). */
  readonly stall?: number
}

const STALL = 30_000

/**
 * A stream of the non-empty parts that `nextPart` gives, until it gives undefined. Each part is made
 * when the network has accepted the one before, and is not kept: a stalled reader costs only its socket.
 */
export function pacedStream(
  nextPart: () => Promise<Uint8Array | undefined>,
  { failed, stall = STALL }: StreamOptions,
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
            controller.error(new Error('the reader accepted nothing for too long'))
          }, stall)
        } catch (error) {
          if (isOver) return
          end()
          failed(error)
          // In the turn in which the response began, Bun would print the error.
          await nextTurn()
          controller.error(error)
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}
