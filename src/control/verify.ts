import { verifyDatabase } from '../domain/rows/verification'
import { flag, onDatabase } from './operation'

export const verifyOperations = {
  /** Progress is in rows and entries. */
  verify: onDatabase({ accept: flag }, ({ database }, { accept: accepts }, { progress, signal }) =>
    verifyDatabase(database, { accepts, progress, signal }),
  ),
}
