import type { Scratch } from '../store/scratch'
import type { Database } from '../store/store'
import type { Job } from '../store/records'

/**
 * Removes the temporary files of imports that ended before they became a job, or with one that failed,
 * as far as they were created before `before` (ms).
 */
export async function removeStrayScratch(
  database: Database,
  scratch: Scratch,
  before: number,
): Promise<void> {
  const jobs = await database.read((tx) => tx.jobs.list())
  const used = new Set(jobs.flatMap((job) => (job.failure === null ? namesIn(job) : [])))
  await scratch.sweep(before, (name) => used.has(name))
}

function namesIn({ state }: Job): unknown[] {
  return [state['spool'], state['archive']]
}
