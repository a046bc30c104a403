/** Lets so many callers in at a time, the others in their order. */
export interface Slots {
  /** Several callers are inside. */
  readonly isShared: boolean
  /** No caller is inside. */
  readonly isFree: boolean
  /** Gives the way to leave, to be called once: at once, or when it is the turn of the caller. */
  take(): Promise<() => void>
}

export function createSlots(most: number): Slots {
  const waiting: (() => void)[] = []
  let inside = 0
  const leave = () => {
    const next = waiting.shift()
    if (next === undefined) inside -= 1
    else next()
  }
  return {
    get isShared() {
      return inside > 1
    },
    get isFree() {
      return inside === 0
    },
    async take() {
      if (inside < most) inside += 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return leave
    },
  }
}
