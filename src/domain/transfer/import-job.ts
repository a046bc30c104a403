import { quoted, invalidRequest, conflict } from '../value/error'
import { continueJob } from '../job/job'
import type { JobStep } from '../job/job-runner'
import { untilJobEnds } from '../job/job-end'
import type { Database, ReadTx, Write } from '../store/store'
import { applyEntries, applyOwners } from './application'
import { progressOfImport } from './import-progress'
import { createContentLoader } from './archive-contents'
import { type BlobEntry, LARGE } from './entry'
import type { Contents } from './inspection'
import type { TransferContext } from './archive'
import { type Spool, openSpool } from './spool'
import { untilAborted } from '../value/abort'
import { nextTurn } from '../value/turn'
import type { Job } from '../store/records'
import type { Scratch } from '../store/scratch'

/** The step of the jobs that imports into a database are, for its runner. */
export function importSteps(
  context: TransferContext,
): Readonly<Partial<Record<Job['kind'], JobStep>>> {
  return { import: (_, job) => continueImport(context, job) }
}

/**
 * Ends an import: the objects that were applied stay, the others are discarded. One that had stopped
 * already is removed from the list of jobs. Resolves to the job as it was. Throws `INVALID_REQUEST` for an
 * unknown job and `CONFLICT` for one of another kind, whose work is never optional.
 */
export async function cancelImport(
  { database, scratch }: Pick<TransferContext, 'database' | 'scratch'>,
  id: string,
  write: Write = (work) => database.write(work),
): Promise<Job> {
  const job = await write((tx) => {
    const found = tx.jobs.find(id)
    if (found === undefined) {
      throw invalidRequest(`There is no job ${quoted(id)}: it may have ended`)
    }
    if (found.kind !== 'import') {
      throw conflict('Only imports can be cancelled: other jobs must end')
    }
    // A command that waits for the import reads why it stopped, and removes the job.
    if (found.failure === null) tx.jobs.put({ ...found, failure: 'it was cancelled' })
    else tx.jobs.remove(id)
    return found
  })
  await removeFiles(scratch, job)
  return job
}

async function removeFiles(scratch: Scratch, { state }: Job): Promise<void> {
  for (const name of [state['spool'], state['archive']]) {
    if (typeof name === 'string') await scratch.remove(name)
  }
}

export interface ImportResult extends Contents {
  /** Tables that the file declares. */
  readonly tables: number
  /**
   * The id of an import of the same file that was under way when this one began: this one waited for its
   * end, and imported nothing. Otherwise null.
   */
  readonly followed: string | null
}

/** An import that is a job. */
export interface ImportUnderWay {
  readonly job: string
  readonly result: ImportResult
  /** True once it has stopped before its end. */
  readonly hasStopped: boolean
  /** Throws as `untilJobEnds`; from now on `watch` is called with the bytes done and their total. */
  untilEnd(watch: (done: number, total: number) => void): Promise<void>
}

/** Observes an import from now on, so that its end is known also when its job is gone by then. */
export function observeImport(
  database: Database,
  job: string,
  result: ImportResult,
): ImportUnderWay {
  let hasStopped = false
  let seen: Job | undefined
  let watch: (job: Job) => void = () => undefined
  const ended = untilJobEnds(database, job, (current) => {
    seen = current
    watch(current)
  })
  ended.catch(() => {
    hasStopped = true
  })
  return {
    job,
    result,
    get hasStopped() {
      return hasStopped
    },
    untilEnd(watcher) {
      watch = ({ done, total }) => watcher(done, total ?? done)
      if (seen !== undefined) watch(seen)
      return ended
    },
  }
}

/** The imports of a database by the digest of their file and target, until this is disposed. */
export interface ImportCensus extends Disposable {
  get(digest: string): ImportUnderWay | undefined
}

/**
 * Observes the imports that are under way or were interrupted, and those that begin from now on: one of
 * them may end before another caller has read the same file.
 */
export async function watchImports(database: Database): Promise<ImportCensus> {
  const imports = new Map<string, ImportUnderWay>()
  const look = async () => {
    for (const { id, state } of (await database.read((tx) => tx.jobs.list())).filter(isUnderWay)) {
      const digest = String(state['digest'])
      if (imports.get(digest)?.job === id) continue
      imports.set(digest, observeImport(database, id, followed(id, state['result'])))
    }
  }
  await look()
  const unsubscribe = database.onCommit(({ jobs }) => {
    // Not during the commit; a database that closes has no more imports.
    if (jobs)
      void nextTurn()
        .then(look)
        .catch(() => undefined)
  })
  return { get: (digest) => imports.get(digest), [Symbol.dispose]: unsubscribe }
}

/** The id and the result of an import that is under way. */
export function findImport(
  tx: ReadTx,
  digest: string,
): Pick<ImportUnderWay, 'job' | 'result'> | undefined {
  const jobs = tx.jobs.list()
  const found = jobs.filter(isUnderWay).find(({ state }) => state['digest'] === digest)
  return found && { job: found.id, result: followed(found.id, found.state['result']) }
}

function isUnderWay({ kind, failure, state }: Job): boolean {
  return kind === 'import' && failure === null && typeof state['digest'] === 'string'
}

function followed(job: string, result: unknown): ImportResult {
  return { ...(result as ImportResult), followed: job }
}

/**
 * Waits for the end of an import. Throws as `untilJobEnds`, and the job that has stopped is removed;
 * throws the reason of the signal when it is aborted first, and the job goes on.
 */
