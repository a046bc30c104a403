/** The one source of time. Everything that needs the time is handed a `Clock` (design.md §2). */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
