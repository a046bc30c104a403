import { startJob } from '../job/job'
import { type Draft, draftOf } from '../object/draft'
import { place } from '../object/placement'
import { putDrafts } from '../object/put'
import { areTooMany, entriesOf, MOST_REMOVED } from '../object/traces'
import { writeRows } from '../object/write'
import type { Job } from '../store/records'
import type { Database, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { parseStored, type WireObject } from '../value/value'
import { writingOf } from './application'
import { draftOfLongEntry, type Entry } from './entry'

/**
 * An object of an import with so many index entries that others would wait for them: they are added in
 * several units, in which nobody sees the object. It is part of the state of its job.
 */
interface Staged {
  readonly table: string
  /** A realm that is being erased: the object goes with it when the import ends before. */
  readonly realm: number
  readonly position: number
  /** How many of its values have entries, in the indexes with these numbers. */
  readonly from: number
  readonly indexes: string
  /** Where the spool goes on behind it. */
  readonly next: number
}

/** Each index entry takes two characters at least: objects in shorter texts have few. */
export const FEW_BYTES = 2 * MOST_REMOVED

/** An object that is to be staged, and its table. */
interface LargeDraft {
  readonly table: string
  readonly draft: Draft
}

/** The draft of an entry with so many index entries that it is to be staged; otherwise undefined. */
export async function largeDraft(
  database: Database,
  entry: Entry,
): Promise<LargeDraft | undefined> {
  if (!('table' in entry) || entry.data === null) return undefined
  const table = await database.read((tx) => tx.tables.find(entry.table))
  if (table === undefined || table.builtIn) return undefined
  const draft = await draftOfLongEntry(table, entry, entry.data)
  const isLarge = areTooMany({ entries: entriesOf(table, draft.object), blobs: [] })
  return isLarge ? { table: table.name, draft } : undefined
}

/** The object that a database is staging: it is read and parsed once for all of its units. */
export const stagedValues = new WeakMap<Database, StagedValue>()

interface StagedValue {
  readonly job: string
  readonly position: number
  readonly text: string
  readonly object: WireObject
}

/** Stores such an object where nobody sees it. `next` is where the spool goes on behind it. */
export function stageObject(
  database: Database,
  tx: WriteTx,
  job: Job,
  { table: name, draft }: LargeDraft,
  next: number,
): Job {
  const table = requireTable(tx, name)
  const writing = writingOf(tx, table, job.created)
  if (draft.realmId !== undefined) tx.realms.ensure(draft.realmId)
  const previous = draft.key === undefined ? undefined : tx.objects.find(table, draft.key)
  const { text, object } = place(writing, draft, previous).draft
  const realm = tx.realms.createErasing()
  const position = tx.objects.stage(table, text, realm, job.created)
  stagedValues.set(database, { job: job.id, position, text, object })
  const staged: Staged = { table: name, realm, position, from: 0, indexes: '', next }
  return { ...job, state: { ...job.state, staged } }
}

/**
 * Adds some entries of the staged object; with the last ones it replaces the object under its key and is
 * shown. Resolves to the job with more of it staged, or to the offset in the spool behind it.
 */
export function continueStaged(database: Database, tx: WriteTx, job: Job): Job | number {
  const staged = job.state['staged'] as Staged
  const { position, next } = staged
  const table = requireTable(tx, staged.table)
  const known = stagedValues.get(database)
  const isKnown = known?.job === job.id && known.position === position
  const value = isKnown ? known : readValue(tx, table, job, position)
  stagedValues.set(database, value)
  const entries = entriesOf(table, value.object)
  // Entries that are there already may be added again.
  const indexes = table.indexes.map(({ number }) => number).join()
  const from = staged.indexes === indexes ? staged.from : 0
  const part = 'part' in entries ? entries.part(from, MOST_REMOVED) : { entries, next: undefined }
  tx.objects.addEntries([{ seq: position, entries: part.entries }])
  if (part.next !== undefined) {
    return { ...job, state: { ...job.state, staged: { ...staged, from: part.next, indexes } } }
  }
  stagedValues.delete(database)
  show(tx, table, staged, value, job.created)
  return next
}

function readValue(tx: WriteTx, table: Table, { id: job }: Job, position: number): StagedValue {
  const text = tx.objects.readStaged(table, position)
  return { job, position, text, object: parseStored(text) }
}

function show(
  tx: WriteTx,
  table: Table,
  { realm, position }: Staged,
  { text, object }: StagedValue,
  now: number,
): void {
  const draft = draftOf(table, object, undefined, text)
  // It may have been removed while the entries were added.
  if (draft.realmId !== undefined) tx.realms.ensure(draft.realmId)
  const writing = writingOf(tx, table, now)
  const previous = tx.objects.find(table, draft.key ?? '')
  if (previous?.isDamaged === true) {
    // Its entries are not known, and cannot go in steps.
    writeRows(writing, [{ before: previous, after: undefined }])
  }
  putDrafts({ ...writing, staged: position }, [draft])
  startJob(tx, 'erase', { realm }, now)
}

/** Begins the erasure of what an import that ends early has staged; resolves to the job without it. */
export function discardStaged(database: Database, tx: WriteTx, job: Job): Job {
  const { staged, ...state } = job.state
  if (staged === undefined) return job
  stagedValues.delete(database)
  startJob(tx, 'erase', { realm: (staged as Staged).realm }, job.created)
  return { ...job, state }
}

function requireTable(tx: WriteTx, name: string): Table {
  const table = tx.tables.find(name)
  // A table that was found stays, though it may be hidden by now.
  if (table === undefined) throw new Error(`the table ${name} is gone`)
  return table
}
