import { expect, test } from 'bun:test'
import { killPosts } from '../lab/kill-posts'

/**
 * Promise 6: a push is atomic; here one POST of 1,000 objects. The lab kills 200 times
 * (`bun run lab`); this is the same with a fixed seed, 8 times.
 */
test('promise 6: of a POST of 1,000 objects that kill -9 hits, all or nothing is visible, 8 times', async () => {
  const { nothing, everything, problems } = await killPosts(8, 6)
  expect(problems).toEqual([])
  expect(nothing + everything).toBe(16)
  // Some died before their commit, some after: the kills come in between.
  expect(nothing).toBeGreaterThan(0)
})
