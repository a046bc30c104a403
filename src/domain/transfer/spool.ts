import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { SatchelError } from '../value/error'
import { NEWLINE } from '../json/bytes'
import type { Database } from '../store/store'
import type { Entry } from './entry'
import { type Scratch, createScratch, scratchPath } from './scratch'

/** The entries of an import on their way from the file to the tables, one JSON text per line. */
export interface Spool extends Disposable {
  /** In bytes. */
  readonly size: number
  /**
   * Some entries, one at least and `most` at the most, from this offset; `next` is the offset to go
   * on from.
   */
  read(offset: number, most?: number): { readonly entries: readonly Entry[]; readonly next: number }
}

/** A spool that is being written. Disposing removes it, unless it is to be kept. */
export interface SpoolWriter extends Pick<Scratch, 'name' | 'size' | 'keep'>, AsyncDisposable {
  write(entry: Entry): Promise<void>
  /** Makes the spool complete, and sure to survive a crash. */
  finish(): Promise<void>
}

/** Makes a spool in the folder of the database. Throws `STORAGE_FULL` or `READ_ONLY`. */
export async function createSpool(database: Database): Promise<SpoolWriter> {
  const scratch = await createScratch(database, 'ndjson')
  return {
    name: scratch.name,
    get size() {
      return scratch.size
    },
    write: (entry) => scratch.write(`${JSON.stringify(entry)}\n`),
    finish: () => scratch.finish(true),
    keep: () => scratch.keep(),
    [Symbol.asyncDispose]: () => scratch[Symbol.asyncDispose](),
  }
}

/** How much is read at once, in bytes: no more than a fraction of a unit of work. */
const READ_BYTES = 16 * 1024

/** Opens a spool for reading, which never waits: it happens within units of work. */
export function openSpool(database: Database, name: string): Spool {
  const path = scratchPath(database, name)
  if (!existsSync(path)) throw new SatchelError('STORAGE_FAILED', 'A spooled import is missing')
  const file = openSync(path, 'r')
  const { size } = fstatSync(file)

  function read(offset: number, most = Number.POSITIVE_INFINITY) {
    for (let length = READ_BYTES; ; length *= 2) {
      const bytes = Buffer.allocUnsafe(Math.min(length, size - offset))
      const count = readSync(file, bytes, 0, bytes.length, offset)
      const end = lineEnd(bytes.subarray(0, count), most)
      if (end >= 0)
        return { entries: parse(bytes.toString('utf8', 0, end)), next: offset + end + 1 }
      if (count < length) throw new SatchelError('STORAGE_FAILED', 'A spooled import is damaged')
    }
  }

  return { size, read, [Symbol.dispose]: () => closeSync(file) }
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
