import { constants } from 'node:fs'
import { link, readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import {
  createFileSoon,
  diskError,
  findStats,
  hasErrno,
  makeFolderSoon,
  readPieces,
  syncPathSoon,
} from '../disk'
import { MANIFEST } from '../domain/backup/manifest'
import { SatchelError } from '../domain/value/error'
import { createNewFiles } from './new-files'
import {
  type BackupReader,
  compareBackups,
  type Draft,
  requireName,
  requirePath,
  type Target,
  type TargetFile,
  timeOfBackup,
} from './target'

const PARTIAL = '.partial'
const READ_BYTES = 256 * 1024

export interface FolderOptions {
  /** As in `Makers`: 1, unless it says otherwise. */
  readonly syncsAtOnce?: number
}

/**
 * Backups in a folder, a folder for each. A file that two of them have is one file with two names, so that each of
 * them is whole, and any can be removed. The disk may hang: nothing here holds up this thread, nor more of the threads
 * for files than `syncsAtOnce`. Throws `STORAGE_FULL` and `READ_ONLY`.
 */
export function openFolderTarget(given: string, options: FolderOptions = {}): Target {
  const root = resolve(given)
  const explained = <T>(work: () => Promise<T>) => explainedAt(root, work)
  const folderOf = (backup: string) => join(root, requireName(backup))
  const warnings: string[] = []

  async function prepare(): Promise<void> {
    await makeFolderSoon(root)
    const { mode } = await stat(root)
    if ((mode & 0o077) !== 0 && warnings.length === 0) {
      warnings.push(
        `Other users of this machine may enter ${root}: a backup holds all data and keys, so close it with chmod 700, unless its file system has no modes`,
      )
    }
  }

  return {
    ...readerOf(folderOf),
    name: root,
    warnings,
    canShare: true,
    takesKeys: true,
    prepare: () => explained(prepare),
    list: () =>
      explained(async () => {
        const found: string[] = []
        for (const name of await namesIn(root)) {
          if (isBackup(name) && (await isFile(join(root, name, MANIFEST)))) found.push(name)
        }
        return found.toSorted(compareBackups)
      }),
    begin: (backup) =>
      explained(async () => {
        await prepare()
        return createDraft(root, folderOf(backup), options, explained)
      }),
    remove: (backup) =>
      explained(async () => {
        // Nothing without a manifest is a backup, however far the removal gets.
        await rm(join(folderOf(backup), MANIFEST), { force: true })
        await rm(folderOf(backup), { recursive: true, force: true })
      }),
    clean: () =>
      explained(async () => {
        for (const name of await namesIn(root)) {
          const isPartial = name.endsWith(PARTIAL) && isBackup(name.slice(0, -PARTIAL.length))
          const isRemoved = isBackup(name) && !(await isFile(join(root, name, MANIFEST)))
          if (isPartial || isRemoved) await rm(join(root, name), { recursive: true, force: true })
        }
      }),
  }
}

function readerOf(folderOf: (backup: string) => string): BackupReader {
  const fileOf = (backup: string, path: string) => join(folderOf(backup), requirePath(path))
  return {
    files: (backup) => filesBelow(folderOf(backup), ''),
    fileOf,
    read: (backup, path) => readFrom(fileOf(backup, path), path),
  }
}

function createDraft(
  root: string,
  folder: string,
  { syncsAtOnce = 1 }: FolderOptions,
  explained: <T>(work: () => Promise<T>) => Promise<T>,
): Draft {
  const partial = `${folder}${PARTIAL}`
  const files = createNewFiles(partial, {
    make: makeFolderSoon,
    create: createFileSoon,
    syncsAtOnce,
  })
  let isFinished = false
  const placeOf = (path: string) => join(partial, requirePath(path))

  return {
    create: (path) =>
      explained(async () => {
        const sink = await files.create(placeOf(path))
        return {
          write: (bytes) => explained(() => sink.write(bytes)),
          end: () => explained(() => sink.end()),
          discard: () => sink.discard(),
        }
      }),
    reuse: (backup, path) =>
      explained(async () => {
        const [source, place] = [join(root, requireName(backup), requirePath(path)), placeOf(path)]
        if (!(await isFile(source))) return false
        await files.makeRoom(place)
        try {
          await link(source, place)
        } catch (error) {
          // A file system without hard links, or with no more for this file.
          if (!hasErrno(error, 'EPERM', 'ENOTSUP', 'EMLINK', 'ENOSYS', 'EXDEV')) throw error
          const sink = await files.create(place)
          for await (const piece of readPieces(source, { atOnce: READ_BYTES })) {
            await sink.write(piece)
          }
          await sink.end()
        }
        return true
      }),
    sync: () =>
      explained(async () => {
        await files.sync()
        return readerOf(() => partial)
      }),
    finish: (manifest) =>
      explained(async () => {
        const sink = await files.create(join(partial, MANIFEST))
        await sink.write(Buffer.from(manifest))
        await sink.end()
        await files.sync()
        await rename(partial, folder)
        isFinished = true
        await syncPathSoon(root)
      }),
    async [Symbol.asyncDispose]() {
      await files[Symbol.asyncDispose]()
      if (isFinished) return
      await rm(partial, { recursive: true, force: true }).catch(() => undefined)
    },
  }
}

async function* filesBelow(folder: string, path: string): AsyncGenerator<TargetFile> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const below = path === '' ? entry.name : `${path}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(join(folder, entry.name), below)
    else {
      const stats = entry.isFile() ? await findStats(join(folder, entry.name)) : undefined
      yield { path: below, size: stats?.size ?? null }
    }
  }
}

async function* readFrom(file: string, path: string): AsyncGenerator<Uint8Array> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW
  try {
    yield* readPieces(file, { atOnce: READ_BYTES, flags })
  } catch (error) {
    throw new SatchelError('DAMAGED', `${path} is missing from the backup, or cannot be read`, {
      cause: error,
    })
  }
}

async function explainedAt<T>(root: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskError(error, {
      STORAGE_FULL: `The disk of ${root} is full: free some space, or remove old backups with satchel backup prune`,
      READ_ONLY: `${root} cannot be written: make it writable for this user, or name another folder`,
      STORAGE_FAILED: `${root} cannot be used as a folder of backups`,
    })
  }
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (hasErrno(error, 'ENOENT')) return []
    throw error
  }
}

async function isFile(path: string): Promise<boolean> {
  return (await findStats(path))?.isFile() === true
}

function isBackup(name: string): boolean {
  return timeOfBackup(name) !== undefined
}
