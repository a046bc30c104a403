import { createJobRunner } from '../../src/domain/job-runner'
import { MAINTENANCE } from '../../src/domain/maintenance'
import type { Database } from '../../src/domain/store'

/** Lets the storage erase what deleted realms have left. */
export async function eraseLeftovers(database: Database): Promise<void> {
  await using jobs = createJobRunner(database, MAINTENANCE, (_job, error) => {
    throw error
  })
  await jobs.idle()
}
