import { SatchelError } from '../domain/value/error'
import { type Call, segment } from './call'

/** Requests that arrive while the server stops (promises.md 45). */
export interface Late {
  /** How many of them have no answer yet. */
  readonly count: number
  /** Counts a request until it is answered. */
  during(answered: Promise<Response>): Promise<Response>
  /** Refuses a call, or lets it wait for the end of this process; undefined for the questions of supervisors. */
  answer(call: Call): Promise<Response> | undefined
}

/**
 * The published add-on repeats a request whose connection was cut half a second later, when the next process may listen
 * already; a 503 would end its first sync, or delay the next one by 20 s (protocol.md §4). So its requests wait.
 */
const WAITING: ReadonlySet<string> = new Set(['sync', 'changes', 'token', 'blob'])

export function createLate(): Late {
  let count = 0
  return {
    get count() {
      return count
    },
    during(answered) {
      count += 1
      return answered.finally(() => (count -= 1))
    },
    answer(call) {
      if (call.path === '/health' || call.path === '/ready') return undefined
      return WAITING.has(segment(call, 1)) ? untilGone(call) : Promise.reject(isStopping())
    },
  }
}

/** Rejects when the caller has gone; else the end of this process cuts the connection. */
function untilGone({ sent: { signal } }: Call): Promise<Response> {
  const { promise, reject } = Promise.withResolvers<Response>()
  signal.addEventListener('abort', () => reject(isStopping()), { once: true })
  return promise
}

function isStopping(): SatchelError {
  return new SatchelError('BUSY', 'The server is stopping: repeat the request', { retryAfter: 1 })
}
