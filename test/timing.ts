const PATIENCE_MS = 50_000
const LONGEST_PAUSE_MS = 50

/**
 * Resolves soon after the condition holds. It looks less and less often, so that looking does not keep
 * the machine from getting there.
 * @throws Error after `patience` ms: this is enough for most on a machine that is busy with
 * other things.
 */
export async function until(
  isTrue: () => boolean | Promise<boolean>,
  patience = PATIENCE_MS,
): Promise<void> {
  const deadline = performance.now() + patience
  for (let pause = 2; !(await isTrue()); pause = Math.min(pause * 1.5, LONGEST_PAUSE_MS)) {
    if (performance.now() > deadline) throw new Error(`Still not true: ${String(isTrue)}`)
    await Bun.sleep(pause)
  }
}

/**
 * Lets everything in this process go on that waits for nothing outside of it. Turns of the event loop
 * are counted and not time, which passes without them on a busy machine.
 */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await Bun.sleep(1)
}

/**
 * The shortest time of several runs, in ms. Compare it only with another one of the same test: a
 * number that holds on one machine fails on the next.
 */
export async function shortestTime(runs: number, work: () => unknown): Promise<number> {
  let shortest = Infinity
  for (let run = 0; run < runs; run += 1) {
    const begun = performance.now()
    await work()
    shortest = Math.min(shortest, performance.now() - begun)
  }
  return shortest
}

/** Counts the turns of the event loop until it is disposed. */
export function countTurns(): Disposable & { readonly turns: number } {
  const counter = { turns: 0, isOver: false }
  const count = () => {
    if (counter.isOver) return
    counter.turns += 1
    setImmediate(count)
  }
  setImmediate(count)
  return {
    get turns() {
      return counter.turns
    },
    [Symbol.dispose]() {
      counter.isOver = true
    },
  }
}
