import { existsSync, readdirSync, renameSync } from 'node:fs'
import { readdir, rmdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { randomToken } from '../domain/value/id'

/** Folders of databases that were removed, or not quite made. No database name begins like this. */
const PREFIX = '.removed-'

/** What is left of databases. Disposing ends the removal of what was found; the next start goes on with it. */
export interface Leftovers extends AsyncDisposable {
  /** From the first step on there is no such database; resolves when nothing of it is left. */
  discard(folder: string): Promise<void>
}

/**
 * Removes folders below `root` file by file while others are served, and first of all what earlier
 * removals have left there. `moved` is called when a folder has lost its name.
 */
export function createLeftovers(
  root: string,
  moved: () => void,
  report: (name: string, error: unknown) => void,
): Leftovers {
  let isClosed = false
  const found = existsSync(root) ? readdirSync(root).filter((name) => name.startsWith(PREFIX)) : []
  const removing = removeFound()

  async function removeFound(): Promise<void> {
    for (const name of found) {
      const removal = removeFolder(join(root, name), () => !isClosed)
      await removal.catch((error: unknown) => report(name, error))
    }
  }

  return {
    async discard(folder) {
      const leftover = join(root, `${PREFIX}${basename(folder)}-${randomToken(6)}`)
      renameSync(folder, leftover)
      moved()
      await removeFolder(leftover)
    },
    async [Symbol.asyncDispose]() {
      isClosed = true
      await removing
    },
  }
}

/** A file at a time: there may be millions, and the disk is for others too. */
async function removeFolder(folder: string, goesOn = () => true): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!goesOn()) return
    const path = join(folder, entry.name)
    await (entry.isDirectory() ? removeFolder(path, goesOn) : unlink(path))
  }
  if (goesOn()) await rmdir(folder)
}
