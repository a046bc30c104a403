import { IMPORT, READ } from '../domain/access/door'
import { cancelImport } from '../domain/transfer/import-job'
import { progressOfImport } from '../domain/transfer/import-progress'
import { text } from './fields'
import { onDatabase } from './operation'

export const jobOperations = {
  /**
   * Oldest first. `done` and `total` count bytes, objects or blobs, depending on the kind; an import
   * has a `place` in its file too.
   */
  'job.list': onDatabase(
    { scopes: READ, effect: 'read', summary: 'List the jobs', input: {} },
    async ({ database }) => {
      const jobs = await database.read((tx) => tx.jobs.list())
      return jobs
        .toSorted((one, other) => one.created - other.created)
        .map((job) => {
          const { id, kind, done, total, created, failure } = job
          return { id, kind, done, total, created, failure, place: progressOfImport(job) }
        })
    },
  ),

  'job.cancel': onDatabase(
    { scopes: IMPORT, effect: 'destroy', summary: 'Cancel an import', input: { id: text } },
    async ({ transfer }, { id }, { write }) => {
      const { done, total, failure } = await cancelImport(transfer, id, write)
      return { id, done, total, hadStopped: failure !== null }
    },
  ),
}
