import { SatchelError } from '../../domain/value/error'

/** When a slow upload is aborted (design.md §6 slow clients). */
export interface UploadTimeout {
  /** The longest time without a byte, ms. */
  readonly silence: number
  /** The lowest average rate once `silence` has passed, bytes per second. */
  readonly rate: number
}

/** The chunks of an upload. */
export interface ChunkSource {
  /** Gives the next chunk; undefined after the last. */
  readonly read: () => Promise<Uint8Array | undefined>
  /** Stops the upload, even while `read` is pending. */
  readonly cancel: () => void
}

/** How often the timeout is checked, per `silence`. */
const CHECKS_PER_SILENCE = 8

/**
 * The chunks as they arrive. Only time in which the sender is waited for counts, not time in which the
 * consumer is busy. Throws `TOO_SLOW`.
 */
export function withTimeout(
  { read, cancel }: ChunkSource,
  { silence, rate }: UploadTimeout,
): AsyncIterable<Uint8Array> {
  let waited = 0
  let received = 0
  let waitingSince: number | undefined
  let abort = (_error: SatchelError) => {}
  let timer: Timer | undefined

  function check(): void {
    if (waitingSince === undefined) return
    const silent = performance.now() - waitingSince
    const total = waited + silent
    if (silent < silence && (total < silence || received >= (rate * total) / 1000)) return
    abort(tooSlow())
    stop()
  }

  function stop(): void {
    clearInterval(timer)
    cancel()
  }

  function arrived(value: Uint8Array | undefined, begun: number): IteratorResult<Uint8Array> {
    waited += performance.now() - begun
    waitingSince = undefined
    if (value === undefined) {
      clearInterval(timer)
      return { done: true, value }
    }
    received += value.length
    return { done: false, value }
  }

  // One promise per chunk, because there are twenty chunks in a mebibyte.
  function next(): Promise<IteratorResult<Uint8Array>> {
    const begun = (waitingSince = performance.now())
    return new Promise((resolve, reject) => {
      abort = reject
      read().then(
        (value) => resolve(arrived(value, begun)),
        (error: unknown) => {
          clearInterval(timer)
          reject(error)
        },
      )
    })
  }

  return {
    [Symbol.asyncIterator]: () => ({
      next() {
        timer ??= setInterval(check, silence / CHECKS_PER_SILENCE)
        return next()
      },
      async return() {
        stop()
        return { done: true, value: undefined }
      },
    }),
  }
}

/** The chunks as a stream, of which nothing is read in advance. */
export function streamOf(chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { value, done } = await iterator.next()
        if (done === true) controller.close()
        else controller.enqueue(value)
      },
      cancel: async () => void (await iterator.return?.()),
    },
    { highWaterMark: 0 },
  )
}

/**
 * Makes the function that waits for bytes for `most` ms, then throws `TOO_SLOW`. One timer is for all waits: to set
 * one takes as long as to parse a small body.
 */
export function withinTime(most: number): (bytes: Promise<Uint8Array>) => Promise<Uint8Array> {
  const waits = new Set<Wait>()
  let timer: Timer | undefined

  function cut(): void {
    timer = undefined
    const now = performance.now()
    for (const wait of waits) {
      // The others are later.
      if (wait.ends > now) return start(wait.ends - now)
      waits.delete(wait)
      wait.reject(tooSlow())
    }
  }

  function start(after: number): void {
    timer ??= setTimeout(cut, after).unref()
  }

  return (bytes) =>
    new Promise((resolve, reject) => {
      const wait: Wait = { ends: performance.now() + most, reject }
      waits.add(wait)
      start(most)
      bytes.then(
        (value) => {
          waits.delete(wait)
          return resolve(value)
        },
        (error: unknown) => {
          waits.delete(wait)
          reject(error)
        },
      )
    })
}

interface Wait {
  /** `performance.now()` */
  readonly ends: number
  readonly reject: (error: SatchelError) => void
}

/**
 * The chunks of a request body, each given to `count` as it arrives, which may throw. Throws
 * `INVALID_REQUEST` when the body ends before its declared `length`, or the connection does.
 */
export function chunksOf(
  { body }: Request,
  length: number | undefined,
  count: (bytes: number) => void,
): ChunkSource {
  const reader = body?.getReader()
  let received = 0
  let isCancelled = false
  return {
    read: () =>
      (reader?.read() ?? Promise.resolve({ value: undefined })).then(
        ({ value }) => {
          const isComplete = !isCancelled && (length === undefined || received === length)
          if (value === undefined && !isComplete) throw incomplete()
          received += value?.length ?? 0
          count(value?.length ?? 0)
          return value
        },
        () => Promise.reject(incomplete()),
      ),
    cancel() {
      // A pending read then ends as if the body was over.
      isCancelled = true
      reader?.cancel().catch(() => undefined)
    },
  }
}

/** The error for a body whose connection closed before its end. */
export function incomplete(): SatchelError {
  return new SatchelError('INVALID_REQUEST', 'The body ended early: send it again')
}

/** The error for a body that arrives too slowly. */
export function tooSlow(): SatchelError {
  return new SatchelError(
    'TOO_SLOW',
    'The body arrived too slowly and nothing was stored: repeat the request on a better network',
  )
}
