import type { Clock } from '../../clock'
import { startJob } from '../job'
import { untilJobEnds } from '../job-end'
import type { Database } from '../store'
import type { Table } from '../table'
import { type Declared, addDeclaration, declare, nothingDeclared, rehearse } from './declared'
import type { Item, PartLimits } from './entry'
import { applySpool } from './import-job'
import { type Contents, inspect } from './inspection'
import { readItems } from './items'
import type { Target } from './plain-file'
import { type SpoolWriter, createSpool, openSpool, removeSpool } from './spool'

export interface ImportOptions {
  /** For a file of nothing but objects of one table. */
  readonly target: Target | null
  /** All in one unit of work instead of many short ones. */
  readonly isAtomic: boolean
  /** Only finds out whether the file is good. */
  readonly isDryRun: boolean
  /** How much each part of the file may hold. */
  readonly limits: PartLimits
  /** The size of the file in bytes, where it is known. */
  readonly size: number | null
  /** Told the bytes that are done; the total may change, and is null while it is not known. */
  readonly progress: (done: number, total: number | null) => void
}

export interface ImportResult extends Contents {
  /** Tables that the file declares. */
  readonly tables: number
}

/**
 * Imports a file (design.md §6, protocol.md §9.4): NDJSON, the JSON import file, or with a `target`
 * plain objects. All of it is found good before anything is applied; then it is applied by a job in
 * short units, which a crash only delays, or in one unit. The caller may do everything. Throws
 * `INVALID_REQUEST`, `INVALID_SCHEMA`, `UNPROCESSABLE`, `UNKNOWN_TABLE`, `UNKNOWN_REALM` or
 * `CONFLICT` naming the place in the file, and nothing is imported.
 */
export async function importFile(
  database: Database,
  clock: Clock,
  file: AsyncIterable<Uint8Array>,
  options: ImportOptions,
): Promise<ImportResult> {
  const { target, isAtomic, isDryRun, limits } = options
  const now = clock.now()
  const stages = createStages(options)
  await using spool = await createSpool(database)
  const declared = await spoolItems(spool, readItems(file, target, limits, stages.read))
  const tables = await rehearse(database, declared, now)
  const contents = await examine(database, spool.name, tables, stages.examined)
  const load = { declared, now, progress: stages.applied }
  if (isAtomic && !isDryRun) await applyAtOnce(database, spool.name, load)
  else if (!isDryRun) await applyAsJob(database, spool, load)
  return { ...contents, tables: declared.schemas.size }
}

/** The three passes over a file, one after the other, as one stretch of bytes. */
function createStages({ size, isDryRun, progress }: ImportOptions) {
  const passes = isDryRun ? 2 : 3
  let read = 0
  return {
    read: (bytes: number) => {
      read += bytes
      progress(read, size === null ? null : size * passes)
    },
    examined: (done: number, total: number) => progress(read + done, read + total * (passes - 1)),
    applied: (done: number, total: number) => progress(read + total + done, read + total * 2),
  }
}

/** Sorts what is in a file: entries go to the spool, in their order; declarations add up. */
async function spoolItems(spool: SpoolWriter, items: AsyncIterable<Item>): Promise<Declared> {
  const declared = nothingDeclared()
  for await (const item of items) {
    if ('declaration' in item) addDeclaration(declared, item.declaration)
    else await spool.write(item)
  }
  await spool.finish()
  return declared
}

async function examine(
  database: Database,
  name: string,
  tables: ReadonlyMap<string, Table>,
  progress: (done: number, total: number) => void,
): Promise<Contents> {
  using spool = openSpool(database, name)
  return await inspect(database, spool, tables, (done) => progress(done, spool.size))
}

/** How what was found good is applied. `progress` is told bytes of the spool. */
interface Load {
  readonly declared: Declared
  readonly now: number
  readonly progress: (done: number, total: number) => void
}

async function applyAtOnce(database: Database, name: string, load: Load): Promise<void> {
  const { declared, now, progress } = load
  using spool = openSpool(database, name)
  await database.write(async (tx) => {
    await declare(tx, declared, now)
    await applySpool(tx, spool, 0, now, (done) => {
      progress(done, spool.size)
      return true
    })
  })
}

/** Declares, and puts the job down that does the rest, in one unit; then waits for it. */
async function applyAsJob(database: Database, spool: SpoolWriter, load: Load): Promise<void> {
  const { declared, now, progress } = load
  const { name, size } = spool
  const { id } = await database.write(async (tx) => {
    await declare(tx, declared, now)
    return await startJob(tx, 'import', { spool: name }, now, size)
  })
  spool.keep()
  try {
    await untilJobEnds(database, id, ({ done }) => progress(done, size))
  } catch (error) {
    await database.write(async (tx) => void (await tx.jobs.remove(id)))
    await removeSpool(database, name)
    throw error
  }
}
