import { constants, copyFileSync, existsSync, linkSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { openSecretKey } from '../auth/key/secret-key'
import { openDiskBlobs } from '../blobs/disk/disk'
import { createDiskScratch } from '../blobs/disk/scratch'
import type { Clock } from '../clock'
import { diskError, makeFolder } from '../disk'
import type { Engine } from '../domain/store/engine'
import { Meter } from '../domain/store/meter'
import { randomToken } from '../domain/value/id'
import { sweepScratch } from '../domain/transfer/spool'
import { SatchelError } from '../domain/value/error'
import { HOUR } from '../domain/value/time'
import { serverLog } from '../log/log'
import type { Durability } from '../sqlite/durability'
import { listOldCopies, removeOldCopies } from '../sqlite/old-copies'
import {
  createSqliteStore,
  REMOVED,
  type SqliteStore,
  type SqliteStoreOptions,
} from '../sqlite/store'
import { diskMessages } from './folder'

export interface FolderEngineOptions {
  readonly durability: Durability
  /** Seals the secrets of all databases; null: each has a key of its own. */
  readonly secretKey: Uint8Array | null
  /** The time of the engine, and that of each database. */
  readonly clock: Clock
  readonly clockOf: (database: string) => Clock
}

/**
 * SQLite, blobs, temporary files and secret keys below one folder, a folder for each database. The caller
 * holds the lock of it: whatever is unfinished there is of an earlier process, however young it is. Throws
 * `STORAGE_FULL`.
 */
export function openFolderEngine(
  path: string,
  { durability, secretKey, clock, clockOf }: FolderEngineOptions,
): Engine {
  const store = openStore(path, {
    clock,
    clockOf,
    durability,
    meter: new Meter(),
    report: (database, error) => serverLog.error('The storage engine failed', { database, error }),
    onMigration: (database, version) =>
      serverLog.info('A database of an earlier version is copied and migrated', {
        database,
        version,
      }),
  })
  const isDurable = durability !== 'none'
  const folderOf = (database: string) => join(path, 'databases', database)
  const sweeping = setInterval(() => sweepOldCopies(path, clock.now()), HOUR).unref()
  return {
    store,
    tests: {
      ...store,
      async fork(name, image, source) {
        await store.fork(name, image, source)
        copyFiles(folderOf(source), folderOf(name))
      },
    },
    openBlobs: ({ name }, isUsed) =>
      explained(path, () => {
        const report = (error: unknown) =>
          serverLog.error('The blob store failed', { database: name, error })
        return openDiskBlobs(join(folderOf(name), 'blobs'), { isDurable, isUsed, report })
      }),
    openScratch: (database) =>
      explained(path, async () => {
        const { name } = database
        const scratch = createDiskScratch(join(folderOf(name), 'imports'), clockOf(name))
        await sweepScratch(database, scratch, Number.POSITIVE_INFINITY)
        return scratch
      }),
    secretKey: (database) =>
      explained(path, () => openSecretKey(database, folderOf(database.name), secretKey, isDurable)),
    hasKeyFiles: secretKey === null,
    restore: (name, frames, revokesLogins) =>
      explained(path, async () => {
        store.requireFree(name)
        // Not imported at the top, to keep the start of a server fast.
        const { restoreInto } = await import('./restore')
        // The next start removes it, however far it gets.
        const draft = folderOf(`${REMOVED}restoring-${randomToken(6)}`)
        const options = { secretKey, revokesLogins, clock }
        const erasedUsers = await restoreInto(draft, frames, options)
        try {
          await store.install(name, draft)
          return erasedUsers
        } finally {
          rmSync(draft, { recursive: true, force: true })
        }
      }),
    oldCopies: () => listOldCopies(path),
    serverAudit: store.serverAudit,
    serverFile: () => store.serverFile(),
    figures: () => store.figures(),
    async [Symbol.asyncDispose]() {
      clearInterval(sweeping)
      await store[Symbol.asyncDispose]()
    },
  }
}

/** Never throws. */
function sweepOldCopies(path: string, now: number): void {
  try {
    for (const { database, file } of removeOldCopies(path, now))
      serverLog.info('The copy from before an upgrade was removed after 30 days', {
        database,
        file,
      })
  } catch (error) {
    serverLog.error('Copies from before an upgrade could not be removed', { error })
  }
}

function openStore(path: string, options: SqliteStoreOptions): SqliteStore {
  try {
    return createSqliteStore(path, options)
  } catch (error) {
    const isFull = error instanceof SatchelError && error.code === 'STORAGE_FULL'
    if (!isFull) throw error
    throw new SatchelError('STORAGE_FULL', diskMessages(path).STORAGE_FULL, { cause: error })
  }
}

async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw diskError(error, diskMessages(path))
  }
}

/** Blobs never change, so that two databases may share their files. */
function copyFiles(source: string, target: string): void {
  const key = join(source, 'secret.key')
  if (existsSync(key)) copyFileSync(key, join(target, 'secret.key'), constants.COPYFILE_EXCL)
  const [from, to] = [join(source, 'blobs'), join(target, 'blobs')]
  if (!existsSync(from)) return
  makeFolder(to)
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (entry.isFile()) linkSync(join(from, entry.name), join(to, entry.name))
  }
}
