/** Resolves in a later turn of the event loop, so that others get theirs. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}

/** The shared part of a turn of the event loop ends for newcomers after this long, ms. */
const SHARE_MS = 4

/** When the shared part of this turn began; undefined while nobody has asked for it. */
let begun: number | undefined
const waiting: (() => void)[] = []

/**
 * For long work of which much may be under way at once, before each slice of it: at once while there is
 * time left in this turn of the event loop, else in a later turn, one caller in each. However many
 * there are, all of them together take little more of a turn than one slice.
 */
export function sharedTurn(): Promise<void> | undefined {
  if (begun === undefined) begin()
  else if (waiting.length > 0 || performance.now() - begun >= SHARE_MS) {
    return new Promise((resolve) => waiting.push(resolve))
  }
  return undefined
}

function begin(): void {
  begun = performance.now()
  setImmediate(turn)
}

function turn(): void {
  begun = undefined
  const next = waiting.shift()
  if (next === undefined) return
  begin()
  next()
}
