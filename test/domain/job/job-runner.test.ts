import { expect, test } from 'bun:test'
import { startJob } from '../../../src/domain/job/job'
import { createJobRunner, type JobStep } from '../../../src/domain/job/job-runner'
import type { Database } from '../../../src/domain/store/store'
import { setupStore } from '../../auth/setup'
import type { Job } from '../../../src/domain/store/records'

const STEP_MS = 40

/** Works off one job of three steps, each of which takes a while. */
async function workOff(database: Database, kind: Job['kind']) {
  let left = 3
  let worked = 0
  const step: JobStep = async () => {
    const begun = performance.now()
    await Bun.sleep(STEP_MS)
    worked += performance.now() - begun
    left -= 1
    return left === 0 ? 'done' : 'more'
  }
  await database.write((tx) => startJob(tx, kind, {}, 0))
  const begun = performance.now()
  const runner = createJobRunner(database, { [kind]: step }, (_job, error) => {
    throw error
  })
  return { runner, begun, left: () => left, worked: () => worked }
}

test('a job that nobody waits for rests as long as it works, others do not', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  /** How long a job rests for each ms that it works. */
  const restOf = async (kind: Job['kind']) => {
    const { runner, begun, worked } = await workOff(database, kind)
    await runner.idle()
    const rested = performance.now() - begun - worked()
    const share = rested / worked()
    await runner[Symbol.asyncDispose]()
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
    return share
  }
  // Timers may be a millisecond early.
  expect(await restOf('erase')).toBeGreaterThan(0.9)
  expect(await restOf('drop-index')).toBeGreaterThan(0.9)
  const shortest = Math.min(await restOf('leave'), await restOf('index'), await restOf('leave'))
  expect(shortest).toBeLessThan(0.9)
})

test('a runner that ends does not wait for the rest, and the job goes on with the next', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const { runner, left } = await workOff(database, 'erase')
  while (left() === 3) await Bun.sleep(1)
  await runner[Symbol.asyncDispose]()
  expect(left()).toBeGreaterThan(0)
  expect(await database.read((tx) => tx.jobs.list())).toHaveLength(1)
})
