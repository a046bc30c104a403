import { SatchelError } from '../value/error'
import type { Database } from '../store/store'
import { nextTurn } from '../value/turn'
import type { Job } from '../store/records'

/** A database that closes announces nothing, so it is polled at this interval, ms. */
const PATIENCE = 1_000

/** Jobs whose end is awaited: each is looked at once, however many callers wait for it. */
const awaited = new WeakMap<Database, Map<string, Awaited>>()

interface Awaited {
  readonly ended: Promise<void>
  readonly watchers: ((job: Job) => void)[]
}

/**
 * Resolves when a stored job has ended; `watch` is called with its progress. The job runner
 * executes it. Throws `INTERNAL` with the reason when it stopped for good, and `BUSY` when
 * the database closes before that. All who wait for a job see the same end, even when one of them
 * removes the job that has stopped.
 */
export function untilJobEnds(
  database: Database,
  id: string,
  watch: (job: Job) => void,
): Promise<void> {
  const jobs = awaited.get(database) ?? new Map<string, Awaited>()
  awaited.set(database, jobs)
  const known = jobs.get(id)
  if (known !== undefined) {
    known.watchers.push(watch)
    return known.ended
  }
  const watchers = [watch]
  const ended = followJob(database, id, (job) => {
    for (const each of watchers) each(job)
  }).finally(() => jobs.delete(id))
  jobs.set(id, { ended, watchers })
  return ended
}

async function followJob(database: Database, id: string, watch: (job: Job) => void): Promise<void> {
  let hasMoved = Promise.withResolvers<void>()
  const unsubscribe = database.onCommit(({ jobs }) => {
    if (jobs) hasMoved.resolve()
  })
  try {
    for (;;) {
      const job = await database.read((tx) => tx.jobs.find(id))
      if (job === undefined) return
      if (job.failure !== null) {
        throw new SatchelError('INTERNAL', `Work in the background stopped: ${job.failure}`)
      }
      watch(job)
      const timer = setTimeout(hasMoved.resolve, PATIENCE)
      await hasMoved.promise
      clearTimeout(timer)
      hasMoved = Promise.withResolvers()
      // Not during the commit that announced it.
      await nextTurn()
    }
  } finally {
    unsubscribe()
  }
}
