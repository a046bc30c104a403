import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { OldCopy } from '../domain/store/engine'
import { DAY } from '../domain/value/time'

/** Copies are removed after this time. */
export const OLD_COPIES_KEPT_MS = 30 * DAY

/** One that was interrupted has another end. */
const OLD_COPY = /^database\.sqlite\.before-/

/** The copies that upgrades have left beside the databases in `<folder>/databases`, the oldest first. */
export function listOldCopies(folder: string): readonly OldCopy[] {
  const root = join(folder, 'databases')
  return entriesOf(root)
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name: database }) =>
      entriesOf(join(root, database))
        .filter((entry) => entry.isFile() && OLD_COPY.test(entry.name))
        .flatMap(({ name }) => {
          const file = join(root, database, name)
          const stats = statSync(file, { throwIfNoEntry: false })
          if (stats === undefined) return []
          return [{ database, file, bytes: stats.size, made: Math.round(stats.mtimeMs) }]
        }),
    )
    .toSorted((one, other) => one.made - other.made)
}

/** Removes the copies that are too old at `now`, ms, and returns them. Throws errors of the file system. */
export function removeOldCopies(folder: string, now: number): readonly OldCopy[] {
  const old = listOldCopies(folder).filter(({ made }) => made < now - OLD_COPIES_KEPT_MS)
  for (const { file } of old) rmSync(file, { force: true })
  return old
}

/** None for a folder that is not there yet. */
function entriesOf(folder: string) {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    ? readdirSync(folder, { withFileTypes: true })
    : []
}
