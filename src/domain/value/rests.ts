/** Pauses of something that works in the background. Disposing ends those under way, and all later ones at once. */
export type Rests = ReturnType<typeof createRests>

/** `Promise.race` with the end of the work would remember each pause until then. */
export function createRests() {
  const resting = new Set<() => void>()
  let isOver = false
  return {
    /** Resolves after so many ms, or when the work ends. */
    rest(ms: number): Promise<void> {
      if (isOver) return Promise.resolve()
      const { promise, resolve } = Promise.withResolvers<void>()
      function end(): void {
        clearTimeout(timer)
        resting.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      resting.add(end)
      return promise
    },
    [Symbol.dispose]() {
      isOver = true
      for (const end of resting) end()
    },
  }
}
