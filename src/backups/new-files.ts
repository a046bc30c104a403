import { close, closeSync, fsync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { appendTo, promised, syncPath } from '../disk'
import type { Sink } from './target'

/** Small files of which the syncs wait for the disk together. */
const MOST_UNSYNCED = 64

/** New files and folders below a folder, which survive power loss when they are synced. Disposing closes them. */
export interface NewFiles extends Disposable {
  create(path: string): Promise<Sink>
  /** Makes the folder that the path is in. */
  makeRoom(path: string): void
  sync(): Promise<void>
}

export interface Makers {
  /** Makes a folder with its parents. */
  readonly make: (path: string) => void
  /** Creates a file that nobody has made, and returns its descriptor. */
  readonly create: (path: string) => number | Promise<number>
}

export function createNewFiles(root: string, { make, create }: Makers): NewFiles {
  const folders = new Set<string>()
  const open = new Set<number>()
  let unsynced: number[] = []

  function makeRoom(path: string): void {
    const folder = dirname(path)
    if (folders.has(folder)) return
    make(folder)
    for (let made = folder; made.length >= root.length; made = dirname(made)) folders.add(made)
  }

  async function syncFiles(): Promise<void> {
    const files = unsynced
    unsynced = []
    try {
      await Promise.all(files.map((file) => promised((done) => fsync(file, done))))
    } finally {
      await Promise.all(files.map((file) => promised((done) => close(file, done))))
    }
  }

  return {
    makeRoom,
    async create(path) {
      makeRoom(path)
      const file = await create(path)
      open.add(file)
      return {
        write: (bytes) => appendTo(file, bytes),
        async end() {
          open.delete(file)
          unsynced.push(file)
          if (unsynced.length >= MOST_UNSYNCED) await syncFiles()
        },
        discard: () => rm(path, { force: true }),
      }
    },
    async sync() {
      await syncFiles()
      for (const folder of [...folders].toSorted().toReversed()) await syncPath(folder)
    },
    [Symbol.dispose]() {
      for (const file of [...open, ...unsynced.splice(0)]) closeSync(file)
    },
  }
}
