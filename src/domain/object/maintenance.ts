import { continueJob } from '../job/job'
import type { JobStep } from '../job/job-runner'
import { entriesOf, tracesOf } from './traces'
import { parseStored, type WireObject } from '../value/value'
import type { Traces } from '../store/objects'
import type { Job } from '../store/records'
import type { RealmRef } from '../store/realms'
import type { Database } from '../store/store'
import type { Table } from '../store/tables'

/** Objects per unit: short enough not to delay other requests (design.md §3). */
const STEP = { rows: 500, bytes: 1024 * 1024, entries: 50_000 }
/** Rows that one unit erases. */
const ERASED = 100
/** A value of more UTF-16 units is kept, because its entries may take several units. */
const LARGE = 2 ** 20

/** The jobs that keep the storage in order, for one runner. */
export function createMaintenance(): Readonly<Partial<Record<Job['kind'], JobStep>>> {
  const values = rememberLast()
  return {
    index: (database, { id }) => buildIndex(database, id, values),
    'drop-index': (database, { id }) =>
      continueJob(database, id, (tx, job) => (tx.objects.dropEntries(1_000) > 0 ? job : undefined)),
    erase: (database, { id }) => eraseRealm(database, id, values),
  }
}

/** Parses stored values. A large one that comes again, because its entries take several units, is known. */
interface Values {
  parse(text: string): WireObject
  /** Keeps no value for the next step. */
  forget(): void
}

function rememberLast(): Values {
  let last: { readonly text: string; readonly object: WireObject } | undefined
  return {
    parse(text) {
      if (last?.text === text) return last.object
      const object = parseStored(text)
      if (text.length > LARGE) last = { text, object }
      return object
    },
    forget() {
      last = undefined
    },
  }
}

interface RowEntries {
  readonly seq: number
  readonly entries: Traces['entries']
}

/** Adds the entries of one new index; objects written meanwhile already have theirs. */
function buildIndex(database: Database, id: string, values: Values): ReturnType<JobStep> {
  return continueJob(database, id, (tx, job) => {
    const { table: name, index: number, after } = job.state
    const table = tx.tables.find(String(name))
    const index = table?.indexes.find((candidate) => candidate.number === number)
    if (table === undefined || index === undefined) return undefined
    const page = tx.objects.page(table, { after: { seq: Number(after) }, size: STEP })
    const one = { ...table, indexes: [index] }
    const added: RowEntries[] = []
    // The entries of a damaged object come with the one that replaces it.
    for (const { seq, value } of page.rows.filter(({ isDamaged }) => isDamaged !== true)) {
      const entries = entriesOf(one, values.parse(value))
      if (!('part' in entries) || entries.count <= STEP.entries) {
        added.push({ seq, entries })
        continue
      }
      const { large, from } = job.state
      const part = entries.part(large === seq ? Number(from) : 0, STEP.entries)
      added.push({ seq, entries: part.entries })
      if (part.next === undefined) continue
      tx.objects.addEntries(added)
      const state = { ...job.state, after: seq - 1, large: seq, from: part.next }
      return { ...job, state, done: job.done + added.length - 1 }
    }
    values.forget()
    tx.objects.addEntries(added)
    if (page.next === undefined) {
      tx.tables.setIndexState(index.number, 'ready')
      return undefined
    }
    const done = job.done + page.rows.length
    // Not all of many rows were counted.
    const total = Math.max(job.total ?? 0, done)
    return { ...job, state: { ...job.state, after: page.next.seq }, done, total }
  })
}

function eraseRealm(database: Database, id: string, values: Values): ReturnType<JobStep> {
  return continueJob(database, id, (tx, job) => {
    const { realm, place = '' } = job.state as { realm: RealmRef; place?: string }
    const traces = (table: Table, text: string) =>
      tracesOf(table, {
        text,
        get object() {
          return values.parse(text)
        },
      })
    const erased = tx.objects.erase(realm, ERASED, traces, place)
    if (erased === undefined || erased.place === '') values.forget()
    if (erased === undefined) return undefined
    const state = { realm, place: erased.place }
    return { ...job, state, done: job.done + erased.count }
  })
}
