import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { type Executable, startExecutable } from '../promises/setup'
import { temporaryFolder } from '../setup'
import { type Forgotten, type NameOrder, createBlobDisk } from './forgotten-blobs'
import { createHistory } from './history'
import { compileLayer } from './layer'
import { integrityOf } from './integrity'
import { type KilledUploads, killUploads } from './kill-uploads'
import { killDuring } from './kill-writers'
import { createRandom, type Random } from './random'
import { type Run, readRun, writeAway } from './writers'

export interface PowerLossReport {
  readonly rounds: number
  readonly acknowledged: number
  /** Writes that the disk forgot, in bytes. */
  readonly forgotten: number
  /** Acknowledged writes that are not there. */
  readonly lost: readonly string[]
  /** Files that are not whole. */
  readonly broken: readonly string[]
}

/**
 * Promise 2: kills the executable under writers, makes the disk forget what was not synced
 * (`power-loss.c`), wholly or from a random write on, that one torn, and starts it again.
 */
export async function losePower(
  rounds: number,
  seed: number,
  durability: 'full' | 'relaxed',
): Promise<PowerLossReport> {
  using folder = temporaryFolder()
  using built = temporaryFolder()
  const library = compileLayer(built.path, 'power-loss')
  const random = createRandom(seed)
  const options = { args: ['--durability', durability], environment: { LD_PRELOAD: library } }
  const lost: string[] = []
  const broken: string[] = []
  let acknowledged = 0
  let forgotten = 0
  // Ended in order, so that the client, the schema and the keys survive any power loss.
  const first = await startExecutable(folder.path)
  await first[Symbol.asyncDispose]()
  const { client } = first
  let executable: Executable = await startExecutable(folder.path, { ...options, client })
  try {
    // A kill may come when everything is on the disk: then there are more rounds.
    for (let round = 1; round <= rounds || (forgotten === 0 && round <= rounds * 5); round += 1) {
      const root = await executable.root()
      const run: Run = { root, mark: `r${round}`, history: createHistory() }
      const writers = Array.from({ length: random.between(1, 16) }, (_, writer) =>
        writeAway(run, writer, createRandom(seed + round * 1_000 + writer)),
      )
      const hasBegun = () => run.history.acknowledged >= 10
      await killDuring(executable, writers, random.between(0, 200), hasBegun)
      forgotten += forgetUnsynced(folder.path, random)
      executable = await startExecutable(folder.path, { ...options, client })
      const stored = await readRun(await executable.root(), run.mark)
      const integrity = integrityOf(folder.path)
      acknowledged += run.history.acknowledged
      lost.push(
        ...run.history.contradictions(stored).map((problem) => `round ${round}: ${problem}`),
      )
      if (integrity !== 'ok') broken.push(`round ${round}: ${integrity}`)
    }
  } finally {
    await executable[Symbol.asyncDispose]()
  }
  return { rounds, acknowledged, forgotten, lost, broken }
}

export interface LostUploads extends KilledUploads {
  readonly forgotten: Forgotten
}

/** The same under uploaders, whose bytes and names the disk forgets as well as their records. */
export async function losePowerOfUploads(
  rounds: number,
  seed: number,
  durability: 'full' | 'relaxed',
  order: NameOrder,
): Promise<LostUploads> {
  using built = temporaryFolder()
  const environment = { LD_PRELOAD: compileLayer(built.path, 'power-loss') }
  const args = ['--durability', durability]
  const forgotten = { bytes: 0, names: 0 }
  const killed = await killUploads(rounds, seed, async (folder, random) => {
    // The folders survive any power loss.
    await using first = await startExecutable(folder)
    await (await first.root()).send('PUT', '/blob/first', { body: 'first' })
    const disk = createBlobDisk(join(folder, 'databases', 'main', 'blobs'), order, random)
    return {
      options: { args, environment, client: first.client },
      losesRecords: durability === 'relaxed',
      strike() {
        forgetUnsynced(folder, random)
        const { bytes, names } = disk.forget()
        forgotten.bytes += bytes
        forgotten.names += names
      },
      hasForgotten: () => forgotten.bytes > 0 && forgotten.names > 0,
    }
  })
  return { ...killed, forgotten }
}

/** Undoes writes since the last sync. Returns how many bytes they had. */
function forgetUnsynced(folder: string, random: Random): number {
  const database = join(folder, 'databases', 'main', 'database.sqlite')
  let bytes = 0
  for (const file of [database, `${database}-wal`]) {
    const journal = `${file}.undo`
    if (!existsSync(journal)) continue
    bytes += undo(file, readRecords(readFileSync(journal)), random)
    rmSync(journal)
  }
  // Shared memory does not outlive the machine.
  rmSync(`${database}-shm`, { force: true })
  return bytes
}

interface UndoRecord {
  /** Of the file before. */
  readonly size: number
  readonly offset: number
  readonly before: Buffer
}

/** The last record may be torn: the process died while it wrote it, before the write it is about. */
function readRecords(journal: Buffer): UndoRecord[] {
  const records: UndoRecord[] = []
  let at = 0
  while (at + 24 <= journal.length) {
    const [size, offset, length] = [0, 8, 16].map((place) =>
      Number(journal.readBigInt64LE(at + place)),
    )
    if (size === undefined || offset === undefined || length === undefined) break
    at += 24
    if (at + length > journal.length) break
    records.push({ size, offset, before: journal.subarray(at, at + length) })
    at += length
  }
  return records
}

const SECTOR = 512

function undo(file: string, records: readonly UndoRecord[], random: Random): number {
  const kept = random.next() < 0.5 ? 0 : random.between(0, records.length)
  const descriptor = openSync(file, 'r+')
  let bytes = 0
  try {
    for (const [position, { size, offset, before }] of [...records.entries()].toReversed()) {
      if (position < kept) break
      const isTorn = position === kept && random.next() < 0.5
      const after = Buffer.alloc(Math.max(0, fstatSync(descriptor).size - offset))
      const length = Math.min(after.length, 128 * SECTOR)
      readSync(descriptor, after, 0, length, offset)
      ftruncateSync(descriptor, size)
      writeSync(descriptor, before, 0, before.length, offset)
      bytes += length
      if (!isTorn || length < 2 * SECTOR) continue
      const sectors = random.between(1, Math.floor(Math.min(length, 4096) / SECTOR) - 1)
      writeSync(descriptor, after, 0, sectors * SECTOR, offset)
    }
  } finally {
    closeSync(descriptor)
  }
  return bytes
}
