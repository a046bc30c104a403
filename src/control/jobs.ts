import { cancelImport } from '../domain/transfer/import-job'
import { onDatabase, text } from './operation'

export const jobOperations = {
  /** Oldest first. `done` and `total` count bytes, objects or blobs, depending on the kind. */
  'job.list': onDatabase({}, async ({ database }) => {
    const jobs = await database.read((tx) => tx.jobs.list())
    return jobs
      .toSorted((one, other) => one.created - other.created)
      .map(({ id, kind, done, total, created, failure }) => {
        return { id, kind, done, total, created, failure }
      })
  }),

  'job.cancel': onDatabase({ id: text }, async ({ database, scratch }, { id }) => {
    const { done, total, failure } = await cancelImport({ database, scratch }, id)
    return { id, done, total, hadStopped: failure !== null }
  }),
}
