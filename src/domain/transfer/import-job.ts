import type { JobStep } from '../job/job-runner'
import type { WriteTx } from '../store/store'
import { applyEntries } from './application'
import { createContentLoader } from './archive-contents'
import type { BlobEntry } from './entry'
import type { TransferContext } from './archive'
import { type Spool, openSpool } from './spool'
import type { Job } from '../store/records'

/** The step of the jobs that imports into a database are, for its runner. */
export function importSteps(
  parts: Omit<TransferContext, 'database'>,
): Readonly<Partial<Record<Job['kind'], JobStep>>> {
  return { import: (database, job) => continueImport({ ...parts, database }, job) }
}

/** How long a unit takes on more entries, ms: other writers wait for little more than that. */
const UNIT_MS = 2

/**
 * Applies some entries and moves the job on in the same unit, so that whatever ends the process,
 * each entry is applied once. `done` of the job counts the bytes of its spool and of its contents.
 */
async function continueImport(context: TransferContext, job: Job): ReturnType<JobStep> {
  const { scratch } = context
  const { spool: name, archive, offset: reached = job.done } = job.state
  const offset = Number(reached)
  if (job.done === job.total) {
    await scratch.remove(String(name))
    if (typeof archive === 'string') await scratch.remove(archive)
    return 'done'
  }
  using spool = await openSpool(scratch, String(name))
  const { blobs, next } = blobsAt(spool, offset)
  if (blobs.length > 0) await applyBlobs(context, job, blobs, next)
  else await applyOthers(context, job, spool, offset)
  return 'more'
}

/** Blobs with their contents; when a content went away meanwhile nothing happens, for the next step to do it. */
async function applyBlobs(
  context: TransferContext,
  job: Job,
  blobs: readonly BlobEntry[],
  next: number,
): Promise<void> {
  const { database, archives, scratch } = context
  await using archive = await archives.open(await scratch.open(String(job.state['archive'])))
  await using load = createContentLoader(context)
  await load.bring(archive, blobs)
  await load.keep(() =>
    database.write(async (tx) => {
      if (!(await load.holds(tx, blobs))) return
      await applyEntries(tx, blobs, job.created)
      await tx.jobs.put(moved(job, next, bytesOf(blobs)))
    }),
  )
}

async function applyOthers(
  { database }: TransferContext,
  job: Job,
  spool: Spool,
  offset: number,
): Promise<void> {
  await database.write(async (tx) => {
    const end = performance.now() + UNIT_MS
    const next = await applySpool(tx, spool, offset, job.created, () => performance.now() < end)
    await tx.jobs.put(moved(job, next, 0))
  })
}

/** The job at another offset, so many bytes of contents further. */
function moved(job: Job, offset: number, bytes: number): Job {
  const { offset: before = job.done } = job.state
  const done = job.done + (offset - Number(before)) + bytes
  return { ...job, done, state: { ...job.state, offset } }
}

/**
 * Applies the entries of a spool from an offset on while `goesOn` says so; resolves to the offset
 * it has come to. The contents of blobs are there. `now` in ms.
 */
export async function applySpool(
  tx: WriteTx,
  spool: Spool,
  from: number,
  now: number,
  goesOn: (offset: number) => boolean,
): Promise<number> {
  let offset = from
  while (offset < spool.size) {
    const { entries, next } = spool.read(offset)
    await applyEntries(tx, entries, now)
    offset = next
    if (!goesOn(offset)) break
    await tx.breathe()
  }
  return offset
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

/** Contents that are brought at the same time, and in bytes, unless one alone is larger. */
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
