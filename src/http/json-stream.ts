import type { List } from '../domain/list'
import { nextTurn } from '../domain/turn'

export interface StreamOptions {
  /** Told why a list broke off, when that was not its reader's doing. */
  readonly failed: (error: unknown) => void
  /** A reader that takes nothing for this long is cut, ms (design.md §3 Lists). */
  readonly stall?: number
}

const STALL = 30_000

const encoder = new TextEncoder()

/** The texts of a list as one JSON array; at once when there is only one chunk. */
export function jsonArray(list: List, options: StreamOptions): string | ReadableStream<Uint8Array> {
  return list.more === undefined ? `[${list.texts.join(',')}]` : streamed(list, options)
}

/**
 * Chunk by chunk, each read when the network has taken the one before, so a reader that stalls
 * holds nothing but its socket.
 */
function streamed(list: List, { failed, stall = STALL }: StreamOptions) {
  const parts = partsOf(list)
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false

  function end(): void {
    clearTimeout(timer)
    isOver = true
    void parts.return()
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(timer)
        try {
          const { value, done } = await parts.next()
          if (isOver) return
          if (done) return controller.close()
          controller.enqueue(encoder.encode(value))
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
    { highWaterMark: 1 },
  )
}

/** The array in parts, of which none is empty. */
async function* partsOf(first: List): AsyncGenerator<string, void> {
  yield `[${first.texts.join(',')}`
  let comma = first.texts.length > 0 ? ',' : ''
  for (let list = await first.more?.(); list !== undefined; list = await list.more?.()) {
    if (list.texts.length === 0) continue
    yield comma + list.texts.join(',')
    comma = ','
  }
  yield ']'
}
