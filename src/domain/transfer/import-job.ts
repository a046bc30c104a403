import type { Job } from '../job'
import type { JobStep } from '../job-runner'
import type { WriteTx } from '../store'
import { applyEntries } from './application'
import { type Spool, openSpool, removeSpool } from './spool'

/** The step of the jobs that imports are, for the runner of a database. */
export const IMPORT_STEPS: Readonly<Partial<Record<Job['kind'], JobStep>>> = {
  import: continueImport,
}

/** How long a unit takes on more entries, ms: other writers wait for little more than that. */
const UNIT_MS = 2

/**
 * Applies some entries and moves the job on in the same unit, so that whatever ends the process,
 * each entry is applied once. `done` of the job is the offset in its spool.
 */
async function continueImport(...[database, job]: Parameters<JobStep>): ReturnType<JobStep> {
  const name = String(job.state['spool'])
  if (job.done === job.total) {
    await removeSpool(database, name)
    return 'done'
  }
  using spool = openSpool(database, name)
  await database.write(async (tx) => {
    const end = performance.now() + UNIT_MS
    const done = await applySpool(tx, spool, job.done, job.created, () => performance.now() < end)
    await tx.jobs.put({ ...job, done })
  })
  return 'more'
}

/**
 * Applies the entries of a spool from an offset on while `goesOn` says so; resolves to the offset
 * it has come to. `now` in ms.
 */
export async function applySpool(
  tx: WriteTx,
  spool: Spool,
  from: number,
  now: number,
  goesOn: (offset: number) => boolean,
): Promise<number> {
  let offset = from
  while (offset < spool.size) {
    const { entries, next } = spool.read(offset)
    await applyEntries(tx, entries, now)
    offset = next
    if (!goesOn(offset)) break
    await tx.breathe()
  }
  return offset
}
