import { expect, test } from 'bun:test'
import * as fc from 'fast-check'
import { satchelJson } from '../binary/setup'
import { castOf, personAt } from '../sync/model/acts'
import { setupExecutableServer } from '../sync/model/executable'
import { histories, play } from '../sync/model/history'
import { openModelDevice } from './addon/model-device'

/** promises.md 46: the published add-on takes part in random histories. */

/** Longer with SATCHEL_RUNS=20, another with SATCHEL_SEED. */
const RUNS = Number(process.env['SATCHEL_RUNS'] ?? 2)
const SEED = Number(process.env['SATCHEL_SEED'] ?? 20300101)

const [alice, bob, carol] = ['alice', 'bob', 'carol'].map((name) => personAt(name, 'demo.local'))

test(
  'two add-ons and two simulated clients of an executable that is killed converge',
  async () => {
    await using server = await setupExecutableServer()
    const { surroundings, main } = server
    const people = [alice!, bob!, carol!] as const
    const demoUsers = Object.fromEntries(people.map(({ id }) => [id, {}]))
    await Bun.write(`${surroundings.cwd}/demo.json`, JSON.stringify({ demoUsers }))
    await satchelJson(['import', 'demo.json'], surroundings)
    await using laptop = await openModelDevice(main, alice!, true)
    await using tablet = await openModelDevice(main, bob!, false)
    const guests = new Map([
      ['laptop', laptop],
      ['tablet', tablet],
    ])
    const steps = fc.sample(histories, { numRuns: RUNS, seed: SEED }).flat()
    expect(await play(server, castOf(1, people), steps, guests)).toEqual([])
  },
  60_000 + RUNS * 30_000,
)
