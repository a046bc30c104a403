import { parseStored } from '../value/value'
import type { ReadTx } from '../store/store'
import { type ExportPiece, type Selection, isPart } from './export-head'
import { blobsIn, mentionsBlobs } from '../value/blob'

/** Which blobs belong to an export: all of them, or those that the objects of a part reference. */
export interface BlobCensus {
  /** To be shown everything that is exported. */
  add(piece: ExportPiece): void
  has(id: string): boolean
  /** How many there are in the database; what is referenced may have been collected. */
  count(tx: ReadTx): Promise<number>
}

export function createBlobCensus(selection: Selection): BlobCensus {
  if (!isPart(selection)) {
    return {
      add() {},
      has: () => true,
      count: async (tx) => (await tx.blobs.usage(null)).blobs,
    }
  }
  const ids = new Set<string>()
  return {
    add({ values }) {
      for (const value of values.filter(mentionsBlobs)) {
        for (const id of blobsIn(parseStored(value))) ids.add(id)
      }
    },
    has: (id) => ids.has(id),
    async count(tx) {
      let count = 0
      for (const id of ids) if ((await tx.blobs.find(id)) !== undefined) count += 1
      return count
    },
  }
}
