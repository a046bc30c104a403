import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { castOf } from './acts'
import { setupExecutableServer } from './executable'
import { histories, play } from './history'

/** More with SATCHEL_RUNS=50, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 3)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

test(
  'clients of an executable that is killed converge, and each change is stored once',
  async () => {
    await using server = await setupExecutableServer()
    let played = 0
    const kills = histories.filter((steps) => steps.some(({ kind }) => kind === 'kill'))
    await fc.assert(
      fc.asyncProperty(kills, async (steps) => {
        played += 1
        expect(await play(server, castOf(played), steps)).toEqual([])
      }),
      { numRuns: RUNS, seed: SEED, endOnFailure: true },
    )
  },
  60_000 + RUNS * 10_000,
)
