import { randomToken } from '../value/id'
import type { WriteTx } from '../store/store'
import type { Job } from '../store/records'

/** Short jobs that others wait for: they go before those that were put down earlier. */
export const URGENT: ReadonlySet<Job['kind']> = new Set(['leave', 'hand-over'])

/** Long jobs that nobody waits for: they rest as long as they work, and the disk with them. */
export const PATIENT: ReadonlySet<Job['kind']> = new Set(['erase', 'drop-index'])

/** Puts a job down in the unit that makes it necessary. `now` in ms. */
export async function startJob(
  tx: WriteTx,
  kind: Job['kind'],
  state: Job['state'],
  now: number,
  total: number | null = null,
): Promise<Job> {
  const id = `${kind}-${randomToken(9)}`
  const job: Job = { id, kind, state, done: 0, total, created: now, failure: null }
  await tx.jobs.put(job)
  return job
}
