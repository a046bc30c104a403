import { describe, expect, test } from 'bun:test'
import { continueJob, startJob } from '../../../src/domain/job/job'
import { createJobRunner, type JobStep } from '../../../src/domain/job/job-runner'
import type { Database } from '../../../src/domain/store/store'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import { REMOVAL_STEPS } from '../../../src/domain/user/removal'
import { setupStore } from '../../auth/setup'
import { declare, fresh, NOW } from '../../contract/fixture'
import type { Job } from '../../../src/domain/store/records'

const STEP_MS = 40

/** Works off one job of three steps, each of which takes a while. */
async function workOff(database: Database, kind: Job['kind']) {
  let left = 3
  let worked = 0
  const step: JobStep = async (_, { id }) => {
    const begun = performance.now()
    await Bun.sleep(STEP_MS)
    worked += performance.now() - begun
    left -= 1
    return await continueJob(database, id, (_tx, job) => (left === 0 ? undefined : job))
  }
  await database.write((tx) => startJob(tx, kind, {}, 0))
  const begun = performance.now()
  const runner = createJobRunner(database, { [kind]: step }, (_job, error) => {
    throw error
  })
  return { runner, begun, left: () => left, worked: () => worked }
}

test('a background job pauses as long as it works, others do not', async () => {
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
  // A busy machine lets each of them wait at times.
  for (const kind of ['leave', 'index'] as const) while ((await restOf(kind)) >= 0.9);
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

describe('a step that read its job before another step finished it', () => {
  test('does not bring an index job back', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const stale = await database.write((tx) => {
      const table = declare(tx, 'things', '@id, title')
      const keys = Array.from({ length: 1_200 }, (_, n) => `k${n}`)
      tx.objects.put(
        table,
        keys.map((key) => fresh(key)),
        NOW,
      )
      const index = table.indexes[0]!.number
      return startJob(tx, 'index', { table: 'things', index, after: 0 }, NOW, 1_200)
    })
    await finish(database, MAINTENANCE)
    await MAINTENANCE.index?.(database, stale)
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  })

  test('does not bring a hand-over back', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const stale = await database.write((tx) => {
      const { ref: realm } = tx.realms.ensure('rlm-a')
      for (let n = 0; n < 120; n += 1) {
        tx.memberships.put({
          source: `members:m${n}`,
          realm,
          userId: `user${n}`,
          email: null,
          accepted: true,
          rejected: false,
          permissions: {},
          roles: [],
        })
      }
      return startJob(tx, 'hand-over', { realm, after: '', isLooking: false }, NOW)
    })
    await finish(database, REMOVAL_STEPS)
    await REMOVAL_STEPS['hand-over']?.(database, stale)
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  })

  test('does not bring it back as a failed one', async () => {
    await using base = await setupStore()
    const database = await base.store.create('main')
    const step: JobStep = async (_, { id }) => {
      await database.write((tx) => tx.jobs.remove(id))
      throw new Error('expected')
    }
    await database.write((tx) => startJob(tx, 'erase', {}, NOW))
    await using runner = createJobRunner(database, { erase: step }, () => undefined)
    await runner.idle()
    expect(await database.read((tx) => tx.jobs.list())).toEqual([])
  })
})

type Steps = Readonly<Partial<Record<Job['kind'], JobStep>>>

async function finish(database: Database, steps: Steps): Promise<void> {
  await using runner = createJobRunner(database, steps, (_job, error) => {
    throw error
  })
  await runner.idle()
}

test('a runner without the duty waits for it, and then works off what is there', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  await using first = createJobRunner(database, {}, () => undefined)
  const worked: string[] = []
  const step: JobStep = (_, { id }) => {
    worked.push(id)
    return continueJob(database, id, () => undefined)
  }
  await using second = createJobRunner(database, { leave: step }, () => undefined)
  const { id } = await database.write((tx) => startJob(tx, 'leave', {}, NOW))
  await second.idle()
  expect(worked).toEqual([])
  await first[Symbol.asyncDispose]()
  await second.idle()
  expect(worked).toEqual([id])
})
