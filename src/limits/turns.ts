import { aborted, SatchelError } from '../domain/value/error'
import { FIXED_LIMITS, mostOf } from '../domain/value/fixed-limits'
import type { Counter } from './counter'

/** Lets requests wait where others would be refused: clients do not repeat these. */
export type Turns = ReturnType<typeof createTurns>

export interface Turn {
  readonly key: string
  /** Such as a database; empty for none. */
  readonly scope: string
  /** Returns the signal that the caller is gone; called only by those that wait. */
  readonly signal: () => AbortSignal
}

/** How often the counts of those that wait are looked at, ms. */
const CHECK_MS = 250

/** The waiting requests of a key. */
interface Queue {
  readonly key: string
  readonly scope: string
  readonly waiting: Set<() => void>
}

/** `checkMs`: how often requests may be let in. */
export function createTurns(counter: Counter, { checkMs = CHECK_MS } = {}) {
  const queues = new Map<string, Queue>()
  let timer: Timer | undefined

  function admit({ key, scope, waiting }: Queue): void {
    for (const pass of waiting) {
      if (counter.spend(key, scope).isOver) return
      waiting.delete(pass)
      pass()
    }
    remove({ key, scope, waiting })
  }

  function remove({ key, scope, waiting }: Queue): void {
    if (waiting.size === 0) queues.delete(nameOf(key, scope))
    if (queues.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function wait(queue: Queue, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw aborted()
    const { waiting } = queue
    if (waiting.size >= FIXED_LIMITS.waitingSyncs.most) throw tooMany()
    queues.set(nameOf(queue.key, queue.scope), queue)
    timer ??= setInterval(() => queues.values().forEach(admit), checkMs)
    return new Promise((resolve, reject) => {
      const leave = () => {
        waiting.delete(pass)
        remove(queue)
        reject(aborted())
      }
      const pass = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      waiting.add(pass)
      signal.addEventListener('abort', leave, { once: true })
    })
  }

  return {
    /**
     * Counts one, at once or when it is its turn: requests of a key pass in their order, at the rate of
     * the counter, whatever those of other keys do. Throws `BUSY` when too many of the key wait, and
     * when the caller is gone.
     */
    enter({ key, scope, signal }: Turn): Promise<void> | undefined {
      const queue = queues.get(nameOf(key, scope))
      if (queue === undefined && !counter.spend(key, scope).isOver) return undefined
      return wait(queue ?? { key, scope, waiting: new Set() }, signal())
    },

    /** Takes one back, and lets the next one in. */
    refund(key: string, scope: string) {
      counter.refund(key, scope)
      const queue = queues.get(nameOf(key, scope))
      if (queue !== undefined) admit(queue)
    },
  }
}

function nameOf(key: string, scope: string): string {
  return `${scope} ${key}`
}

function tooMany(): SatchelError {
  const limit = mostOf(FIXED_LIMITS.waitingSyncs)
  const message = `Too many first syncs wait for their turn: the limit is ${limit}, try again in a minute`
  return new SatchelError('BUSY', message, { retryAfter: 60 })
}
