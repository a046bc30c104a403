import { continueJob } from '../job/job'
import type { JobStep } from '../job/job-runner'
import { entriesOf, readableOf, tracesOf } from './traces'
import { entriesIn } from './write'
import { parseStored } from '../value/value'
import type { Traces } from '../store/objects'
import type { Job } from '../store/records'
import type { RealmRef } from '../store/realms'
import type { Database } from '../store/store'

/** Objects per unit: short enough not to delay other requests (design.md §3). The last one may exceed `entries`. */
const STEP = { rows: 500, bytes: 1024 * 1024, entries: 50_000 }
/** Rows that one unit erases. */
const ERASED = 100

/** The jobs that keep the storage in order. */
export const MAINTENANCE: Readonly<Partial<Record<Job['kind'], JobStep>>> = {
  index: buildIndex,
  'drop-index': (database, { id }) =>
    continueJob(database, id, (tx, job) => (tx.objects.dropEntries(1_000) > 0 ? job : undefined)),
  erase: (database, { id }) =>
    continueJob(database, id, (tx, job) => {
      const realm = job.state['realm'] as RealmRef
      const count = tx.objects.erase(realm, ERASED, (table, text) =>
        tracesOf(table, readableOf(text)),
      )
      return count === undefined ? undefined : { ...job, done: job.done + count }
    }),
}

interface RowEntries {
  readonly seq: number
  readonly entries: Traces['entries']
}

/** Adds the entries of one new index; objects written meanwhile already have theirs. */
function buildIndex(database: Database, { id }: Job): ReturnType<JobStep> {
  return continueJob(database, id, (tx, job) => {
    const { table: name, index: number, after } = job.state
    const table = tx.tables.find(String(name))
    const index = table?.indexes.find((candidate) => candidate.number === number)
    if (table === undefined || index === undefined) return undefined
    const page = tx.objects.page(table, { after: { seq: Number(after) }, size: STEP })
    const one = { ...table, indexes: [index] }
    const added: RowEntries[] = []
    let rows = 0
    for (let left = STEP.entries; rows < page.rows.length && left > 0; rows += 1) {
      const row = page.rows[rows]!
      // The entries of a damaged object come with the one that replaces it.
      if (row.isDamaged === true) continue
      const entries = entriesOf(one, parseStored(row.value))
      added.push({ seq: row.seq, entries })
      left -= entriesIn({ entries })
    }
    tx.objects.addEntries(added)
    const end = rows < page.rows.length ? page.rows[rows - 1]?.seq : page.next?.seq
    if (end === undefined) {
      tx.tables.setIndexState(index.number, 'ready')
      return undefined
    }
    const done = job.done + rows
    // Not all of many rows were counted.
    const total = Math.max(job.total ?? 0, done)
    return { ...job, state: { ...job.state, after: end }, done, total }
  })
}
