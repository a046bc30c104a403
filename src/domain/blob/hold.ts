import type { BlobStore } from '../store/blob-store'

/** A blob store whose files can be kept for a while although the database needs them no more. */
export interface HoldableBlobs extends BlobStore {
  /** From now until it is disposed no file is removed; then those that were to be are. */
  hold(): Disposable
}

type IsUsed = (file: string) => Promise<boolean>

/**
 * The store that `open` opens, for which all files are used while they are held, and otherwise those of which `isUsed`
 * says so. `report` is called with errors of removals that were put off.
 */
export async function openHoldable(
  open: (isUsed: IsUsed) => Promise<BlobStore>,
  isUsed: IsUsed,
  report: (error: unknown) => void,
): Promise<HoldableBlobs> {
  let holders = 0
  const putOff = new Set<string>()
  const blobs = await open(async (file) => {
    if (holders === 0) return isUsed(file)
    putOff.add(file)
    return true
  })

  async function removePutOff(): Promise<void> {
    for (const file of putOff) {
      if (holders > 0) return
      putOff.delete(file)
      await blobs.remove(file)
    }
  }

  return {
    ...blobs,
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
