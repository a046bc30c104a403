import type { List } from '../../domain/object/list'
import { nextTurn } from '../../domain/value/turn'

const encoder = new TextEncoder()

/** The texts of a list as one JSON array: a string when there is only one chunk, else a stream. */
export function jsonArray(list: List, options: StreamOptions): string | ReadableStream<Uint8Array> {
  if (list.more === undefined) return `[${list.texts.join(',')}]`
  const nextPart = partsOf(list, options.partEvery)
  return pacedStream(async (isOver) => {
    const part = await nextPart(isOver)
    return part === undefined ? undefined : encoder.encode(part)
  }, options)
}

/** A connection must not be idle for longer: servers and proxies between would close it. */
const PART_EVERY_MS = 5_000

/**
 * Gives the non-empty parts of the array, then undefined; also when nobody reads them any more. While
 * nothing is found, a part is a line break, which JSON allows between values.
 */
function partsOf(
  list: List,
  partEvery = PART_EVERY_MS,
): (isOver: () => boolean) => Promise<string | undefined> {
  let next: List | List['more'] = list
  let opening = '['
  let comma = ''
  return async (isOver) => {
    const begun = performance.now()
    while (next !== undefined && !isOver()) {
      const { texts, more }: List = typeof next === 'function' ? await next() : next
      next = more
      const values = texts.length === 0 ? '' : comma + texts.join(',')
      const part = opening + values + (more === undefined ? ']' : '')
      opening = ''
      if (values !== '') comma = ','
      if (part !== '') return part
      if (performance.now() - begun >= partEvery) return '\n'
    }
    return undefined
  }
}

/** The memory that the unsent parts of a stream are charged to (`Unsent`). */
export interface StreamReservation {
  /**
   * Reserves this many bytes in total, fewer or more than before. Cuts answers that no reader accepts when
   * there is too little memory; throws `BUSY` when that does not suffice.
   */
  resize(bytes: number): void
  /** Leaves the memory to a stream; `cut` ends the stream for this reason, in favour of others. */
  handOver(cut: (reason: string) => void): void
  /** Called when a part begins to wait for the reader. */
  offered(): void
  /** Counts bytes that the reader accepted. Nothing waits for it then. */
  accepted(bytes: number): void
  /** Called when the stream has ended; `reason` says why the reader did not receive all of it. */
  release(reason?: string): void
}

/** Why a stream ended before its reader received all of it. */
export const SERVER_FAILED = 'the server could not go on'
export const READER_DISCONNECTED = 'the reader disconnected'

export interface StreamOptions {
  /** Called with the error when the stream fails, unless the reader disconnected. */
  readonly failed: (error: unknown) => void
  /** The stream ends when the reader accepts nothing for this long, ms (design.md §3 Lists). */
  readonly stall?: number
  readonly reservation?: StreamReservation
  /** Called when the stream has ended and its memory is released. */
  readonly released?: () => void
  /** A list without a value for this long sends a line break, ms. */
  readonly partEvery?: number
}

const STALL_MS = 30_000

/**
 * A stream of the non-empty parts that `nextPart` gives, until it gives undefined. A part that takes
 * long to make asks `isOver` whether the reader is gone. Each part is made
 * when the network has accepted the one before, and is not kept: a stalled reader costs its socket and
 * one part. An answer that its reader does not accept to the end is logged as broken off.
 */
export function pacedStream(
  nextPart: (isOver: () => boolean) => Uint8Array | undefined | Promise<Uint8Array | undefined>,
  { failed, stall = STALL_MS, reservation, released }: StreamOptions,
): ReadableStream<Uint8Array> {
  let isOver = false
  let offered = 0
  let fail = (_error: Error) => {}
  // Set now, too: a response that the server never begins to send must end.
  let timer = setTimeout(stalled, stall)
  reservation?.handOver(breakOff)

  function end(reason?: string): void {
    isOver = true
    clearTimeout(timer)
    reservation?.release(reason)
    released?.()
  }

  function stalled(): void {
    breakOff(`the reader accepted nothing for ${stall / 1000} s`)
  }

  function breakOff(reason: string): void {
    if (isOver) return
    end(reason)
    fail(new Error(reason))
  }

  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        fail = (error) => controller.error(error)
      },
      async pull(controller) {
        if (isOver) return
        clearTimeout(timer)
        reservation?.accepted(offered)
        try {
          const part = await nextPart(() => isOver)
          if (isOver) return
          if (part === undefined) {
            end()
            return controller.close()
          }
          reservation?.resize(part.length)
          offered = part.length
          reservation?.offered()
          controller.enqueue(part)
          timer = setTimeout(stalled, stall)
        } catch (error) {
          if (isOver) return
          end(SERVER_FAILED)
          failed(error)
          // In the turn in which the response began, Bun would print the error.
          await nextTurn()
          controller.error(error)
        }
      },
      cancel() {
        if (!isOver) end(READER_DISCONNECTED)
      },
    },
    { highWaterMark: 0 },
  )
}