export async function untilImported(
  { database, scratch }: Pick<TransferContext, 'database' | 'scratch'>,
  underWay: ImportUnderWay,
  watch: (done: number, total: number) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  try {
    const ended = underWay.untilEnd(watch)
    await untilAborted(ended, signal)
  } catch (error) {
    if (signal?.aborted === true) throw error
    const job = await database.write((tx) => {
      const found = tx.jobs.find(underWay.job)
      tx.jobs.remove(underWay.job)
      return found
    })
    if (job !== undefined) await removeFiles(scratch, job)
    throw error
  }
}

/** Entries that one unit applies, unless it reads fewer at once: other writers wait for it. */
const MOST_ENTRIES = 256

/**
 * Applies some entries and advances the job in the same unit, so that after any end of the process,
 * each entry is applied once. `done` of the job counts the bytes of its spool and of its contents.
 */
async function continueImport(context: TransferContext, job: Job): ReturnType<JobStep> {
  const { scratch } = context
  const { spool: name, archive } = job.state
  if (job.done === job.total && typeof job.state['owners'] === 'number') {
    return addOwners(context, job)
  }
  if (job.done === job.total) {
    await scratch.remove(String(name))
    if (typeof archive === 'string') await scratch.remove(archive)
    return continueJob(context.database, job.id, () => undefined)
  }
  using spool = await openSpool(scratch, String(name))
  if (spool.isLonger(offsetOf(job), LARGE)) return await applyLong(context, job, spool)
  const { blobs, next } = blobsAt(spool, offsetOf(job))
  return blobs.length > 0
    ? await applyBlobs(context, job, blobs, next)
    : await applyOthers(context, job, spool)
}

/** Applies blobs with their contents. Throws `BUSY` when a content was collected meanwhile: the step runs again. */
async function applyBlobs(
  context: TransferContext,
  job: Job,
  blobs: readonly BlobEntry[],
  next: number,
): ReturnType<JobStep> {
  const { database, archives, scratch } = context
  await using archive = await archives.open(await scratch.open(String(job.state['archive'])))
  await using loader = createContentLoader(context)
  await loader.load(archive, blobs)
  return await loader.keep(() =>
    continueJob(database, job.id, (tx, current) => {
      if (offsetOf(current) !== offsetOf(job)) return current
      applyEntries(tx, blobs, current.created, loader.fileOf)
      return moved(current, next, blobs.length, bytesOf(blobs))
    }),
  )
}

async function applyOthers(
  { database }: TransferContext,
  { id }: Job,
  spool: Spool,
): ReturnType<JobStep> {
  return continueJob(database, id, (tx, job) => {
    const { entries, next } = spool.read(offsetOf(job), MOST_ENTRIES)
    applyEntries(tx, entries, job.created)
    return moved(job, next, entries.length, 0)
  })
}

/** Applies an entry that is long: it is read in slices before the unit begins. */
async function applyLong(
  { database }: TransferContext,
  job: Job,
  spool: Spool,
): ReturnType<JobStep> {
  const { entry, next } = await spool.readLong(offsetOf(job))
  return continueJob(database, job.id, (tx, current) => {
    if (offsetOf(current) !== offsetOf(job)) return current
    applyEntries(tx, [entry], current.created)
    return moved(current, next, 1, 0)
  })
}

function addOwners({ database }: TransferContext, { id }: Job): ReturnType<JobStep> {
  return continueJob(database, id, (tx, job) => {
    const next = applyOwners(tx, Number(job.state['owners']), job.created)
    return { ...job, state: { ...job.state, owners: next ?? null } }
  })
}

/** How far into its spool the job has come. */
function offsetOf({ done, state: { offset = done } }: Job): number {
  return Number(offset)
}

/** The job at another offset, so many rows and bytes of contents further. */
function moved(job: Job, offset: number, rows: number, bytes: number): Job {
  const done = job.done + (offset - offsetOf(job)) + bytes
  const progress = progressOfImport(job)
  const row = progress === null ? {} : { row: progress.row + rows }
  return { ...job, done, state: { ...job.state, ...row, offset } }
}

/** All blobs of a spool, some at a time. */
export function* blobsOf(spool: Spool): Generator<readonly BlobEntry[]> {
  for (let offset = 0; offset < spool.size;) {
    const { blobs, next } = blobsAt(spool, offset)
    if (blobs.length === 0) return
    yield blobs
    offset = next
  }
}

/** How many contents are loaded at the same time, and bytes, unless a single one is larger. */
const BATCH = { blobs: 16, bytes: 64 * 2 ** 20 }

/** Some of the blobs at this offset, which come before all else, and the offset behind them. */
function blobsAt(spool: Spool, offset: number): { blobs: readonly BlobEntry[]; next: number } {
  const blobs: BlobEntry[] = []
  for (const entry of spool.read(offset, BATCH.blobs).entries) {
    if (!('blob' in entry)) break
    if (blobs.length > 0 && bytesOf(blobs) + entry.blob.size > BATCH.bytes) break
    blobs.push(entry)
  }
  if (blobs.length === 0) return { blobs, next: offset }
  return { blobs, next: spool.read(offset, blobs.length).next }
}

export function bytesOf(blobs: readonly BlobEntry[]): number {
  return blobs.reduce((sum, { blob }) => sum + blob.size, 0)
}
