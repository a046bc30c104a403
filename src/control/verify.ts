import { MANAGE } from '../domain/access/door'
import { verifyDatabase } from '../domain/rows/verification'
import { flag } from './fields'
import { onDatabase } from './operation'

export const verifyOperations = {
  /** Progress is in rows and entries. */
  verify: onDatabase(
    {
      scopes: MANAGE,
      effect: 'write',
      summary: 'Compare everything with its checksums',
      input: { accept: flag },
      asks: ({ accept }) => !accept,
    },
    async ({ database }, { accept: accepts }, { note, progress, signal }) => {
      await note()
      return await verifyDatabase(database, { accepts, progress, signal })
    },
  ),
}
