import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import process from 'node:process'
import { openSecretKey } from '../auth/key/secret-key'
import { createDiskBlobs } from '../blobs/disk/disk'
import { createDiskScratch } from '../blobs/disk/scratch'
import type { Clock } from '../clock'
import type { Config } from '../config/config'
import { diskError, hasErrno, isPrivateFolder, isWritable, makeFolder } from '../disk'
import type { BlobLimits } from '../domain/blob/limits'
import type { OffloadRule } from '../domain/blob/offload-rule'
import { SatchelError } from '../domain/value/error'
import { PART_LIMITS, type PartLimits } from '../domain/transfer/entry'
import { sweepScratch } from '../domain/transfer/spool'
import { serverLog } from '../log/log'
import type { Message } from '../mail/message'
import type { ServerMail } from '../mail/mailer'
import { isLoopback } from '../net/networks'
import { createOutbound } from '../net/outbound'
import { lockFolder } from '../sqlite/lock'
import { createSqliteStore, type SqliteStore, type SqliteStoreOptions } from '../sqlite/store'
import { createDeletions, type Deletions } from './deletions'
import { createAnnouncement, removeHolder, thisProcess } from './holder'
import { type HostContext, openHost, reportBlobs, type TestDoubles } from './host'
import { createHosts, type Hosts } from './hosts'
import type { Testing } from './test-mode'

/** A data folder that this process has locked: until it is disposed no other process opens it (design.md §2). */
export interface DataFolder extends AsyncDisposable {
  readonly path: string
  readonly clock: Clock
  readonly hosts: Hosts
  /** Present in test mode. */
  readonly testing: Testing | undefined
  readonly deletions: Deletions
  /** The mail settings of the server. */
  readonly mail: ServerMail
  /** The limits of each part of an imported file. */
  readonly importLimits: PartLimits
  /** Which values of objects become blobs, for databases without a rule of their own. */
  readonly offloadRule: OffloadRule
  /** The blob limits of databases without limits of their own. */
  readonly blobLimits: BlobLimits
  /** Where this process serves the database, or null while no server runs. */
  url(database: string): string | null
  /** The public address of a database without one of its own, or null while it is unknown. */
  addressOf(database: string): string | null
  /** Called by a server once it listens at `url`, `http://127.0.0.1:7080`. */
  servedAt(url: string): void
  /** Called when the server has started and answers commands with this token at the socket with this path. */
  answersAt(address: string, token: string): void
}

/** The treatment of mails while no mail server is configured (design.md §2 Development). */
export interface MailPrinter {
  /** Mails are printed without a setting. */
  isDevelopment(): boolean
  print(message: Message): void
}

/**
 * Locks the data folder of `config`, which is created if it does not exist, or returns undefined when
 * another process holds it. A server gives a `printer`, a command none: without one, queued mails are
 * not sent. `testing` is present in test mode. Throws `READ_ONLY` or `STORAGE_FULL` when the folder cannot be used.
 */
