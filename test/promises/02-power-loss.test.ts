import { describe, expect, test } from 'bun:test'
import { canLoadLayer } from '../lab/layer'
import { losePower, losePowerOfUploads } from '../lab/power-loss'

/**
 * Promise 2: with `--durability full` an acknowledged write survives power loss. A layer between the
 * executable and the kernel forgets what was not synced. It needs gcc, and file systems are taken to
 * keep the names of databases they were asked to make.
 */
describe('promise 2: when the disk forgets what was not synced', () => {
  test.skipIf(!canLoadLayer())(
    'no acknowledged write is lost with --durability full (needs gcc)',
    async () => {
      const report = await losePower(6, 2, 'full')
      expect(report).toMatchObject({ lost: [], broken: [] })
      expect(report.acknowledged).toBeGreaterThanOrEqual(60)
      expect(report.forgotten).toBeGreaterThan(0)
    },
  )

  test.skipIf(!canLoadLayer())(
    'with --durability relaxed writes may be lost, but the database is whole (needs gcc)',
    async () => {
      const report = await losePower(6, 3, 'relaxed')
      expect(report.broken).toEqual([])
      // Or the layer forgets nothing.
      expect(report.lost.length).toBeGreaterThan(0)
    },
  )

  for (const [order, seed] of [
    ['kept', 5],
    ['none', 6],
  ] as const) {
    test.skipIf(!canLoadLayer())(
      `every acknowledged blob is whole, ${order === 'kept' ? 'and no file is left over' : 'for any names that are lost'} (needs gcc)`,
      async () => {
        const { problems, acknowledged, broken, forgotten } = await losePowerOfUploads(
          6,
          seed,
          'full',
          order,
        )
        expect(problems).toEqual([])
        expect(acknowledged).toBeGreaterThanOrEqual(6)
        expect(broken).toBeGreaterThan(4)
        // Or the layer sees nothing.
        expect(forgotten.bytes).toBeGreaterThan(0)
        expect(forgotten.names).toBeGreaterThan(0)
      },
    )
  }

  test.skipIf(!canLoadLayer())(
    'with --durability relaxed blobs may be lost, but those that are there are whole (needs gcc)',
    async () => {
      const { problems, lost } = await losePowerOfUploads(5, 7, 'relaxed', 'kept')
      expect(problems).toEqual([])
      expect(lost).toBeGreaterThan(0)
    },
  )
})
