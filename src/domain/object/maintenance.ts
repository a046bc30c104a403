import { continueJob } from '../job/job'
import { type JobStep, UNIT_MS } from '../job/job-runner'
import { entriesOf, storedTraces } from './traces'
import { parseStored } from '../value/value'
import type { Job } from '../store/records'

/** Objects per unit: short enough not to delay other requests (design.md §3). */
const STEP = { rows: 500, bytes: 1024 * 1024 }
/** Objects that are erased at once. */
const BATCH = 50

/** The jobs that keep the storage in order. */
export const MAINTENANCE: Readonly<Partial<Record<Job['kind'], JobStep>>> = {
  index: buildIndex,
  'drop-index': (database, { id }) =>
    continueJob(database, id, async (tx, job) =>
      (await tx.objects.dropEntries(1_000)) > 0 ? job : undefined,
    ),
  erase: eraseRealm,
}

/** Adds the entries of one new index; objects written meanwhile already have theirs. */
function buildIndex(...[database, { id }]: Parameters<JobStep>): ReturnType<JobStep> {
  return continueJob(database, id, async (tx, job) => {
    const { table: name, index: number, after } = job.state
    const table = await tx.tables.find(String(name))
    const index = table?.indexes.find((candidate) => candidate.number === number)
    if (table === undefined || index === undefined) return undefined
    const chunk = await tx.objects.scan(table, Number(after), STEP)
    const one = { ...table, indexes: [index] }
    await tx.objects.addEntries(
      // The entries of a damaged object come with the one that replaces it.
      chunk.rows
        .filter(({ isDamaged }) => isDamaged !== true)
        .map(({ seq, value }) => ({ seq, entries: entriesOf(one, parseStored(value)) })),
    )
    if (chunk.next === undefined) {
      await tx.tables.setIndexState(index.number, 'ready')
      return undefined
    }
    const state = { ...job.state, after: chunk.next }
    return { ...job, state, done: job.done + chunk.rows.length }
  })
}

/**
 * In small batches until the unit has lasted long enough, because rows have few or many index
 * entries.
 */
function eraseRealm(...[database, { id }]: Parameters<JobStep>): ReturnType<JobStep> {
  return continueJob(database, id, async (tx, job) => {
    const end = performance.now() + UNIT_MS
    let done = job.done
    do {
      const erased = await tx.objects.erase(Number(job.state['realm']), BATCH, storedTraces)
      if (erased === 0) return undefined
      done += erased
    } while (performance.now() < end)
    return { ...job, done }
  })
}
