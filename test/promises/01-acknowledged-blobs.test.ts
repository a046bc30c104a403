import { expect, test } from 'bun:test'
import { killUploads } from '../lab/kill-uploads'

/**
 * Promise 1 for blobs: the lab kills 200 times (`bun run lab`); this is the same with a fixed seed,
 * 8 times.
 */
test('promise 1: kill -9 under uploads loses no acknowledged blob and leaves no file, 8 times', async () => {
  const { rounds, acknowledged, broken, problems } = await killUploads(8, 4)
  expect(problems).toEqual([])
  expect(rounds).toBe(8)
  expect(acknowledged).toBeGreaterThanOrEqual(8)
  expect(broken).toBeGreaterThanOrEqual(8)
})
