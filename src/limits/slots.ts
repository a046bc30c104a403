export type Slots = ReturnType<typeof createSlots>

/** Lets so many callers in at a time, the others in their order. */
export function createSlots(most: number) {
  const waiting: (() => void)[] = []
  let inside = 0
  const leave = () => {
    const next = waiting.shift()
    if (next === undefined) inside -= 1
    else next()
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
    /** Gives the way to leave, to be called once: at once, or when it is the turn of the caller. */
    async take(): Promise<() => void> {
      if (inside < most) inside += 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return leave
    },
  }
}
