import { expect } from 'bun:test'
import * as fc from 'fast-check'
import { castOf } from './acts'
import { histories, play } from './history'
import { type ModelServer, setupModelServer } from './server'

/**
 * The histories of each of the files `model-*.test.ts`, which run side by side. More with
 * SATCHEL_RUNS=100000, others with SATCHEL_SEED.
 */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 500)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)
/** Histories in one database. */
const SHARED = 100

export const TITLE =
  'clients converge, see what they may see and respect cause and effect in any history'

/** The limit of a part, ms: a failure takes long to be made smaller. */
export const PATIENCE_MS = 60_000 + RUNS * 1_000

/** Plays the histories of a part; parts differ in their seeds. */
export async function expectHistories(part: number): Promise<void> {
  let server: (ModelServer & AsyncDisposable) | undefined
  let played = 0
  const renew = async () => {
    await server?.[Symbol.asyncDispose]()
    server = await setupModelServer()
    return server
  }
  try {
    await fc.assert(
      fc.asyncProperty(histories, async (steps) => {
        if (server === undefined || played % SHARED === 0) server = await renew()
        played += 1
        expect(await play(server, castOf(played), steps)).toEqual([])
      }),
      { numRuns: RUNS, seed: SEED + part - 1 },
    )
  } finally {
    await server?.[Symbol.asyncDispose]()
  }
}