export async function takeDataFolder(
  config: Config,
  clock: Clock,
  printer?: MailPrinter,
  testing?: Testing,
): Promise<DataFolder | undefined> {
  await using stack = new AsyncDisposableStack()
  const created = config.memory ? undefined : createFolder(config.data)
  const path = config.memory ? stack.use(createMemoryFolder()).path : config.data
  if (created !== undefined) stack.defer(() => removeEmpty(path, created))
  const lock = lockFolder(path)
  if (lock === undefined) return undefined
  stack.use(lock)
  stack.defer(() => clearUnused(path, created !== undefined))
  stack.defer(() => removeHolder(path))
  const announcement = stack.use(createAnnouncement(path, (error) => cannotUse(path, error)))
  announcement.put(thisProcess())
  const store = stack.use(
    openStore(path, {
      clock,
      clockOf: testing?.clockOf,
      durability: config.memory ? 'none' : config.durability,
      report: (database, error) =>
        serverLog.error('The storage engine failed', { database, error }),
      onMigration: (database, version) =>
        serverLog.info('A database of an earlier version is copied and migrated', {
          database,
          version,
        }),
    }),
  )
  let served: string | null = null
  let isStarting = printer !== undefined
  const base = () => config.publicUrl ?? (isLoopback(config.host) ? served : null)
  const context = {
    ...createContext(path, config, clock, printer, base, testing),
    isStarting: () => isStarting,
  }
  const hosts = stack.use(
    createHosts({
      store,
      open: async (database) => {
        try {
          return await openHost(database, context)
        } catch (error) {
          throw diskError(error, messagesFor(path))
        }
      },
    }),
  )
  testing?.opened(hosts, {
    ...store,
    async fork(name, image, source) {
      await store.fork(name, image, source)
      copyFiles(join(path, 'databases', source), join(path, 'databases', name))
    },
  })
  const deletions = stack.use(createDeletions(hosts, clock))
  const owned = stack.move()
  return {
    path,
    clock,
    hosts,
    testing,
    deletions,
    mail: context.mail,
    addressOf: (database) => context.addressOf(database),
    importLimits: importLimits(config),
    offloadRule: config.offloadBeyond,
    blobLimits: blobLimits(config),
    url: (database) => addressBelow(served, database),
    servedAt(url) {
      served = url
    },
    answersAt(address, token) {
      isStarting = false
      announcement.put({ ...thisProcess(), address, token })
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

function openStore(path: string, options: SqliteStoreOptions): SqliteStore {
  try {
    return createSqliteStore(path, options)
  } catch (error) {
    const isFull = error instanceof SatchelError && error.code === 'STORAGE_FULL'
    if (!isFull) throw error
    throw new SatchelError('STORAGE_FULL', messagesFor(path).STORAGE_FULL, { cause: error })
  }
}

/** The options for opening the databases of a folder; each has a folder of its own. */
function createContext(
  path: string,
  config: Config,
  clock: Clock,
  printer: MailPrinter | undefined,
  base: () => string | null,
  doubles: TestDoubles | undefined,
): Omit<HostContext, 'isStarting'> {
  const { maxExpiresIn, maxNotBefore, maxClockSkew } = config
  const { allowPrivateAddresses, test, printMails } = config
  // A developer's login provider is on the same machine.
  const isLoopbackAllowed = () =>
    test || (allowPrivateAddresses === null && (printer?.isDevelopment() ?? false))
  const call = createOutbound({ allowed: allowPrivateAddresses, isLoopbackAllowed })
  const folderOf = (database: string) => join(path, 'databases', database)
  const clockOf = (database: string) => doubles?.clockOf(database) ?? clock
  return {
    clock,
    doubles,
    tokenLimits: { maxExpiresIn, maxNotBefore, maxClockSkew },
    call,
    mail: {
      address: config.smtpUrl ?? config.mailHook,
      sender: config.mailFrom,
      hookSecret: config.mailHookSecret,
      call,
      isPrinting: () => printer !== undefined && (printMails || printer.isDevelopment()),
      print: (message) => printer?.print(message),
    },
    isSending: printer !== undefined,
    secretKey: (database) =>
      openSecretKey(database, folderOf(database.name), config.secretKey, !config.memory),
    async openBlobs(database) {
      const report = (error: unknown) => reportBlobs(database.name, error)
      const isDurable = !config.memory
      const folder = join(folderOf(database.name), 'blobs')
      const blobs = createDiskBlobs(folder, { clock: clockOf(database.name), isDurable, report })
      // No other process works in a locked folder: no upload is too young to be swept.
      const isUsed = async (place: string) => database.read((tx) => tx.blobs.isPlaceUsed(place))
      await blobs.sweep(Number.POSITIVE_INFINITY, isUsed).catch(report)
      return blobs
    },
    async openScratch(database) {
      const scratch = createDiskScratch(
        join(folderOf(database.name), 'imports'),
        clockOf(database.name),
      )
      // The folder is locked, so every stray is of an earlier process, however young it is.
      await sweepScratch(database, scratch, Number.POSITIVE_INFINITY)
      return scratch
    },
    addressOf: (database) => addressBelow(base(), database),
  }
}

/** Blobs never change, so that two databases may share their files. */
function copyFiles(source: string, target: string): void {
  const key = join(source, 'secret.key')
  if (existsSync(key)) copyFileSync(key, join(target, 'secret.key'), constants.COPYFILE_EXCL)
  for (const shelf of shelvesOf(join(source, 'blobs'))) {
    const folder = join(target, 'blobs', shelf)
    makeFolder(folder)
    for (const name of readdirSync(join(source, 'blobs', shelf))) {
      linkSync(join(source, 'blobs', shelf, name), join(folder, name))
    }
  }
}

function shelvesOf(blobs: string): string[] {
  return existsSync(blobs) ? readdirSync(blobs).filter((name) => name !== 'incoming') : []
}

function addressBelow(base: string | null, database: string): string | null {
  return base === null ? null : `${base}/${database}`
}

/** An import may have anything that requests may store; a part of it may be larger than a request. */
function importLimits({ maxBody, maxDepth: depth, maxValues: values }: Config): PartLimits {
  return { depth, values, bytes: Math.max(PART_LIMITS.bytes, 4 * maxBody) }
}

function blobLimits({ maxBlob: blob, blobQuota, userBlobQuota }: Config): BlobLimits {
  return { blob, database: blobQuota, user: userBlobQuota }
}

/** Returns the first folder on the path that did not exist, undefined when all did. */
function createFolder(path: string): string | undefined {
  try {
    const created = makeFolder(path)
    if (created === undefined) closeToOthers(path)
    return created
  } catch (error) {
    throw cannotUse(path, error)
  }
}

/**
 * Makes an existing data folder accessible to its owner only (design.md §2), or refuses one that
 * every user may write and that holds other things or belongs to another user.
 */
function closeToOthers(path: string): void {
  const { mode, uid } = statSync(path)
  if ((mode & 0o077) === 0) return
  const user = process.geteuid?.()
  const isOurs = readdirSync(path).every((name) => OUR_NAMES.test(name))
  if (isOurs && (user === uid || user === 0)) {
    // A file system without modes ignores or refuses this, and cannot be more private.
    tryTo(() => chmodSync(path, mode & 0o700))
    serverLog.info('The data folder is now accessible to its owner only', { folder: path })
  } else if ((mode & 0o002) !== 0) {
    throw new SatchelError(
      'READ_ONLY',
      `Every user of this machine may write the folder ${path}: name a folder inside it with --data, or make it writable for the user of the server only`,
    )
  }
}

/** The names in a data folder (design.md §2), and one that a file system of its own has. */
const OUR_NAMES = /^(?:(?:lock|server)\.sqlite|holder\.json|control\.sock|databases$|lost\+found$)/

function tryTo(work: () => void): void {
  try {
    work()
  } catch {
    // It stays as it is.
  }
}

/** Removes what is of no use without a database: also our files if this process has made them. */
function clearUnused(path: string, isCreated: boolean): void {
  const databases = join(path, 'databases')
  try {
    if (existsSync(databases)) rmdirSync(databases)
    if (!isCreated) return
    for (const name of ['server.sqlite', 'lock.sqlite']) rmSync(join(path, name), { force: true })
  } catch {
    // It has a database.
  }
}

/** Removes the folder and its parents up to `first`, as far as they are empty. */
function removeEmpty(path: string, first: string): void {
  try {
    for (let folder = path; folder.startsWith(first); folder = dirname(folder)) rmdirSync(folder)
  } catch {
    // It holds a database, or a file of another program.
  }
}

function cannotUse(path: string, cause: unknown): unknown {
  if (cause instanceof SatchelError) return cause
  if (hasErrno(cause, 'EEXIST', 'ENOTDIR')) {
    return new SatchelError('READ_ONLY', `The data folder ${path} is not a folder`, { cause })
  }
  const hint = 'choose another with --data, or make its parent writable for this user'
  const { STORAGE_FULL } = messagesFor(path)
  return diskError(cause, {
    STORAGE_FULL,
    READ_ONLY: `The data folder ${path} cannot be created: ${hint}`,
  })
}

function messagesFor(path: string) {
  return {
    STORAGE_FULL: `The disk of the data folder ${path} is full: free some space`,
    READ_ONLY: `The data folder ${path} cannot be written: make it writable for this user or choose another with --data`,
  }
}

/** A folder in memory, or among the temporary files, that is removed when it is disposed. */
export interface MemoryFolder extends Disposable {
  readonly path: string
}

const PREFIX = 'satchel-memory-'

/**
 * A data folder that exists as long as its process (design.md §2). It is removed however the process
 * ends, except by kill -9: then the next process that creates such a folder removes it.
 */
export function createMemoryFolder(
  parents: readonly string[] = ['/dev/shm', tmpdir()],
): MemoryFolder {
  const parent = parents.find(isWritable) ?? tmpdir()
  removeAbandoned(parent)
  const path = mkdtempSync(join(parent, PREFIX))
  const remove = () => rmSync(path, { recursive: true, force: true })
  process.once('exit', remove)
  return {
    path,
    [Symbol.dispose]() {
      process.off('exit', remove)
      remove()
    },
  }
}

/** `holder.json` is written after the lock was taken: if the lock is free now, its process is gone. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const path = join(parent, name)
    if (name.startsWith(PREFIX) && isPrivateFolder(path) && isAbandoned(path)) {
      rmSync(path, { recursive: true, force: true })
    }
  }
}

function isAbandoned(path: string): boolean {
  if (!existsSync(join(path, 'holder.json'))) return false
  try {
    using lock = lockFolder(path)
    return lock !== undefined
  } catch {
    return false
  }
}
