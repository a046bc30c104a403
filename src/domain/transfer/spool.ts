import { SatchelError } from '../value/error'
import { NEWLINE } from '../json/bytes'
import { scanInSlices } from '../json/slices'
import { stringifyInSlices } from '../json/stringify'
import type { Scratch, ScratchWriter } from '../store/scratch'
import type { Entry } from './entry'
import type { Database } from '../store/store'

/** The entries of an import on their way from the file to the tables, one JSON text per line. */
export interface Spool extends Disposable {
  /** In bytes. */
  readonly size: number
  /**
   * Some entries, one at least and `most` at the most, from this offset; `next` is the offset to go
   * on from.
   */
  read(offset: number, most?: number): { readonly entries: readonly Entry[]; readonly next: number }
  /** True when the entry at this offset takes more than `bytes`. */
  isLonger(offset: number, bytes: number): boolean
  /** The entry at this offset, which is long: it is parsed in slices, between which others get a turn. */
  readLong(offset: number): Promise<{ readonly entry: Entry; readonly next: number }>
}

/** A spool that is being written. Disposing removes it, unless it is to be kept. */
export interface SpoolWriter
  extends Pick<ScratchWriter, 'name' | 'size' | 'keep'>, AsyncDisposable {
  write(entry: Entry): Promise<void>
  /** Makes the spool complete, and sure to survive a crash. */
  finish(): Promise<void>
}

/** Throws `STORAGE_FULL` or `READ_ONLY`. */
export async function createSpool(scratch: Scratch): Promise<SpoolWriter> {
  const file = await scratch.create('ndjson')
  return {
    name: file.name,
    get size() {
      return file.size
    },
    write: async (entry) => file.write(`${await stringifyInSlices(entry)}\n`),
    finish: () => file.finish(),
    keep: () => file.keep(),
    [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
  }
}

/** Throws `STORAGE_FULL` unless there is room for this many bytes (promises.md 36). */
export async function requireSpace(scratch: Scratch, bytes: number): Promise<void> {
  const available = await scratch.available()
  if (bytes <= available) return
  throw new SatchelError(
    'STORAGE_FULL',
    `The import needs about ${inMegabytes(bytes)} on the disk of the data folder, where ${inMegabytes(Math.max(0, available))} can be used: nothing was imported`,
  )
}

function inMegabytes(bytes: number): string {
  return `${Math.ceil(bytes / 1e6)} MB`
}

/** How much is read at once, in bytes: no more than a fraction of a unit of work. */
const READ_BYTES = 16 * 1024

/** Opens a spool for reading, which never waits: it happens within units of work. */
export async function openSpool(scratch: Scratch, name: string): Promise<Spool> {
  const file = await scratch.open(name)
  const { size } = file

  function read(offset: number, most = Number.POSITIVE_INFINITY) {
    for (let length = READ_BYTES; ; length *= 2) {
      const bytes = Buffer.from(file.read(offset, length))
      const end = lineEnd(bytes, most)
      if (end >= 0)
        return { entries: parse(bytes.toString('utf8', 0, end)), next: offset + end + 1 }
      if (bytes.length < length) throw damaged()
    }
  }

  function isLonger(offset: number, bytes: number): boolean {
    for (const length of [READ_BYTES, bytes]) {
      const beginning = Buffer.from(file.read(offset, length))
      if (beginning.length < length || beginning.includes(NEWLINE)) return false
    }
    return true
  }

  async function readLong(offset: number) {
    for (let length = LONG_BYTES; ; length *= 2) {
      const bytes = Buffer.from(file.read(offset, length))
      const end = bytes.indexOf(NEWLINE)
      if (end < 0 && bytes.length < length) throw damaged()
      if (end < 0) continue
      const json = await scanInSlices(bytes.subarray(0, end), ANY_SIZE)
      return { entry: (await json.parse()) as Entry, next: offset + end + 1 }
    }
  }

  return { size, read, isLonger, readLong, [Symbol.dispose]: () => file[Symbol.dispose]() }
}

const LONG_BYTES = 1024 * 1024
const ANY_SIZE = { depth: Number.POSITIVE_INFINITY, values: Number.POSITIVE_INFINITY }

function damaged(): SatchelError {
  return new SatchelError('STORAGE_FAILED', 'A spooled import is damaged')
}

/** The end of the last whole line, of `most` at the most; -1 when there is none. */
function lineEnd(bytes: Buffer, most: number): number {
  if (most === Number.POSITIVE_INFINITY) return bytes.lastIndexOf(NEWLINE)
  let end = -1
  for (let lines = 0; lines < most; lines += 1) {
    const next = bytes.indexOf(NEWLINE, end + 1)
    if (next < 0) break
    end = next
  }
  return end
}

function parse(lines: string): Entry[] {
  return lines.split('\n').map((line) => JSON.parse(line) as Entry)
}

/**
 * Removes the temporary files of imports that ended before they became a job, or with one that failed,
 * as far as they were created before `before` (ms).
 */
export async function sweepScratch(
  database: Database,
  scratch: Scratch,
  before: number,
): Promise<void> {
  const jobs = await database.read((tx) => tx.jobs.list())
  const going = jobs.filter(({ failure }) => failure === null)
  const used = new Set(going.flatMap(({ state }) => [state['spool'], state['archive']]))
  await scratch.sweep(before, (name) => used.has(name))
}
