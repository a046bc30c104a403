import {
  existsSync,
  lstatSync,
  readdirSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { readdir, rmdir, unlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Clock } from '../clock'
import { makeFolder, refuseForeignLink, syncPathNow } from '../disk'
import { emptyFile } from './empty'
import { isDatabaseName, requireDatabaseName } from '../domain/value/database-name'
import type { ServerAudit } from '../domain/store/audit'
import type { EngineFigures } from '../domain/store/meter'
import type { Store } from '../domain/store/store'
import type { DatabaseImage, TestStore } from '../domain/store/test-store'
import { SatchelError, quoted } from '../domain/value/error'
import { randomToken } from '../domain/value/id'
import { compactFile, removeDraft } from './compact'
import { type DatabaseOptions, openDatabase, type SqliteDatabase } from './database'
import { requireLog, requireOwnLog, requireSoundLog } from './log-file'
import { migrateApart } from './migration'
import { createPageCaches } from './page-caches'
import { keepPrivate, sizeOf } from './private-file'
import { openRegistry, renewIdentity } from './registry'

export interface SqliteStoreOptions extends Omit<DatabaseOptions, 'caches' | 'onClose'> {
  /** Called before the file of a database is migrated, with its version. */
  readonly onMigration?: (database: string, version: string) => void
  /** The clock of a database, if it is not `clock`. */
  readonly clockOf?: ((database: string) => Clock) | undefined
}

export interface SqliteStore extends Store, TestStore {
  /**
   * Makes a folder with a database, beside the others, that of a new database, with an identity of its own where
   * the original is here. Throws `CONFLICT` when the name is taken, and removes what cannot be opened.
   */
  install(name: string, draft: string): Promise<void>
  /** Throws `CONFLICT` when the name is taken, `UNPROCESSABLE` when it is no database name. */
  requireFree(name: string): void
  readonly serverAudit: ServerAudit
  /** The bytes of `server.sqlite`. */
  serverFile(): Uint8Array
  figures(): EngineFigures
}

/**
 * The databases below `<folder>/databases`, one folder each (design.md §2). The caller holds the
 * lock of the data folder.
 */
export function createSqliteStore(folder: string, options: SqliteStoreOptions): SqliteStore {
  const root = join(folder, 'databases')
  refuseForeignLink(root)
  const open = new Map<string, Promise<SqliteDatabase>>()
  /** Those of `open` that have opened. */
  const served = new Map<string, SqliteDatabase>()
  const caches = createPageCaches()
  const leaving = new Set<string>()
  /** Databases whose files were just written by this program: they need no migration. */
  const current = new Set<string>()
  const syncRoot = () => (options.durability === 'none' ? undefined : syncPathNow(root))
  const leftovers = createLeftovers(root, syncRoot, (name, error) => options.report?.(name, error))

  const folderOf = (name: string) => join(root, name)
  const fileOf = (name: string) => join(folderOf(name), 'database.sqlite')
  const has = (name: string) => isDatabaseName(name) && existsSync(fileOf(name))
  const registry = openRegistry(folder, options.durability, fileOf)

  function requireKnown(name: string): void {
    if (has(name) && !leaving.has(name)) return
    throw new SatchelError('UNKNOWN_DATABASE', `There is no database ${quoted(name)} here`)
  }

  function requireFree(name: string): void {
    requireDatabaseName(name)
    if (!existsSync(folderOf(name))) return
    throw new SatchelError('CONFLICT', `The database ${name} exists already`)
  }

  function opened(name: string): Promise<SqliteDatabase> {
    const found = open.get(name)
    if (found !== undefined) return found
    const opening = openNow(name)
    open.set(name, opening)
    opening.catch(() => {
      if (open.get(name) === opening) open.delete(name)
    })
    return opening
  }

  async function openNow(name: string): Promise<SqliteDatabase> {
    const file = fileOf(name)
    removeDraft(file)
    requireWhole(file, hadData(name))
    requireLog(file)
    requireOwnLog(file)
    const { durability, migrations, onMigration } = options
    if (durability === 'full') requireSoundLog(file)
    if (!current.delete(name)) {
      await migrateApart(file, durability, migrations, (version) => onMigration?.(name, version))
    }
    const onClose = () => {
      open.delete(name)
      served.delete(name)
    }
    const clock = options.clockOf?.(name) ?? options.clock
    const database = openDatabase(name, folderOf(name), { ...options, clock, caches, onClose })
    try {
      registry.claim(database.id, name)
    } catch (error) {
      await database[Symbol.asyncDispose]()
      throw error
    }
    served.set(name, database)
    return database
  }

  /** One that could not be opened has closed itself. */
  async function close(name: string): Promise<void> {
    const database = await open.get(name)?.catch(() => undefined)
    await database?.[Symbol.asyncDispose]()
  }

  function write(name: string, { bytes }: DatabaseImage): void {
    const file = fileOf(name)
    for (const log of [`${file}-wal`, `${file}-shm`]) if (existsSync(log)) rmSync(log)
    keepPrivate(file)
    // Over the old pages: a new file would cost as much again.
    writeFileSync(file, bytes, { flag: 'r+' })
    truncateSync(file, bytes.length)
    current.add(name)
    if (options.durability !== 'none') syncPathNow(file)
  }

  /** True when a database was served from this folder: its secret key is made after its first rows. */
  function hadData(name: string): boolean {
    return existsSync(join(folderOf(name), 'secret.key')) || registry.idIn(name) !== undefined
  }

  return {
    list: async () => (existsSync(root) ? readdirSync(root).filter(has).toSorted() : []),
    has: async (name) => has(name),
    async open(name) {
      requireKnown(name)
      return await opened(name)
    },
    async create(name) {
      requireDatabaseName(name)
      if (has(name)) throw new SatchelError('CONFLICT', `The database ${name} exists already`)
      if (existsSync(join(folderOf(name), 'secret.key'))) throw lost(fileOf(name), 'is missing')
      const isNew = !existsSync(folderOf(name))
      try {
        const database = await opened(name)
        // The files of a new folder are safe from power loss when the names on their path are.
        if (options.durability !== 'none') [folderOf(name), root, folder].forEach(syncPathNow)
        return database
      } catch (error) {
        await close(name)
        if (isNew && existsSync(folderOf(name))) await leftovers.discard(folderOf(name))
        throw error
      }
    },
    async adopt(name) {
      requireKnown(name)
      try {
        await opened(name)
      } catch (error) {
        if (!(error instanceof SatchelError) || error.code !== 'COPIED_DATABASE') throw error
        renewIdentity(fileOf(name))
        return
      }
      throw new SatchelError(
        'CONFLICT',
        `The database ${name} is not a copy of another database here: nothing was changed`,
      )
    },
    async remove(name) {
      requireKnown(name)
      leaving.add(name)
      try {
        await close(name)
        await leftovers.discard(folderOf(name))
        registry.forget(name)
      } finally {
        leaving.delete(name)
      }
    },
    async compact(name, progress) {
      requireKnown(name)
      // Its log is checked, and an older file migrated.
      await opened(name)
      await close(name)
      const compacted = await compactFile(fileOf(name), options.durability, progress)
      registry.compact()
      return compacted
    },
    requireFree,
    async install(name, draft) {
      requireFree(name)
      renameSync(draft, folderOf(name))
      syncRoot()
      try {
        await opened(name)
      } catch (error) {
        if (error instanceof SatchelError && error.code === 'COPIED_DATABASE') {
          renewIdentity(fileOf(name))
          return
        }
        await leftovers.discard(folderOf(name))
        throw error
      }
    },
    serverAudit: registry.audit,
    serverFile: () => registry.image(),
    figures: () => ({
      meter: options.meter,
      databases: [...served.values()].map((database) => database.figures()),
    }),
    async image(name) {
      requireKnown(name)
      return (await opened(name)).image()
    },
    async restore(name, image) {
      requireKnown(name)
      await close(name)
      write(name, image)
    },
    async fork(name, image) {
      requireFree(name)
      makeFolder(folderOf(name))
      write(name, image)
      renewIdentity(fileOf(name))
    },
    async empty(name) {
      requireKnown(name)
      await close(name)
      emptyFile(fileOf(name))
    },
    async [Symbol.asyncDispose]() {
      for (const name of Array.from(open.keys())) await close(name)
      caches[Symbol.dispose]()
      await leftovers[Symbol.asyncDispose]()
      registry[Symbol.dispose]()
    },
  }
}

/** No page of SQLite is smaller, in bytes. */
const SMALLEST_PAGE = 512

/**
 * Throws `STORAGE_FAILED` when the file has lost its content: SQLite would take a file without a page
 * for a new one, remove its log, and read what is missing of the last page as zeros. An empty file
 * that never had data is what a crash during `create` leaves.
 */
function requireWhole(file: string, hadData: boolean): void {
  const size = sizeOf(file)
  const log = sizeOf(`${file}-wal`)
  const isEmpty = size < SMALLEST_PAGE && (hadData || log > 0)
  // The last checkpoint may have been cut off as well; then its pages are still in the log.
  if (isEmpty || (size % SMALLEST_PAGE !== 0 && log === 0)) {
    throw lost(file, `was cut off at ${size} bytes`)
  }
}

function lost(file: string, fault: string): SatchelError {
  return new SatchelError(
    'STORAGE_FAILED',
    `${file} ${fault} and is not replaced by an empty database: put it back from a backup, or move its folder away`,
  )
}

/** Folders of databases that were removed, or not quite made. No database name begins like this. */
export const REMOVED = '.removed-'

/**
 * Removes folders below `root` file by file while others are served, and first of all what earlier
 * removals have left there. `moved` is called when a folder has lost its name. Disposing stops that; the next
 * start continues it.
 */
function createLeftovers(
  root: string,
  moved: () => void,
  report: (name: string, error: unknown) => void,
) {
  let isClosed = false
  const found = existsSync(root)
    ? readdirSync(root)
        .filter((name) => name.startsWith(REMOVED))
        .toSorted()
    : []
  const removing = removeFound()

  async function removeFound(): Promise<void> {
    for (const name of found) {
      const removal = removeFolder(join(root, name), () => !isClosed)
      await removal.catch((error: unknown) => report(name, error))
    }
  }

  return {
    /** From the first step on there is no such database; resolves when nothing of it is left. */
    async discard(folder: string): Promise<void> {
      const leftover = join(root, `${REMOVED}${basename(folder)}-${randomToken(6)}`)
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
  // A link would lead to a folder that is not ours.
  if (lstatSync(folder).isSymbolicLink()) return await unlink(folder)
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!goesOn()) return
    const path = join(folder, entry.name)
    await (entry.isDirectory() ? removeFolder(path, goesOn) : unlink(path))
  }
  if (goesOn()) await rmdir(folder)
}
