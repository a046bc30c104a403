import { createJobRunner } from '../../src/domain/job/job-runner'
import { MAINTENANCE } from '../../src/domain/object/maintenance'
import type { Database } from '../../src/domain/store/store'

/** Lets the storage erase what deleted realms have left. */
export async function eraseLeftovers(database: Database): Promise<void> {
  await using jobs = createJobRunner(database, MAINTENANCE, (_job, error) => {
    throw error
  })
  await jobs.idle()
}
