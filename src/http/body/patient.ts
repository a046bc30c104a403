import { SatchelError } from '../../domain/value/error'

/** The slowest acceptable sender of a blob (design.md §6 slow clients). */
export interface Patience {
  /** How long they may send nothing, ms. */
  readonly silence: number
  /** How much they must send on average once `silence` is over, bytes per second. */
  readonly rate: number
}

/** Where chunks come from. */
export interface ChunkSource {
  /** Undefined after the last. */
  readonly read: () => Promise<Uint8Array | undefined>
  /** No more is wanted; also while a chunk is waited for. */
  readonly cancel: () => void
}

/** How often it is looked at, per `silence`. */
const LOOKS = 8

/**
 * Chunks as they come. Only their sender is timed, not their reader: time in which no chunk is
 * requested does not count. Throws `TOO_SLOW`.
 */
export function patiently(
  { read, cancel }: ChunkSource,
  { silence, rate }: Patience,
): AsyncIterable<Uint8Array> {
  let waited = 0
  let received = 0
  let since: number | undefined
  let giveUp = (_error: SatchelError) => {}
  let timer: Timer | undefined

  function look(): void {
    if (since === undefined) return
    const silent = performance.now() - since
    const total = waited + silent
    if (silent < silence && (total < silence || received >= (rate * total) / 1000)) return
    giveUp(tooSlow())
    stop()
  }

  function stop(): void {
    clearInterval(timer)
    cancel()
  }

  function came(value: Uint8Array | undefined, begun: number): IteratorResult<Uint8Array> {
    waited += performance.now() - begun
    since = undefined
    if (value === undefined) {
      clearInterval(timer)
      return { done: true, value }
    }
    received += value.length
    return { done: false, value }
  }

  // One promise for each chunk, for all its outcomes: there are twenty chunks in a mebibyte.
  function next(): Promise<IteratorResult<Uint8Array>> {
    const begun = (since = performance.now())
    return new Promise((resolve, reject) => {
      giveUp = reject
      read().then(
        (value) => resolve(came(value, begun)),
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
        timer ??= setInterval(look, silence / LOOKS)
        return next()
      },
      async return() {
        stop()
        return { done: true, value: undefined }
      },
    }),
  }
}

function tooSlow(): SatchelError {
  return new SatchelError(
    'TOO_SLOW',
    'The body arrived too slowly and nothing was stored: repeat the request on a better network',
  )
}
