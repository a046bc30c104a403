import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { hasErrno } from '../disk'
import { SatchelError } from '../domain/value/error'
import { sizeOf } from './private-file'

/**
 * The step of the last commit that changed the counters, as it stands in the row of `database`: the
 * revisions before and after it. Fixed text, so that it is found in a page without SQLite.
 */
export function stepText(before: number, after: number): string {
  const digits = (revision: number) => String(revision).padStart(DIGITS, '0')
  return `step:${digits(before)}-${digits(after)};`
}

const DIGITS = 16
const STEP = /step:(\d{16})-(\d{16});/

interface Step {
  readonly before: number
  readonly after: number
}

/** The sizes of the headers of a log, of its frames (sqlite.org/fileformat2.html §4), and of page 1. */
const LOG_HEADER = 32
const FRAME_HEADER = 24
const FILE_HEADER = 100
/** The table `database` is made before all that hold text of users: its page is among the first. */
const FIRST_PAGES = 64
const LEAF = 0x0d

/**
 * Throws `STORAGE_FAILED` when the write-ahead log beside a database file belongs to another version of
 * the file, such as the one that a restored file has replaced: SQLite would mix the pages of both
 * (promises.md 9). To be called before SQLite opens the file in this process.
 */
export function requireOwnLog(file: string): void {
  const log = `${file}-wal`
  if (belongs(file, log)) return
  throw new SatchelError(
    'STORAGE_FAILED',
    `${log} does not belong to this ${file}, which was restored or replaced: remove ${log} and ${file}-shm, or put back the file that they were written for`,
  )
}

/** A file that cannot be read is left to SQLite, which says why. */
function belongs(file: string, log: string): boolean {
  try {
    const size = sizeOf(log)
    if (size <= LOG_HEADER || !existsSync(file)) return true
    const base = readBase(file)
    if (base === undefined) return true
    const [first, last] = readSteps(log, size, base)
    if (first === undefined || last === undefined) return true
    // A checkpoint may have copied some of the log to the file already.
    return first.before <= base.step.after && base.step.after <= last.after
  } catch (error) {
    if (hasErrno(error, 'EACCES', 'EPERM')) return true
    throw error
  }
}

/**
 * Throws `STORAGE_FAILED` when the write-ahead log is gone and its index, the file `-shm`, names commits that were
 * in it alone (promises.md 9). No crash of the machine leaves that, as the log is created before its index. To
 * be called before SQLite opens the file, which begins the index anew.
 */
export function requireLog(file: string): void {
  const log = `${file}-wal`
  if (existsSync(log)) return
  const missing = unsavedFrames(readIndex(file))
  // A process that works on the database may have made it meanwhile.
  if (missing === 0 || existsSync(log) || unsavedFrames(readIndex(file)) === 0) return
  throw new SatchelError(
    'STORAGE_FAILED',
    `${log} is gone, and ${missing} pages of commits were in it alone: put it back, put the files back from a backup, or give these commits up with rm ${file}-shm`,
  )
}

/**
 * Throws `STORAGE_FAILED` when the write-ahead log beside a database file is damaged: SQLite would ignore
 * everything from there on without a word, although it was committed (promises.md 3). Only for `--durability
 * full`, where a commit is on the disk before the next one begins, and before the index of the log names
 * it. Where that index is lost, damage in the last commit looks like a commit that a power failure
 * interrupted. To be called before SQLite opens the file.
 */
export function requireSoundLog(file: string): void {
  const log = `${file}-wal`
  if (!existsSync(log)) return
  const index = readIndex(file)
  const found = findBreak(log, index)
  if (found === undefined) return
  // A process that works on the database may have begun the log anew meanwhile.
  const now = readIndex(file)
  if (found.isLast && (now === undefined || !now.header.equals(index!.header))) return
  const where = found.isLast ? 'in its last commit' : 'and commits follow'
  const remove = found.isLast ? ` and rm ${file}-shm` : ''
  throw new SatchelError(
    'STORAGE_FAILED',
    `${log} is damaged at byte ${found.at}, ${where}: put both files back from a backup, or give these commits up with truncate -s ${found.at} ${log}${remove}`,
  )
}

