import { expect, test } from 'bun:test'
import { damagePages } from '../lab/damage'

/**
 * Promise 3: damage is found and named. The lab damages 500 pages (`bun run lab`); this is the same with
 * a fixed seed, 40 times.
 */
test('promise 3: a damaged page is refused, answered with an error, named or of no consequence, 40 times', async () => {
  const { problems, ...ends } = await damagePages(40, 3)
  expect(problems).toEqual([])
  expect(Object.values(ends).reduce((sum, count) => sum + count)).toBe(40)
  // Each end is reached.
  for (const count of Object.values(ends)) expect(count).toBeGreaterThan(0)
}, 180_000)
