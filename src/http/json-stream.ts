import type { List } from '../domain/list'

/** A reader that takes nothing for this long is cut, ms (design.md §3 Lists). */
const STALL = 30_000

const encoder = new TextEncoder()

/** The texts of a list as one JSON array; at once when there is only one chunk. */
export function jsonArray(list: List): string | ReadableStream<Uint8Array> {
  return list.more === undefined ? `[${list.texts.join(',')}]` : streamed(list)
}

/**
 * Chunk by chunk, each read when the network has taken the one before, so a reader that stalls
 * holds nothing but its socket.
 */
function streamed(first: List): ReadableStream<Uint8Array> {
  let list: List | undefined = first
  let isFirst = true
  let stall: ReturnType<typeof setTimeout> | undefined
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stall)
        try {
          const text = nextText()
          list = await list?.more?.()
          controller.enqueue(encoder.encode(list === undefined ? `${text}]` : text))
          if (list === undefined) controller.close()
          else stall = setTimeout(() => cut(controller), STALL)
        } catch (error) {
          controller.error(error)
        }
      },
      cancel() {
        clearTimeout(stall)
        list = undefined
      },
    },
    { highWaterMark: 1 },
  )

  function nextText(): string {
    const texts = list?.texts ?? []
    const lead = isFirst ? '[' : texts.length > 0 ? ',' : ''
    isFirst = isFirst && texts.length === 0
    return lead + texts.join(',')
  }
}

function cut(controller: ReadableStreamDefaultController<Uint8Array>): void {
  controller.error(new Error('the reader took nothing for too long'))
}
