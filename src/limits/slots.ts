import { aborted } from '../domain/value/error'

export type Slots = ReturnType<typeof createSlots>

/** Lets so many callers in at a time, the others in their order. */
export function createSlots(most: number) {
  const waiting = new Set<() => void>()
  let inside = 0

  function leave(): void {
    const [next] = waiting
    if (next === undefined) inside -= 1
    else next()
  }

  function untilTurn(signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    function enter(): void {
      waiting.delete(enter)
      signal?.removeEventListener('abort', giveUp)
      resolve()
    }
    function giveUp(): void {
      waiting.delete(enter)
      reject(aborted())
    }
    waiting.add(enter)
    signal?.addEventListener('abort', giveUp, { once: true })
    if (signal?.aborted === true) giveUp()
    return promise
  }

  return {
    /** Several callers are inside. */
    get isShared(): boolean {
      return inside > 1
    },
    /** No caller is inside. */
    get isFree(): boolean {
      return inside === 0
    },
    /**
     * Gives the way to leave, to be called once: at once, or when it is the turn of the caller. Throws `BUSY` when the
     * signal is aborted while the caller waits.
     */
    async take(signal?: AbortSignal): Promise<() => void> {
      if (inside < most) inside += 1
      else await untilTurn(signal)
      return leave
    },
  }
}
