import { SatchelError } from '../value/error'
import { continueJob, PAUSING_KINDS, URGENT } from './job'
import type { Database } from '../store/store'
import { createRests } from '../value/rests'
import { nextTurn } from '../value/turn'
import type { Job } from '../store/records'

/**
 * One short step of a job, which may have moved on since it was read: steps work on the job that
 * `continueJob` reads. Resolves to 'done' once the job is removed.
 */
export type JobStep = (database: Database, job: Job) => Promise<'more' | 'done'>

export type JobRunner = ReturnType<typeof createJobRunner>

/** Temporary errors: the job waits and repeats the step. */
const PASSING: ReadonlySet<string> = new Set(['BUSY', 'STORAGE_FULL', 'READ_ONLY'])
const PAUSE = 1_000

/**
 * Runs the jobs of a database in the order they were started, urgent ones first: those a crash left
 * behind, and new ones as they come, while this process has the duty `jobs`. A step that fails for
 * good ends its job with the reason.
 */
export function createJobRunner(
  database: Database,
  steps: Readonly<Partial<Record<Job['kind'], JobStep>>>,
  report: (job: Job, error: unknown) => void,
  rests = createRests(),
) {
  let isStopped = false
  let isAwake = false
  let working = Promise.resolve()

  const duty = database.duty('jobs', wake)
  const mayWork = () => duty.isMine && !isStopped

  function wake(): void {
    if (isAwake || !mayWork()) return
    isAwake = true
    working = working.then(work).finally(() => {
      isAwake = false
    })
  }

  async function work(): Promise<void> {
    for (let job = await next(); job !== undefined && mayWork(); job = await next()) {
      await run(job)
      await nextTurn()
    }
  }

  async function next(): Promise<Job | undefined> {
    const jobs = await database.read((tx) => tx.jobs.list())
    return jobs
      .filter(({ kind, failure }) => failure === null && steps[kind] !== undefined)
      .toSorted(
        (one, other) =>
          Number(URGENT.has(other.kind)) - Number(URGENT.has(one.kind)) ||
          one.created - other.created ||
          (one.id < other.id ? -1 : 1),
      )[0]
  }

  async function run(job: Job): Promise<void> {
    const begun = performance.now()
    try {
      await steps[job.kind]?.(database, job)
      if (PAUSING_KINDS.has(job.kind)) await rests.rest(performance.now() - begun)
    } catch (error) {
      report(job, error)
      if (error instanceof SatchelError && PASSING.has(error.code)) {
        await rests.rest(PAUSE)
        return
      }
      const failure = error instanceof SatchelError ? error.message : 'It failed; see the log'
      await storeFailure(job, failure)
    }
  }

  /** A job whose failure cannot be stored stays unchanged and is retried at the next start. */
  async function storeFailure(job: Job, failure: string): Promise<void> {
    try {
      await continueJob(database, job.id, (_, current) => ({ ...current, failure }))
    } catch (error) {
      report(job, error)
      isStopped = true
    }
  }

  const unsubscribe = database.onCommit(({ jobs }) => {
    if (jobs) wake()
  })
  wake()
  return {
    /** Resolves when no job is left that can continue. */
    async idle(): Promise<void> {
      await working
      while (isAwake) await working
    },
    async [Symbol.asyncDispose]() {
      isStopped = true
      unsubscribe()
      rests[Symbol.dispose]()
      await working
      await duty[Symbol.asyncDispose]()
    },
  }
}
