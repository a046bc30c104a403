import type { BlobStore } from '../store/blob-store'

/** A blob store whose bytes can be kept for a while although the database needs them no more. */
export interface HoldableBlobs extends BlobStore {
  /** From now until it is disposed nothing is removed; then what was to be is. */
  hold(): Disposable
}

/** `report` is called with errors of removals that were put off. */
export function holdable(blobs: BlobStore, report: (error: unknown) => void): HoldableBlobs {
  let holders = 0
  const putOff = new Set<string>()

  async function removePutOff(): Promise<void> {
    for (const file of putOff) {
      if (holders > 0) return
      putOff.delete(file)
      await blobs.remove(file)
    }
  }

  return {
    ...blobs,
    async remove(file) {
      if (holders === 0) await blobs.remove(file)
      else putOff.add(file)
    },
    hold() {
      holders += 1
      return {
        [Symbol.dispose]() {
          holders -= 1
          removePutOff().catch(report)
        },
      }
    },
  }
}
