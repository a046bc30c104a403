import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { histories, play } from './history'

/** More with SATCHEL_RUNS=100000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 100)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

test('clients have the rows that they may see after any history', async () => {
  await fc.assert(
    fc.asyncProperty(histories, async (steps) => {
      expect(await play(steps)).toEqual([])
    }),
    { numRuns: RUNS, seed: SEED },
  )
})