/** The index of a log, as far as it says what is committed (sqlite.org/walformat.html §2.1). */
interface LogIndex {
  readonly header: Buffer
  /** The frames of the log up to the last commit. */
  readonly frames: number
  /** How many of these frames are in the database file too. */
  readonly saved: number
  readonly salts: Buffer
}

function unsavedFrames(index: LogIndex | undefined): number {
  return index === undefined ? 0 : Math.max(0, index.frames - index.saved)
}

const INDEX_HEADER = 48
const INDEX_VERSION = 3_007_000

/** Undefined when it is lost, being written, or that of a machine with another byte order. */
function readIndex(file: string): LogIndex | undefined {
  const index = `${file}-shm`
  if (!existsSync(index)) return undefined
  return reading(index, (read) => {
    const bytes = read(0, 2 * INDEX_HEADER + 4)
    if (bytes.length < 2 * INDEX_HEADER + 4) return undefined
    const header = bytes.subarray(0, 2 * INDEX_HEADER)
    const [one, other] = [header.subarray(0, INDEX_HEADER), header.subarray(INDEX_HEADER)]
    if (!one.equals(other) || one.readUInt32LE(0) !== INDEX_VERSION) return undefined
    const sums = sumsOf(one.subarray(0, 40), false, [0, 0])
    if (!sums.swap32().equals(one.subarray(40))) return undefined
    const saved = bytes.readUInt32LE(2 * INDEX_HEADER)
    return { header, frames: one.readUInt32LE(16), saved, salts: one.subarray(32, 40) }
  })
}

interface Break {
  /** The byte from which on SQLite ignores the log. */
  readonly at: number
  /** True when no later commit is in the log. */
  readonly isLast: boolean
}

/** The place from which on SQLite ignores the log, although it was committed, or a later commit follows. */
function findBreak(log: string, index: LogIndex | undefined): Break | undefined {
  return reading(log, (read) => {
    const header = read(0, LOG_HEADER)
    if (header.length < LOG_HEADER) {
      return unsavedFrames(index) > 0 ? { at: 0, isLast: true } : undefined
    }
    const isBigEndian = (header[3] ?? 0) % 2 === 1
    const pageSize = header.readUInt32BE(8)
    const isSound = sumsOf(header.subarray(0, 24), isBigEndian, [0, 0]).equals(header.subarray(24))
    if (!isSound && (pageSize < 512 || pageSize > 65_536)) return { at: 0, isLast: false }
    const size = FRAME_HEADER + pageSize
    let salts = isSound ? header.subarray(16, 24) : undefined
    const isIndexed = salts !== undefined && index?.salts.equals(salts) === true
    let before: Uint8Array = header.subarray(24)
    let broken = isSound ? undefined : 0
    let isCommitted = false
    let pages = 0
    let whole = 0
    for (let at = LOG_HEADER; ; at += size) {
      const frame = read(at, size)
      if (frame.length < size) {
        const isLost = isIndexed && whole < index.frames
        return isLost ? { at: broken ?? LOG_HEADER + whole * size, isLast: true } : undefined
      }
      const isOurs = salts === undefined || frame.subarray(8, 16).equals(salts)
      const isWhole = isOurs && isFollowing(frame, before, isBigEndian)
      before = frame.subarray(16, 24)
      if (isWhole && isCommitted) return { at: broken ?? at, isLast: false }
      if (isWhole) salts ??= frame.subarray(8, 16)
      else broken ??= at
      if (broken === undefined) whole += 1
      // The size of the database in pages, with which a commit ends.
      const committed = frame.readUInt32BE(4)
      const isCommit =
        committed > 0 && isOurs && (isWhole || committed < 2 * pages + MAX_ADDED_PAGES)
      if (isCommit && isWhole) pages = committed
      // Frames of a transaction that was rolled back may follow too, but no commit of it.
      if (broken !== undefined && isCommit) isCommitted = true
    }
  })
}

