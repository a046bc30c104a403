import { closeSync, openSync, rmSync } from 'node:fs'
import { platform } from 'node:os'
import { basename, join } from 'node:path'
import type { Migration } from '../../migrations/sqlite/index'
import type { Clock } from '../clock'
import { makeFolder } from '../disk'
import type { DatabaseCopy } from '../domain/store/copy'
import type { Fault } from '../domain/store/integrity'
import type { DatabaseFigures, Meter } from '../domain/store/meter'
import type { Database, Duty, DutyName, ReadTx } from '../domain/store/store'
import type { DatabaseImage } from '../domain/store/test-store'
import { SatchelError } from '../domain/value/error'
import { createIds } from '../domain/value/id'
import { nextTurn } from '../domain/value/turn'
import { createCheckpoints } from './checkpoint'
import { createCommits } from './commits'
import { type Connection, openConnection } from './connection'
import { holdCopy } from './copy'
import type { Durability } from './durability'
import { isIndexTooLarge, openFailure, storageFailure } from './failure'
import { checkStructure } from './file-task'
import { publishGroup, sealGroup } from './group'
import { type Verified, verifyRows } from './integrity'
import { createPace } from './pace'
import type { PageCaches } from './page-caches'
import { type LogIndex, sizeOf } from './private-file'
import { copyBlank, prepareFile, requireSqlite } from './prepare'
import { loadCommitted, loadId } from './state'
import { SqliteReadTx, type SqliteWriteTx } from './tx'
import { requirePlain } from './steps'
import { sqliteVersion } from './version'
import { createWriter } from './writer'

export interface DatabaseOptions {
  readonly clock: Clock
  readonly durability: Durability
  /** Called when the database was closed. */
  readonly onClose?: () => void
  /** Called with failures outside of requests: of a listener or a checkpoint, or an old SQLite. */
  readonly report?: (database: string, error: unknown) => void
  /** The migrations, without which a file is not opened: those of this program. */
  readonly migrations?: readonly Migration[]
  /** A copy is given up when the log becomes longer than this meanwhile, in bytes; absent: 4 GiB. */
  readonly longestLog?: number
  /** The page caches that the database shares a budget with; without them it has full-sized ones. */
  readonly caches?: PageCaches
  /** Counts for metrics. */
  readonly meter?: Meter | undefined
}

export interface SqliteDatabase extends Database {
  /** The file as of the last commit. */
  image(): DatabaseImage
  figures(): DatabaseFigures
}

/**
 * Opens or creates the database in `folder`. Throws `NEWER_DATA`, `READ_ONLY`, `STORAGE_FULL` or
 * `STORAGE_FAILED`, each with a sentence that names the file.
 */
export function openDatabase(
  name: string,
  folder: string,
  options: DatabaseOptions,
): SqliteDatabase {
  const file = join(folder, 'database.sqlite')
  const { clock, durability, report, migrations } = options
  using connections = new DisposableStack()
  const open = (mode: 'write' | 'read', index: LogIndex) =>
    connections.adopt(openConnection(file, mode, durability, index), (connection) =>
      connection.close(),
    )
  try {
    makeFolder(folder)
    if (durability === 'none' && migrations === undefined) copyBlank(file)
    const [index, writing] = openWriter(file, (chosen) => open('write', chosen))
    requireSqlite(sqliteVersion(), platform(), (sentence) => report?.(name, sentence))
    prepareFile(writing, file, clock, migrations)
    return serveDatabase({ name, file, index }, writing, open('read', index), connections, options)
  } catch (error) {
    throw openFailure(error, file)
  }
}

/** On a full disk reads go on, also after a start (promises.md 4). */
function openWriter(
  file: string,
  open: (index: LogIndex) => Connection,
): readonly [LogIndex, Connection] {
  try {
    return ['file', open('file')]
  } catch (error) {
    if (!isIndexTooLarge(error)) throw error
    // A stale `-shm` would later name commits that are no longer in the log.
    rmSync(`${file}-shm`, { force: true })
    return ['memory', open('memory')]
  }
}

/** The log of a database is at most this long while it is copied, in bytes. */
const LONGEST_LOG = 4 * 1024 ** 3

interface DatabaseFile {
  readonly name: string
  readonly file: string
  readonly index: LogIndex
}

