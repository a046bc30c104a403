import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Random } from './random'

/**
 * Which names a disk may forget: those since a moment, as file systems with a journal do (a sync of
 * a folder then covers all names before that), or any that were not synced themselves.
 */
export type NameOrder = 'kept' | 'none'

export interface Forgotten {
  /** Of files that were not synced. */
  readonly bytes: number
  /** Renames and removals. */
  readonly names: number
}

/** The part that a disk keeps of the files of blobs when the power fails (`power-loss.c`). */
export interface BlobDisk {
  /** Called when the process is dead: makes the folder what would be found. */
  forget(): Forgotten
}

/** The current content of `folder` is on the disk. */
export function createBlobDisk(folder: string, order: NameOrder, random: Random): BlobDisk {
  const journal = `${folder}.undo`
  let known = new Set(filesIn(folder).map(inodeOf))

  return {
    forget() {
      const { changes, sizes, syncedAt } = readJournal(journal)
      requireSeen(folder, known, changes)
      const forgotten = changes.filter(chooseForgotten(changes, syncedAt, order, random))
      for (const change of forgotten.toReversed()) undo(journal, change)
      if (order === 'none') loseDrafts(folder, random)
      let bytes = 0
      for (const path of filesIn(folder)) {
        const synced = known.has(inodeOf(path)) ? Infinity : (sizes.get(inodeOf(path)) ?? 0)
        bytes += loseBytes(path, synced, random)
      }
      rmSync(journal, { recursive: true, force: true })
      known = new Set(filesIn(folder).map(inodeOf))
      return { bytes, names: forgotten.length }
    },
  }
}

interface Change {
  /** Its place in the journal. */
  readonly at: number
  /** The name that was given or taken away. */
  readonly path: string
  /** Files that had another name before. */
  readonly from: string | undefined
  /** The name under which the journal keeps what had this one. */
  readonly saved: string | undefined
}

interface Journal {
  readonly changes: readonly Change[]
  /** Up to where files are on the disk, by inode. */
  readonly sizes: ReadonlyMap<number, number>
  /** When each folder was synced last, as a place in the journal. */
  readonly syncedAt: ReadonlyMap<string, number>
}

function readJournal(folder: string): Journal {
  const file = join(folder, 'journal')
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const changes: Change[] = []
  const sizes = new Map<number, number>()
  const syncedAt = new Map<string, number>()
  const savedAs = (field = '') => (field === '-1' ? undefined : field)
  for (const [at, line] of lines.entries()) {
    const [what, one = '', two = '', three = ''] = line.split('\t')
    if (what === 'sync') sizes.set(Number(one), Number(two))
    else if (what === 'names') syncedAt.set(one, at)
    else if (what === 'rename') changes.push({ at, path: three, from: two, saved: savedAs(one) })
    else changes.push({ at, path: two, from: undefined, saved: savedAs(one) })
  }
  return { changes, sizes, syncedAt }
}

/** Every new content must have got its name before our eyes: else we would call safe what is not. */
function requireSeen(folder: string, known: ReadonlySet<number>, changes: readonly Change[]): void {
  const named = new Set(changes.map(({ path }) => path))
  for (const path of filesIn(folder)) {
    if (basename(dirname(path)) === 'incoming' || known.has(inodeOf(path)) || named.has(path))
      continue
    throw new Error(`The layer has not seen how ${path} got its name`)
  }
}

function chooseForgotten(
  changes: readonly Change[],
  syncedAt: ReadonlyMap<string, number>,
  order: NameOrder,
  random: Random,
): (change: Change) => boolean {
  const firstOf = (candidates: readonly Change[]) => {
    const cut = random.next() < 0.4 ? 0 : random.between(0, candidates.length)
    return candidates[cut]?.at ?? Infinity
  }
  if (order === 'kept') {
    const last = Math.max(-1, ...syncedAt.values())
    const first = firstOf(changes.filter(({ at }) => at > last))
    return ({ at }) => at >= first
  }
  // The operations on one name stay in order, independent of other names.
  const isOpen = ({ at, path }: Change) => at > (syncedAt.get(dirname(path)) ?? -1)
  const byPath = Map.groupBy(changes.filter(isOpen), ({ path }) => path)
  const firsts = new Map(Array.from(byPath, ([path, open]) => [path, firstOf(open)]))
  return ({ at, path }) => at >= (firsts.get(path) ?? Infinity)
}

/** The process may have died between the journal and what it is about. */
function undo(journal: string, { path, from, saved }: Change): void {
  const isDone = from === undefined ? !existsSync(path) : !existsSync(from)
  if (!isDone) return
  if (from !== undefined) renameSync(path, from)
  if (saved !== undefined) linkSync(join(journal, saved), path)
}

/** Names of unfinished uploads are never synced. */
function loseDrafts(folder: string, random: Random): void {
  for (const path of filesIn(join(folder, 'incoming'))) if (random.next() < 0.5) rmSync(path)
}

/** Bytes beyond the synced ones may be there, or cut off, or others, in a file as long as before. */
function loseBytes(path: string, synced: number, random: Random): number {
  const { size } = statSync(path)
  if (size <= synced) return 0
  const length = random.pick([size, synced, random.between(synced, size)])
  const fill = random.pick(['kept', 'zeros', 'garbage'] as const)
  if (length < size) {
    truncateSync(path, length)
    return size - length
  }
  if (fill === 'kept') return 0
  const lost = Buffer.alloc(size - synced, fill === 'zeros' ? 0 : 'garbage')
  const descriptor = openSync(path, 'r+')
  writeSync(descriptor, lost, 0, lost.length, synced)
  closeSync(descriptor)
  return lost.length
}

function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function inodeOf(path: string): number {
  return statSync(path).ino
}
