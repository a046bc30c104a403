/** Numbers that look random and are the same for the same seed. */
export interface Random {
  /** 0 ≤ x < 1 */
  next(): number
  /** A whole number, both ends included. */
  between(least: number, most: number): number
  pick<T>(choices: readonly T[]): T
}

/** The mulberry32 generator. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    pick(choices) {
      const choice = choices[between(0, choices.length - 1)]
      if (choice === undefined) throw new Error('there is nothing to pick from')
      return choice
    },
  }
}
