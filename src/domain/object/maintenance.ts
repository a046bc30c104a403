import { continueJob } from '../job/job'
import { type JobStep, UNIT_MS } from '../job/job-runner'
import { type Breath, entriesOf, LARGE, readStored, tracesInTurns } from './traces'
import type { WireObject } from '../value/value'
import type { Traces } from '../store/objects'
import { andThen, type Awaitable, type Job } from '../store/records'
import type { Database } from '../store/store'
import type { Table } from '../store/tables'

/** Objects per unit: short enough not to delay other requests (design.md §3). */
const STEP = { rows: 500, bytes: 1024 * 1024, entries: 50_000 }
/** Objects that are erased at once. */
const BATCH = 50

/** The jobs that keep the storage in order, for one runner. */
export function createMaintenance(): Readonly<Partial<Record<Job['kind'], JobStep>>> {
  const values = rememberLast()
  return {
    index: (database, { id }) => buildIndex(database, id, values),
    'drop-index': (database, { id }) =>
      continueJob(database, id, async (tx, job) =>
        (await tx.objects.dropEntries(1_000)) > 0 ? job : undefined,
      ),
    erase: (database, { id }) => eraseRealm(database, id, values),
  }
}

/** Parses stored values. A large one that comes again, because its entries take several steps, is known. */
interface Values {
  parse(text: string, tx: Breath): Awaitable<WireObject>
  /** Keeps no value for the next step. */
  forget(): void
}

function rememberLast(): Values {
  let last: { readonly text: string; readonly object: WireObject } | undefined
  return {
    parse(text, tx) {
      if (last?.text === text) return last.object
      return andThen(readStored(text, tx), (object) => {
        if (text.length > LARGE) last = { text, object }
        return object
      })
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
  return continueJob(database, id, async (tx, job) => {
    const { table: name, index: number, after } = job.state
    const table = await tx.tables.find(String(name))
    const index = table?.indexes.find((candidate) => candidate.number === number)
    if (table === undefined || index === undefined) return undefined
    const chunk = await tx.objects.scan(table, Number(after), STEP)
    const one = { ...table, indexes: [index] }
    const added: RowEntries[] = []
    // The entries of a damaged object come with the one that replaces it.
    for (const { seq, value } of chunk.rows.filter(({ isDamaged }) => isDamaged !== true)) {
      const entries = entriesOf(one, await values.parse(value, tx))
      if (!('part' in entries) || entries.count <= STEP.entries) {
        added.push({ seq, entries })
        continue
      }
      const { large, from } = job.state
      const part = entries.part(large === seq ? Number(from) : 0, STEP.entries)
      added.push({ seq, entries: part.entries })
      if (part.next === undefined) continue
      await tx.objects.addEntries(added)
      const state = { ...job.state, after: seq - 1, large: seq, from: part.next }
      return { ...job, state, done: job.done + added.length - 1 }
    }
    values.forget()
    await tx.objects.addEntries(added)
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
function eraseRealm(database: Database, id: string, values: Values): ReturnType<JobStep> {
  return continueJob(database, id, async (tx, job) => {
    const traces = (table: Table, text: string) =>
      tracesInTurns(table, text, (large) => values.parse(large, tx))
    const end = performance.now() + UNIT_MS
    const { realm } = job.state
    let place = typeof job.state['place'] === 'string' ? job.state['place'] : ''
    let { done } = job
    do {
      const erased = await tx.objects.erase(Number(realm), BATCH, traces, place)
      if (erased === undefined || erased.place === '') values.forget()
      if (erased === undefined) return undefined
      done += erased.count
      place = erased.place
    } while (performance.now() < end)
    return { ...job, state: { realm: realm!, place }, done }
  })
}
