import { close } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { appendTo, promised, syncDescriptor, syncPathSoon } from '../disk'
import type { Sink } from './target'

/** New files and folders below a folder, which survive power loss when they are synced. Disposing closes them. */
export interface NewFiles extends AsyncDisposable {
  create(path: string): Promise<Sink>
  /** Makes the folder that the path is in. */
  makeRoom(path: string): Promise<void>
  sync(): Promise<void>
}

export interface Makers {
  /** Makes a folder with its parents. */
  readonly make: (path: string) => unknown
  /** Creates a file that nobody has made, and returns its descriptor. */
  readonly create: (path: string) => number | Promise<number>
  /** Files of which the syncs wait for the disk together: each of them holds up a thread that others wait for. */
  readonly syncsAtOnce: number
}

/** Commits on the same disk wait for the bytes that are synced together. */
const SYNC_BYTES = 4 * 1024 * 1024

export function createNewFiles(root: string, { make, create, syncsAtOnce }: Makers): NewFiles {
  const folders = new Set<string>()
  const open = new Set<number>()
  let unsynced: number[] = []

  async function makeRoom(path: string): Promise<void> {
    const folder = dirname(path)
    if (folders.has(folder)) return
    await make(folder)
    for (let made = folder; made.length >= root.length; made = dirname(made)) folders.add(made)
  }

  async function syncFiles(): Promise<void> {
    const files = unsynced
    unsynced = []
    try {
      await Promise.all(files.map(syncDescriptor))
    } finally {
      for (const file of files) await closeSoon(file)
    }
  }

  return {
    makeRoom,
    async create(path) {
      await makeRoom(path)
      const file = await create(path)
      open.add(file)
      let written = 0
      return {
        async write(bytes) {
          await appendTo(file, bytes)
          written += bytes.length
          if (written < SYNC_BYTES) return
          written = 0
          await syncDescriptor(file)
        },
        async end() {
          open.delete(file)
          unsynced.push(file)
          if (unsynced.length >= syncsAtOnce) await syncFiles()
        },
        discard: () => rm(path, { force: true }),
      }
    },
    async sync() {
      await syncFiles()
      for (const folder of [...folders].toSorted().toReversed()) await syncPathSoon(folder)
    },
    async [Symbol.asyncDispose]() {
      for (const file of [...open, ...unsynced.splice(0)]) await closeSoon(file)
    },
  }
}

function closeSoon(file: number): Promise<void> {
  return promised((done) => close(file, done))
}