function serveDatabase(
  { name, file, index }: DatabaseFile,
  writing: Connection,
  reading: Connection,
  connections: DisposableStack,
  { clock, durability, onClose, report, caches, longestLog = LONGEST_LOG, meter }: DatabaseOptions,
): SqliteDatabase {
  const id = loadId(writing)
  const committed = loadCommitted(writing)
  const snapshot = createSnapshot(reading)
  const cache = caches?.add(writing, reading)
  const fail = (error: unknown) => report?.(name, error)
  const duties = createDuties()
  const commits = createCommits(name, committed.counters.revision, fail)
  const checkpoints = createCheckpoints({ file, durability, index }, writing, fail, meter)
  const pace = createPace()
  let sealed = 0
  /** Of the file, for copies: closing it before SQLite has closed its own would drop SQLite's locks. */
  let descriptor: number | undefined
  const copies = new Set<DatabaseCopy>()
  const ids = createIds(clock)
  ids.passOver(committed.counters.idHighWater)
  const writer = createWriter({
    connection: writing,
    committed,
    ids,
    clock,
    elapsed: () => performance.now(),
    meter,
    seal(group) {
      sealed = performance.now()
      sealGroup(writing, committed, group)
    },
    publish(group) {
      pace.committed(performance.now() - sealed)
      snapshot.drop()
      publishGroup(committed, group)
      if (group.flags.erased) checkpoints.wipe()
      commits.announce(group)
    },
    between() {
      snapshot.drop()
      return checkpoints.consider()
    },
  })

  async function close(): Promise<void> {
    await writer.close(() => isClosing(name))
    for (const copy of copies) await copy[Symbol.asyncDispose]()
    await checkpoints.close()
    // Running reads end in this turn.
    await nextTurn()
    snapshot.drop()
    try {
      writing.db.run('PRAGMA wal_checkpoint(TRUNCATE)')
    } catch (error) {
      // The log stays, and the next start reads it.
      fail(error)
    } finally {
      cache?.[Symbol.dispose]()
      owned.dispose()
      if (descriptor !== undefined) closeSync(descriptor)
      onClose?.()
    }
  }

  function read<T>(work: (tx: ReadTx) => T): Promise<T> {
    if (closing !== undefined) return Promise.reject(isClosing(name))
    const tx = new SqliteReadTx(reading, committed)
    try {
      cache?.use()
      snapshot.take()
      const result = work(tx)
      requirePlain(result)
      return Promise.resolve(result)
    } catch (error) {
      return Promise.reject(storageFailure(error))
    } finally {
      tx.end()
    }
  }

  const verified: Verified = {
    read: async (work) => await read((tx) => work((tx as SqliteReadTx).context)),
    write: (work, options) => writer.run((tx) => work((tx as SqliteWriteTx).context), options),
  }

  // The writer retries a locked database in later turns, so that no call blocks the event loop.
  writing.db.run('PRAGMA busy_timeout = 0')
  const owned = connections.move()
  let closing: Promise<void> | undefined
  return {
    id,
    name,
    read,
    write(work, options) {
      if (closing !== undefined) return Promise.reject(isClosing(name))
      cache?.use()
      return writer.run(work, options)
    },
    writeSteps(work, options) {
      if (closing !== undefined) return Promise.reject(isClosing(name))
      cache?.use()
      return writer.runSteps(work, options)
    },
    onCommit: (listener) => commits.listen(listener),
    commitsAfter: async (revision) => commits.after(revision),
    duty: (duty, granted) => duties.ask(duty, granted),
    async copy() {
      if (closing !== undefined) throw isClosing(name)
      descriptor ??= openSync(file, 'r')
      const released = () => {
        if (closing === undefined) checkpoints.catchUp()
      }
      try {
        const held = await holdCopy({ file, index, descriptor, pace, longestLog, released })
        const copy = {
          ...held,
          async [Symbol.asyncDispose]() {
            copies.delete(copy)
            await held[Symbol.asyncDispose]()
          },
        }
        copies.add(copy)
        return copy
      } catch (error) {
        throw storageFailure(error)
      }
    },
    figures: () => ({
      name,
      waiting: writer.waiting,
      bytes: sizeOf(file),
      log: sizeOf(`${file}-wal`),
      objects: committed.counters.objects,
      users: committed.counters.users,
    }),
    image() {
      if (closing !== undefined) throw isClosing(name)
      snapshot.drop()
      return { bytes: reading.db.serialize() }
    },
    async *verify(meaningOf, accepts, programPart = null) {
      const damage = await checkStructure(file, index)
      checkpoints.catchUp()
      const faultOf = (words: string): Fault => ({
        problem: 'broken file',
        table: basename(file),
        key: words,
      })
      yield { checked: 0, faults: damage.map(faultOf) }
      yield* verifyRows(verified, meaningOf, accepts, { programPart })
    },
    [Symbol.asyncDispose]() {
      closing ??= close()
      return closing
    },
  }
}

function isClosing(name: string): SatchelError {
  return new SatchelError('BUSY', `The database ${name} is closing: repeat the request`, {
    retryAfter: 1,
  })
}

/**
 * The reading connection's view of the last commit. Reads of one turn share a read transaction: taking the locks
 * of the write-ahead log costs more system calls than a point read does. It ends with the turn, so a slow client
 * pins nothing.
 */
function createSnapshot({ db, prepare }: Connection) {
  let isTaken = false
  let isEnding = false

  /** Called right after a commit and before a checkpoint that must not find a reader. Cannot throw. */
  function drop(): void {
    if (!isTaken) return
    isTaken = false
    try {
      if (db.inTransaction) prepare('COMMIT').run()
    } catch {
      // A read has already reported the damaged page; the transaction ends anyway.
    }
  }

  return {
    /** Called before a read; cheap when the turn has a snapshot already. */
    take(): void {
      if (isTaken) return
      prepare('BEGIN').run()
      isTaken = true
      if (isEnding) return
      isEnding = true
      setImmediate(() => {
        isEnding = false
        drop()
      })
    },
    drop,
  }
}

/** One process holds the file: the first to ask gets a duty at once, the next when it is given back. */
function createDuties() {
  const askersByDuty = new Map<DutyName, (() => void)[]>()
  return {
    ask(name: DutyName, granted: () => void): Duty {
      const askers = askersByDuty.get(name) ?? []
      askersByDuty.set(name, askers)
      const asker = () => granted()
      askers.push(asker)
      return {
        get isMine() {
          return askers[0] === asker
        },
        async [Symbol.asyncDispose]() {
          const wasMine = askers[0] === asker
          if (askers.includes(asker)) askers.splice(askers.indexOf(asker), 1)
          if (wasMine) askers[0]?.()
        },
      }
    },
  }
}
