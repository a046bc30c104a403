/** The pace of a copy of a database beside its commits. */
export type Pace = ReturnType<typeof createPace>

/** A copy slows down while commits take this many times their usual time. */
const SLOW_COMMIT_FACTOR = 2
const FIRST_PAUSE_MS = 2
const LONGEST_PAUSE_MS = 250
/** The part of a commit in the usual time. */
const WEIGHT = 1 / 32

/**
 * Doubles the pauses of a copy while commits are slow, and halves them when they are not: the disk tells how
 * much it can do besides.
 */
export function createPace() {
  let usual: number | undefined
  let copies = 0
  let recent = { total: 0, commits: 0 }
  let pause = 0

  return {
    /** Called with the time that each commit took, ms. */
    committed(ms: number): void {
      recent.total += ms
      recent.commits += 1
      if (copies === 0 || usual === undefined) usual = (usual ?? ms) * (1 - WEIGHT) + ms * WEIGHT
    },
    /** From now until it is disposed a copy is under way, whose commits do not count as usual. */
    begin(): Disposable {
      copies += 1
      recent = { total: 0, commits: 0 }
      return { [Symbol.dispose]: () => void (copies -= 1) }
    },
    /** The time to pause before the next piece of a copy, ms. */
    pause(): number {
      const { total, commits } = recent
      const isSlow =
        commits > 0 && usual !== undefined && total / commits > SLOW_COMMIT_FACTOR * usual
      recent = { total: 0, commits: 0 }
      pause = isSlow ? Math.min(LONGEST_PAUSE_MS, Math.max(FIRST_PAUSE_MS, 2 * pause)) : pause / 2
      if (pause < 1) pause = 0
      return pause
    },
  }
}
