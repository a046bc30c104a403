import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { castOf } from './acts'
import { histories, play } from './history'
import { type ModelServer, setupModelServer } from './server'

/** More with SATCHEL_RUNS=100000, others with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 1_000)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)
/** Histories in one database. */
const SHARED = 100

test(
  'clients converge, see what they may see and respect cause and effect in any history',
  async () => {
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
        { numRuns: RUNS, seed: SEED },
      )
    } finally {
      await server?.[Symbol.asyncDispose]()
    }
  },
  // A failure takes long to be made smaller.
  60_000 + RUNS * 1_000,
)
