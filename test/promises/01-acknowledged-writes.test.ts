import { expect, test } from 'bun:test'
import { killWriters } from '../lab/kill-writers'

/**
 * Promise 1: an acknowledged write survives kill -9. The lab kills 200 times (`bun run lab`); this
 * is the same with a fixed seed, 8 times.
 */
test('promise 1: no acknowledged write is lost by kill -9 under 8 to 64 writers, 8 times', async () => {
  const { rounds, acknowledged, problems } = await killWriters(8, 1)
  expect(problems).toEqual([])
  expect(rounds).toBe(8)
  expect(acknowledged).toBeGreaterThanOrEqual(80)
})
