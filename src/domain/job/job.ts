import { randomToken } from '../value/id'
import type { Database, WriteTx } from '../store/store'
import type { Job } from '../store/records'

/** Short jobs that requests wait for: they run before jobs that were started earlier. */
export const URGENT: ReadonlySet<Job['kind']> = new Set(['leave', 'hand-over'])

/**
 * Long jobs in the background: they pause as long as they work, so that the disk is free half of
 * the time.
 */
export const PAUSING_KINDS: ReadonlySet<Job['kind']> = new Set(['erase', 'drop-index'])

/** Starts a job in the unit that makes it necessary. `now` in ms. */
export function startJob(
  tx: WriteTx,
  kind: Job['kind'],
  state: Job['state'],
  now: number,
  total: number | null = null,
): Job {
  const id = `${kind}-${randomToken(9)}`
  const job: Job = { id, kind, state, done: 0, total, created: now, failure: null }
  tx.jobs.put(job)
  return job
}

/**
 * One unit of a job. `work` gets the job as it is stored and returns it as it is to be stored (the
 * same one to leave it as it is), or undefined when it is finished: then it is removed. Resolves to
 * 'done' when the job is gone, has failed, or was finished before the unit began.
 */
export function continueJob(
  database: Database,
  id: string,
  work: (tx: WriteTx, job: Job) => Job | undefined,
): Promise<'more' | 'done'> {
  return database.write((tx) => {
    const job = tx.jobs.find(id)
    if (job === undefined || job.failure !== null) return 'done'
    const next = work(tx, job)
    if (next === undefined) tx.jobs.remove(id)
    else if (next !== job) tx.jobs.put(next)
    return next === undefined ? 'done' : 'more'
  })
}
