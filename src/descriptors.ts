import { closeSync, openSync, readFileSync } from 'node:fs'
import { nextDescriptor } from './disk'

/** Descriptors that new connections leave to files, outgoing calls and commands. */
const RESERVED_DESCRIPTORS = 32
/** How often to look, ms: accepting fails in a busy loop until the socket that listens is closed. */
const LOOK_EVERY_MS = 100

export interface DescriptorHooks {
  /** No more connections can be accepted; `limit` is that of this process, if known. */
  readonly exhausted: (limit: number | undefined) => void
  /** There are descriptors again. */
  readonly available: () => void
}

/** Watches how many file descriptors this process may still open, until disposed. */
export function watchDescriptors(
  { exhausted, available }: DescriptorHooks,
  limit = descriptorLimit(),
): Disposable {
  const reserve =
    limit === undefined
      ? RESERVED_DESCRIPTORS
      : Math.min(RESERVED_DESCRIPTORS, Math.floor(limit / 8))
  let isExhausted = false

  function look(): void {
    if (isExhausted) {
      if (!canOpen(2 * reserve)) return
      isExhausted = false
      available()
    } else if (isNearlyFull(limit, reserve)) {
      isExhausted = true
      exhausted(limit)
    }
  }

  const timer = setInterval(look, LOOK_EVERY_MS)
  timer.unref()
  return { [Symbol.dispose]: () => clearInterval(timer) }
}

/** A new descriptor has the lowest free number, so a high number means that all below it are in use. */
function isNearlyFull(limit: number | undefined, reserve: number): boolean {
  const lowest = nextDescriptor()
  return lowest === undefined || (limit !== undefined && lowest >= limit - reserve)
}

/** True when this many descriptors are free. */
function canOpen(count: number): boolean {
  using opened = new DisposableStack()
  try {
    for (let n = 0; n < count; n += 1) opened.adopt(openSync('/dev/null', 'r'), closeSync)
    return true
  } catch {
    return false
  }
}

/** The highest number of descriptors of this process, where the system tells it. */
function descriptorLimit(): number | undefined {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? undefined : Number(soft)
  } catch {
    return undefined
  }
}