/** A commit that adds more pages to twice as many is taken for garbage. */
const MAX_ADDED_PAGES = 1_024

/** True when the checksums of a frame are right, given those of the frame before. */
function isFollowing(frame: Buffer, before: Uint8Array, isBigEndian: boolean): boolean {
  const view = Buffer.from(before)
  const start = [view.readUInt32BE(0), view.readUInt32BE(4)] as const
  const head = sumsOf(frame.subarray(0, 8), isBigEndian, start)
  const middle = [head.readUInt32BE(0), head.readUInt32BE(4)] as const
  return sumsOf(frame.subarray(FRAME_HEADER), isBigEndian, middle).equals(frame.subarray(16, 24))
}

/** The checksums of a log, as they are stored (sqlite.org/fileformat2.html §4.2). */
function sumsOf(
  bytes: Buffer,
  isBigEndian: boolean,
  [one, other]: readonly [number, number],
): Buffer {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let [first, second] = [one | 0, other | 0]
  for (let at = 0; at < bytes.length; at += 8) {
    first = (first + words.getInt32(at, !isBigEndian) + second) | 0
    second = (second + words.getInt32(at + 4, !isBigEndian) + first) | 0
  }
  const sums = Buffer.alloc(8)
  sums.writeInt32BE(first, 0)
  sums.writeInt32BE(second, 4)
  return sums
}

interface Base {
  /** The number of the page that has the step, from 1. */
  readonly page: number
  readonly pageSize: number
  readonly step: Step
}

/** The step that the file itself has; undefined for one that was never copied to from its log. */
function readBase(file: string): Base | undefined {
  return reading(file, (read) => {
    const header = read(0, FILE_HEADER)
    const pageSize = header.length < FILE_HEADER ? 0 : header.readUInt16BE(16) || 1
    const size = pageSize === 1 ? 65_536 : pageSize
    if (size < 512) return undefined
    for (let page = 2; page <= FIRST_PAGES; page += 1) {
      const bytes = read((page - 1) * size, size)
      if (bytes.length < size) return undefined
      const step = stepIn(bytes)
      if (step !== undefined) return { page, pageSize: size, step }
    }
    return undefined
  })
}

/** The first and the last step of the log, of its current generation. */
function readSteps(
  log: string,
  size: number,
  { page, pageSize }: Base,
): readonly [Step | undefined, Step | undefined] {
  return reading(log, (read) => {
    const salts = read(0, LOG_HEADER).subarray(16, 24)
    let first: Step | undefined
    let last: Step | undefined
    const frame = FRAME_HEADER + pageSize
    for (let at = LOG_HEADER; at + frame <= size; at += frame) {
      const header = read(at, FRAME_HEADER)
      // Frames of an earlier generation follow.
      if (!header.subarray(8, 16).equals(salts)) break
      if (header.readUInt32BE(0) !== page) continue
      last = stepIn(read(at + FRAME_HEADER, pageSize)) ?? last
      first ??= last
    }
    return [first, last]
  })
}

/** The step in a page with a single row. */
function stepIn(page: Buffer): Step | undefined {
  if (page[0] !== LEAF || page.readUInt16BE(3) !== 1) return undefined
  const found = STEP.exec(page.toString('latin1'))
  return found === null ? undefined : { before: Number(found[1]), after: Number(found[2]) }
}

function reading<T>(path: string, work: (read: (at: number, size: number) => Buffer) => T): T {
  const descriptor = openSync(path, 'r')
  try {
    return work((at, size) => {
      const bytes = Buffer.alloc(size)
      return bytes.subarray(0, readSync(descriptor, bytes, 0, size, at))
    })
  } finally {
    closeSync(descriptor)
  }
}
