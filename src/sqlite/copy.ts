import type { Statement } from 'bun:sqlite'
import { closeSync, fstatSync, openSync, read, readSync } from 'node:fs'
import { promised } from '../disk'
import type { CopyFacts, DatabaseCopy, ErasedUser, StoredContent } from '../domain/store/copy'
import { SatchelError } from '../domain/value/error'
import type { Pace } from './pace'
import { type LogIndex, openDatabaseFile } from './private-file'

/** The database that is copied. */
interface Copied {
  readonly file: string
  readonly index: LogIndex
  /** An open descriptor of the file, which nobody closes before SQLite has closed the file. */
  readonly descriptor: number
  readonly pace: Pace
  /** The log may not become longer meanwhile, in bytes. */
  readonly longestLog: number
  /** Called when the snapshot is no longer held. */
  readonly released: () => void
}

/** Read at once, in bytes. */
const PIECE_BYTES = 64 * 1024
/** The sizes of the headers of a log and of its frames (sqlite.org/fileformat2.html §4). */
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24

/**
 * Holds a read transaction and copies the file as SQLite shows it in that: each page from its last frame in the
 * log, or else from the file, which checkpoints do not touch there. SQLite has no page for us to read, so that the
 * bytes are read beside it. Throws `STORAGE_FAILED` and the errors of SQLite.
 */
export async function holdCopy(copied: Copied): Promise<DatabaseCopy> {
  const { file, index, descriptor, pace, longestLog, released } = copied
  using undo = new DisposableStack()
  undo.defer(released)
  const db = undo.adopt(openDatabaseFile(file, 'write', index), (db) => db.close())
  const log = undo.adopt(openSync(`${file}-wal`, 'r'), closeSync)
  db.run('PRAGMA query_only = ON')
  const row = <Row>(sql: string) => {
    using statement = db.prepare<Row, []>(sql)
    const found = statement.get()
    if (found === null) throw unreadable(file)
    return found
  }
  row('SELECT 1 FROM database')
  // In one turn, so that no commit comes between. SQLite itself reads no log when the file has all of it.
  const state = row<{ log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)')
  db.run('BEGIN')
  undo.defer(() => void db.run('COMMIT'))
  const facts = row<CopyFacts>(FACTS)
  const { page_size: pageSize } = row<{ page_size: number }>('PRAGMA page_size')
  const { page_count: pages } = row<{ page_count: number }>('PRAGMA page_count')
  const generation = readLog(log, 0, LOG_HEADER_BYTES)
  const count = state.log === state.checkpointed ? 0 : state.log
  undo.use(pace.begin())
  let frames = await findFrames(log, generation, count, pageSize)
  const owned = undo.move()
  let isEnded = false

  /** Puts the frames of the log in the place of the pages that they change. */
  function overlay(piece: Buffer, first: number): void {
    for (let at = 0; at < piece.length; at += pageSize) {
      const frame = frames.get(first + at / pageSize)
      if (frame !== undefined) readSync(log, piece, at, pageSize, frame)
    }
  }

  async function giveWay(): Promise<void> {
    const pause = pace.pause()
    if (pause > 0) await Bun.sleep(pause)
    if (isEnded) throw ended()
    if (fstatSync(log).size > longestLog) throw tooMuchWritten(longestLog)
  }

  async function* bytes(): AsyncGenerator<Uint8Array> {
    const atOnce = Math.max(1, Math.floor(PIECE_BYTES / pageSize))
    const buffer = Buffer.alloc(atOnce * pageSize)
    for (let first = 1; first <= pages; first += atOnce) {
      await giveWay()
      const piece = buffer.subarray(0, Math.min(atOnce, pages - first + 1) * pageSize)
      const position = (first - 1) * pageSize
      await fill(descriptor, piece, position)
      // The descriptor may be that of another file by now.
      if (isEnded) throw ended()
      overlay(piece, first)
      if (frames.size > 0 && !readLog(log, 0, LOG_HEADER_BYTES).equals(generation)) {
        // SQLite lets the log begin anew only when the file has all that this transaction reads.
        frames = new Map()
        await fill(descriptor, piece, position)
        if (isEnded) throw ended()
      }
      yield piece
    }
  }

  function rowsOf<Row, After extends string | number>(
    statement: Statement<Row, [After, number]>,
    after: After,
    limit: number,
  ): Row[] {
    if (isEnded) throw ended()
    return statement.all(after, limit)
  }

  using contents = new DisposableStack()
  const list = contents.adopt(db.prepare<StoredContent, [string, number]>(CONTENTS), (statement) =>
    statement.finalize(),
  )
  const erased = contents.adopt(db.prepare<ErasedUser, [number, number]>(ERASED), (statement) =>
    statement.finalize(),
  )
  owned.use(contents.move())
  return {
    facts,
    size: pages * pageSize,
    bytes,
    giveWay,
    contents: (after, limit) => rowsOf(list, after, limit),
    erasedUsers: (after, limit) => rowsOf(erased, after, limit),
    async [Symbol.asyncDispose]() {
      isEnded = true
      owned.dispose()
    },
  }
}

const FACTS = `SELECT id, epoch, revision,
  (SELECT run FROM runs ORDER BY first DESC LIMIT 1) AS run,
  (SELECT name FROM migrations ORDER BY number DESC LIMIT 1) AS migration FROM database`

const CONTENTS =
  'SELECT hash, size, file FROM blobs WHERE file > ? GROUP BY file ORDER BY file LIMIT ?'

const ERASED = 'SELECT number, created FROM erased_users WHERE number > ? ORDER BY number LIMIT ?'

/** Where the log has the last version of each page in its first `count` frames. */
async function findFrames(
  log: number,
  generation: Buffer,
  count: number,
  pageSize: number,
): Promise<Map<number, number>> {
  const frames = new Map<number, number>()
  const size = FRAME_HEADER_BYTES + pageSize
  const buffer = Buffer.alloc(Math.max(1, Math.floor(PIECE_BYTES / size)) * size)
  for (let from = 0; from < count * size; from += buffer.length) {
    const part = buffer.subarray(0, Math.min(buffer.length, count * size - from))
    await fill(log, part, LOG_HEADER_BYTES + from)
    for (let at = 0; at < part.length; at += size) {
      // Another program has checkpointed in this moment, and the file has it all.
      if (!part.subarray(at + 8, at + 16).equals(generation.subarray(16, 24))) return new Map()
      frames.set(part.readUInt32BE(at), LOG_HEADER_BYTES + from + at + FRAME_HEADER_BYTES)
    }
  }
  return frames
}

/** Fills the buffer from this position; bytes behind the end of the file are zero. */
async function fill(descriptor: number, into: Buffer, position: number): Promise<void> {
  for (let done = 0; done < into.length;) {
    const at = done
    const count = await promised<number>((end) =>
      read(descriptor, into, at, into.length - at, position + at, end),
    )
    if (count === 0) {
      into.fill(0, at)
      return
    }
    done += count
  }
}

function readLog(log: number, at: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  readSync(log, bytes, 0, size, at)
  return bytes
}

function ended(): SatchelError {
  return new SatchelError('BUSY', 'The database was closed or deleted while it was backed up')
}

function unreadable(file: string): SatchelError {
  return new SatchelError('STORAGE_FAILED', `${file} cannot be read as a database of Satchel`)
}

function tooMuchWritten(longest: number): SatchelError {
  const size = Math.round(longest / 1024 ** 2)
  return new SatchelError(
    'STORAGE_FAILED',
    `The backup was ended because the write-ahead log had reached ${size} MiB while it was copied: repeat it when less is written, or to a faster target`,
  )
}
