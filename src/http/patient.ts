import { SatchelError } from '../domain/error'
import { interruptible } from '../domain/interruptible'

/** How slow somebody may be who sends or takes a blob (design.md §6 slow clients). */
export interface Patience {
  /** How long they may send nothing, ms. */
  readonly silence: number
  /** How much they must send on average once `silence` is over, bytes per second. */
  readonly rate: number
}

/** How often it is looked at, per `silence`. */
const LOOKS = 8

/**
 * A body as it comes. Its sender is waited for, not whoever takes it: time in which nobody wants more
 * does not count. Throws `TOO_SLOW`.
 */
export async function* patiently(
  body: AsyncIterable<Uint8Array>,
  { silence, rate }: Patience,
): AsyncGenerator<Uint8Array> {
  const source = interruptible(body)
  let waited = 0
  let received = 0
  let since: number | undefined = performance.now()

  function look(): void {
    if (since === undefined) return
    const silent = performance.now() - since
    const total = waited + silent
    const isTooSlow = total >= silence && received < (rate * total) / 1000
    if (silent >= silence || isTooSlow) source.interrupt(tooSlow())
  }

  const timer = setInterval(look, silence / LOOKS)
  try {
    for await (const chunk of source) {
      waited += performance.now() - since
      since = undefined
      received += chunk.length
      yield chunk
      since = performance.now()
    }
  } finally {
    clearInterval(timer)
  }
}

function tooSlow(): SatchelError {
  return new SatchelError(
    'TOO_SLOW',
    'The body came too slowly: nothing of it was stored. Repeat the request when the network is better',
  )
}
