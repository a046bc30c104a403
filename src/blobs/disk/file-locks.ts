/**
 * A lock for each file, in the memory of the process that owns the folder.
 * `removeUnused` looks whether a file is used and removes it if not: no upload of the same bytes runs meanwhile.
 * `report` is told of errors that no caller waits for.
 */
export function createFileLocks(
  removeUnused: (file: string) => Promise<void>,
  report: (error: unknown) => void,
) {
  const uploads = new Map<string, { count: number; isDoubted: boolean }>()
  const removals = new Map<string, Promise<void>>()

  async function remove(file: string): Promise<void> {
    const upload = uploads.get(file)
    if (upload !== undefined) {
      upload.isDoubted = true
      return
    }
    // An earlier look may have found a record that is gone now.
    const removal = Promise.allSettled([removals.get(file)]).then(() => removeUnused(file))
    removals.set(file, removal)
    try {
      await removal
    } finally {
      if (removals.get(file) === removal) removals.delete(file)
    }
  }

  return {
    /**
     * Runs `work`, which stores and records the file, and throws its errors. Uploads of the same bytes run beside each
     * other; after the last of them the file is removed unless it is used, if one failed or a removal was asked for.
     */
    async keep<T>(file: string, work: () => Promise<T>): Promise<T> {
      while (removals.has(file)) await Promise.allSettled([removals.get(file)])
      const upload = uploads.get(file) ?? { count: 0, isDoubted: false }
      uploads.set(file, upload)
      upload.count += 1
      try {
        return await work()
      } catch (error) {
        upload.isDoubted = true
        throw error
      } finally {
        upload.count -= 1
        if (upload.count === 0) {
          uploads.delete(file)
          if (upload.isDoubted) await remove(file).catch(report)
        }
      }
    },
    /** Removes the file unless it is used; while uploads of the same bytes are under way, the last of them does that. */
    remove,
    /** True while an upload is about to record this file. */
    isKept: (file: string): boolean => uploads.has(file),
  }
}
