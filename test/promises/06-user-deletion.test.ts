import { expect, test } from 'bun:test'
import { killDeletions } from '../lab/kill-deletions'

/**
 * Promise 6 for what one request sets going: the deletion of a user is resumed until nothing is
 * left, each realm at once. The lab deletes users with 100,000 objects (`bun run lab`); this is
 * the same with a fixed seed and 1,000.
 */
test('promise 6: the deletion of a user that kill -9 hits goes on, each realm all or nothing', async () => {
  const { kills, problems } = await killDeletions(3, 6, 1_000)
  expect(problems).toEqual([])
  expect(kills).toBe(6)
})
