import { mkdirSync } from 'node:fs'
import type { Clock } from '../clock'
import type { Config } from '../config/config'
import { diskError, hasErrno } from '../disk'
import { removeHolder, thisProcess, writeHolder } from './holder'
import type { BlobLimits } from '../domain/blob/limits'
import { SatchelError } from '../domain/value/error'
import { MAINTENANCE } from '../domain/object/maintenance'
import type { OffloadRule } from '../domain/blob/offload-rule'
import { PART_LIMITS, type PartLimits } from '../domain/transfer/entry'
import { importSteps } from '../domain/transfer/import-job'
import { sweepScratch } from '../domain/transfer/spool'
import { REMOVAL_STEPS } from '../domain/user/removal'
import { type OpenHosts, createHosts } from './hosts'
import { serverLog } from '../log/log'
import { createMemoryFolder } from './memory-folder'
import { type MailPrinter, createScratch, createServerAddress, createServices } from './services'
import { lockFolder } from '../sqlite/lock'
import { createSqliteStore } from '../sqlite/store'
import { ZIP } from '../zip/format'

/** A data folder that this process holds: nobody else opens it until it is disposed (design.md §2). */
export interface DataFolder extends OpenHosts {
  readonly path: string
  readonly clock: Clock
  /** How much each part of a file that is imported may hold. */
  readonly importLimits: PartLimits
  /** Which values of objects become blobs, where a database does not say. */
  readonly offloadRule: OffloadRule
  /** How much a database takes that does not say so itself. */
  readonly blobLimits: BlobLimits
  /** Names of the databases, sorted. */
  list(): string[]
}

/**
 * Takes the data folder of `config`, made if it is not there, or returns undefined when another
 * process holds it. A server gives a `printer`, a command none. Throws `READ_ONLY` or `STORAGE_FULL`
 * for one that cannot be used.
 */
export function takeDataFolder(
  config: Config,
  clock: Clock,
  printer?: MailPrinter,
  address = createServerAddress(config),
): DataFolder | undefined {
  using undo = new DisposableStack()
  const path = config.memory ? undo.use(createMemoryFolder()).path : createFolder(config.data)
  const lock = lockFolder(path)
  if (lock === undefined) return undefined
  undo.use(lock)
  announce(path)
  const held = undo.move()
  const durability = config.memory ? 'none' : config.durability
  const store = createSqliteStore(path, {
    clock,
    durability,
    report: (database, error) => serverLog.error('The storage has a problem', { database, error }),
  })
  const hosts = createHosts({
    store,
    openServices: createServices(config, clock, printer, address),
    // Nobody else works in this folder while it is locked, so that strays of any age are removed.
    tidy: (database) =>
      sweepScratch(database, createScratch(database, clock), Number.POSITIVE_INFINITY),
    jobSteps: ({ blobs, scratch }) => ({
      ...MAINTENANCE,
      ...importSteps({ contents: blobs, archives: ZIP, scratch }),
      ...REMOVAL_STEPS,
    }),
    jobFailed: (database, { kind, id }, error) =>
      serverLog.error('A step of a job failed', { database, kind, job: id, error }),
  })
  return {
    ...hosts,
    path,
    clock,
    importLimits: importLimits(config),
    offloadRule: config.offloadBeyond,
    blobLimits: blobLimits(config),
    list: () => store.list(),
    async [Symbol.asyncDispose]() {
      await hosts[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      removeHolder(path)
      held.dispose()
    },
  }
}

/** What a request may store a file may bring; a part of it may be greater than a request. */
function importLimits({ maxBody, maxDepth: depth, maxValues: values }: Config): PartLimits {
  return { depth, values, bytes: Math.max(PART_LIMITS.bytes, 4 * maxBody) }
}

function blobLimits({ maxBlob: blob, blobQuota, userBlobQuota }: Config): BlobLimits {
  return { blob, database: blobQuota, user: userBlobQuota }
}

function announce(path: string): void {
  try {
    writeHolder(path, thisProcess())
  } catch (error) {
    throw cannotUse(path, error)
  }
}

function createFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    return path
  } catch (error) {
    throw cannotUse(path, error)
  }
}

function cannotUse(path: string, cause: unknown): unknown {
  if (hasErrno(cause, 'EEXIST', 'ENOTDIR')) {
    return new SatchelError('READ_ONLY', `The data folder ${path} is not a folder`, { cause })
  }
  const hint = 'choose another with --data, or make its parent writable for this user'
  return diskError(cause, {
    STORAGE_FULL: `The disk of the data folder ${path} is full: free some space`,
    READ_ONLY: `The data folder ${path} cannot be made: ${hint}`,
  })
}
