import { expect, test } from 'bun:test'
import { createRandom } from './random'
import { compareTimes, drawTurns, MOST_T } from './welch'

/** `count` times around 1000, as noise makes them, with a few that are far off. */
function times(count: number, seed: number, more = 0): Float64Array {
  const random = createRandom(seed)
  return Float64Array.from({ length: count }, () => {
    const noise = random.next() + random.next() + random.next()
    return 1000 + more + noise * 100 + (random.next() < 0.02 ? 50_000 * random.next() : 0)
  })
}

test('two series of the same times are not told apart', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { t } = compareTimes(times(5_000, seed), times(5_000, seed + 100))
    expect(Math.abs(t)).toBeLessThan(MOST_T)
  }
})

test('turns are drawn, as many for either side', () => {
  const turns = drawTurns(1_000, createRandom(1))
  expect(turns).toHaveLength(2_000)
  expect(turns.reduce((sum, turn) => sum + turn, 0)).toBe(1_000)
  expect(turns).not.toEqual(drawTurns(1_000, createRandom(2)))
  expect(turns).toEqual(drawTurns(1_000, createRandom(1)))
})

test('two that differ by a hundredth are', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const { t, difference } = compareTimes(times(5_000, seed), times(5_000, seed + 100, 10))
    expect(t).toBeGreaterThan(MOST_T)
    expect(difference).toBeWithin(5, 15)
  }
})

test('the statistic is that of Welch', () => {
  // Means 3 and 6, variances 3.5 and 11.5: 3 / √((3.5 + 11.5) / 5).
  const one = Float64Array.of(5, 1, 4, 4, 1)
  expect(compareTimes(one, one)).toEqual({ t: 0, difference: 0 })
  const { t, difference } = compareTimes(one, Float64Array.of(2, 3, 7, 8, 10))
  expect(difference).toBeCloseTo(3, 10)
  expect(t).toBeCloseTo(Math.sqrt(3), 10)
})
