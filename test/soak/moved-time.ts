import type { Clock } from '../../src/clock'
import { MINUTE } from '../../src/domain/value/time'

/** A clock that is moved, and the long intervals of this process, which follow it. */
export interface MovedTime extends Clock {
  /** Moves the clock and calls the intervals that are due, each once, as in a process that was suspended. */
  advance(ms: number): void
}

interface Interval {
  readonly ms: number
  readonly work: () => void
  due: number
}

/** Shorter intervals are about the machine: sockets, descriptors, slow bodies. */
const SHORTEST_MS = MINUTE

/**
 * Replaces `setInterval` and `clearInterval` of this process: from now on intervals of a minute and more are
 * called by `advance` alone.
 */
export function moveTime(start: number): MovedTime {
  let now = start
  const moved = new Map<object, Interval>()
  const { setInterval: setReal, clearInterval: clearReal } = globalThis

  function setMoved(work: () => void, ms: number): object {
    const handle = { ref: () => handle, unref: () => handle, hasRef: () => false }
    moved.set(handle, { ms, work, due: now + ms })
    return handle
  }

  globalThis.setInterval = ((work: () => void, ms = 0) =>
    ms < SHORTEST_MS ? setReal(work, ms) : setMoved(work, ms)) as typeof setInterval
  globalThis.clearInterval = ((handle: object) => {
    if (!moved.delete(handle)) clearReal(handle as Timer)
  }) as typeof clearInterval

  return {
    now: () => now,
    advance(ms) {
      now += ms
      for (const interval of moved.values()) {
        if (interval.due > now) continue
        interval.due = now + interval.ms
        interval.work()
      }
    },
  }
}
