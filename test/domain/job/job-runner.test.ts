import { describe, expect, test } from 'bun:test'
import { continueJob, startJob } from '../../../src/domain/job/job'
import { createJobRunner, type JobStep } from '../../../src/domain/job/job-runner'
import type { Database } from '../../../src/domain/store/store'
import { MAINTENANCE } from '../../../src/domain/object/maintenance'
import { REMOVAL_STEPS } from '../../../src/domain/user/removal'
import { createRests, type Rests } from '../../../src/domain/value/rests'
import { HOUR, setupStore } from '../../auth/setup'
import { declare, fresh, NOW } from '../../contract/fixture'
import type { Job } from '../../../src/domain/store/records'
import { until } from '../../timing'

/** Works off one job of three steps, and notes how long they took and what they rested, ms. */
async function workOff(database: Database, kind: Job['kind'], rests = createRests()) {
  const worked: number[] = []
  const rested: number[] = []
  const step: JobStep = async (_, { id }) => {
    const begun = performance.now()
    await Bun.sleep(1)
    worked.push(performance.now() - begun)
    return await continueJob(database, id, (_tx, job) => (worked.length === 3 ? undefined : job))
  }
  await database.write((tx) => startJob(tx, kind, {}, 0))
  const fail = (_job: Job, error: unknown) => {
    throw error
  }
  const watched: Rests = {
    ...rests,
    rest(ms) {
      rested.push(ms)
      return rests.rest(ms)
    },
  }
  return { runner: createJobRunner(database, { [kind]: step }, fail, watched), worked, rested }
}

test.each([
  ['erase', true],
  ['drop-index', true],
  ['leave', false],
  ['index', false],
] as const)('a job of the kind %s pauses as long as it works: %p', async (kind, isPausing) => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const { runner, worked, rested } = await workOff(database, kind)
  await using _ = runner
  await runner.idle()
  expect(rested).toHaveLength(isPausing ? 3 : 0)
  expect(rested.every((ms, step) => ms >= worked[step]!)).toBe(true)
  expect(await database.read((tx) => tx.jobs.list())).toEqual([])
})

test('a runner that ends does not wait for the rest, and the job goes on with the next', async () => {
  await using base = await setupStore()
  const database = await base.store.create('main')
  const rests = createRests()
  const endless: Rests = { ...rests, rest: () => rests.rest(HOUR) }
  const { runner, worked, rested } = await workOff(database, 'erase', endless)
  await until(() => rested.length === 1)
  await runner[Symbol.asyncDispose]()
  expect(worked).toHaveLength(1)
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
