import { accessOf } from '../access/access'
import { requireWriter } from '../access/actor'
import { requireReadableRefs } from '../object/authorize'
import { removalOf, store } from '../object/write'
import { aboutRow } from '../object/writing'
import { everyChange, type ObjectPut, type ObjectRemoval } from '../store/objects'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import { SatchelError, busy } from '../value/error'
import { atOnce, type Work } from '../value/work'
import { judgeRows, noteWritten, type ReadyRow } from './commit'
import { loadNamed } from './execute'
import { type Execution, type Push, writingOf } from './transaction'
import { isRejection } from './judge'
import { applyOperation } from './operations'
import type { Overlay, Row } from './overlay'
import type { ClientTransaction } from './request'
import { partsOf } from './row-steps'
import { beginExecution, beginPart, placeOperations, type Progress, relieved } from './unit'

/** A transaction whose rows were merged and judged before its unit, which only writes them. */
export interface Prepared {
  readonly execution: Execution
  readonly rows: ReadonlyMap<Table, readonly ReadyRow[]>
  /** Those of which its client has not seen something. */
  readonly unseen: readonly Row[]
  /** Up to this revision nobody else has changed its rows. */
  readonly revision: number
  /** The newest operation with criteria that its rows were held against. */
  readonly kept: number
}

const PART_ROWS = 250
/** How often a transaction is prepared anew, because its rows or rights have changed meanwhile. */
const MOST_TRIES = 3

/** Ends a unit whose transaction is to be prepared anew. */
const STALE = new Error('the rows of a prepared transaction have changed')

/**
 * Executes a transaction of very many named rows: `execute` runs the one unit in which it is written, for
 * which others wait. All that needs no lock is done in short units before. Throws as `writeUnit`, and `BUSY`
 * when others keep changing its rows.
 */
export async function executePrepared(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
  progress: Progress,
  execute: (transaction: ClientTransaction, prepared?: Prepared) => Promise<Progress>,
): Promise<Progress> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    try {
      const prepared = await prepare(database, push, transaction, progress)
      // Replayed operations have actors whose rights count when the rows are written.
      if (prepared.execution.isReplayed) return await execute(transaction)
      const part = await execute(transaction, await caughtUp(database, prepared))
      noteAllWritten(prepared, part, progress)
      return part
    } catch (error) {
      if (isRejection(error)) return execute({ ...transaction, refusal: error })
      if (error !== STALE) throw error
    }
  }
  throw busy(
    'Others keep changing the rows of a large transaction: nothing of it was stored, repeat the request',
  )
}

async function prepare(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
  progress: Progress,
): Promise<Prepared> {
  const { actor, now, signal } = push
  const inUnit = <T>(work: (tx: WriteTx) => T) =>
    relieved(
      push,
      database.write(
        (tx) => {
          requireWriter(tx, actor, now)
          return work(tx)
        },
        { signal },
      ),
    )
  // Made with the first object otherwise, which would change the rights of the actor.
  await inUnit((tx) => void tx.realms.ensure(actor.subject))
  const begun = await inUnit((tx) => {
    const execution = beginExecution(tx, push, beginPart(progress))
    return {
      execution: { ...execution, revision: pendingRevision() },
      revision: tx.revision(),
      kept: tx.criteriaOps.newest(),
    }
  })
  const { execution } = begun
  let applied = 0
  for (const [part, operations] of partsOf(transaction, PART_ROWS).entries()) {
    await inUnit((tx) => {
      continueIn(execution, tx)
      // The unit runs again.
      if (applied > part) return
      const placed = placeOperations(tx, push, { ...transaction, operations })
      atOnce(loadNamed(execution, placed))
      for (const one of placed) atOnce(applyOperation(execution, one))
      applied += 1
    })
  }
  const ready: ReadyRow[] = []
  const touched = execution.overlay.touched()
  for (let from = 0; from < touched.length; from += PART_ROWS) {
    const some = await inUnit((tx) => {
      continueIn(execution, tx)
      return judgeSome(execution, touched.slice(from, from + PART_ROWS))
    })
    ready.push(...some)
  }
  const rows = Map.groupBy(ready, ({ row }) => row.table)
  const unseen = execution.overlay
    .rows()
    .filter((row) => row.unseen !== undefined)
    .toArray()
  return { ...begun, rows, unseen }
}

/**
 * Stands in stamps for the revision, which only the unit that writes them has. A number that the sender of
 * the transaction cannot know, so that none of its values is taken for it.
 */
function pendingRevision(): number {
  const [high = 0, low = 0] = crypto.getRandomValues(new Uint32Array(2))
  return 2 ** 52 + (high % 2 ** 20) * 2 ** 32 + low
}

/** Notes the rows of a transaction that a unit has written: there others would have waited for it. */
function noteAllWritten({ rows }: Prepared, part: Progress, progress: Progress): void {
  const [revision] = part.written.revisions
  if (revision === undefined) return
  const { written, names } = progress
  const noting = { revision, written, names }
  for (const some of rows.values()) for (const { row } of some) noteWritten(noting, row)
}

/** Goes on in another unit. Throws `STALE` when the rights of the actor have changed. */
function continueIn(execution: Execution, tx: WriteTx): void {
  execution.tx = tx
  if (accessOf(tx, execution.push.actor) !== execution.access) throw STALE
}

function judgeSome(execution: Execution, rows: readonly Row[]): ReadyRow[] {
  const byTable = [...Map.groupBy(rows, ({ table }) => table)]
  return byTable.flatMap(([table, some]) => judgeRows(execution, table, some))
}

/** Looks at all that has changed until now in a read: little is left for the unit. */
async function caughtUp(database: Database, prepared: Prepared): Promise<Prepared> {
  const revision = await database.read((tx) => {
    requireUnchanged(tx, prepared)
    return tx.revision()
  })
  return { ...prepared, revision }
}

/** Throws `STALE` when somebody else has changed one of the rows. */
function requireUnchanged(tx: ReadTx, { execution, revision }: Prepared): void {
  const upTo = tx.revision()
  if (upTo === revision) return
  const { realmRefs, pending } = execution.access
  const realms = new Set([...realmRefs, ...pending.keys()])
  const tables = new Set(execution.overlay.tables().map(({ name }) => name))
  for (const { table, key } of everyChange(tx.objects, realms, revision, upTo, tables)) {
    if (execution.overlay.get({ name: table }, key) !== undefined) throw STALE
  }
}

/** Writes the rows of a prepared transaction. Throws `STALE` when it has to be prepared anew. */
export function* writePrepared(execution: Execution, prepared: Prepared): Work {
  const { overlay, names, clock, mayDelete, access } = prepared.execution
  const pending = String(prepared.execution.revision)
  const { tx } = execution
  if (execution.access !== access || tx.criteriaOps.newest() !== prepared.kept) throw STALE
  requireSameTables(tx, overlay)
  requireUnchanged(tx, prepared)
  execution.names.append(names)
  execution.clock.floor = Math.max(execution.clock.floor, clock.floor)
  execution.clock.latestGiven = Math.max(execution.clock.latestGiven, clock.latestGiven)
  execution.mayDelete = mayDelete
  for (const { table, key, unseen = {} } of prepared.unseen) {
    execution.written.noteUnseen(table, key, unseen)
  }
  // Says which revision it was, and that there is one.
  const first = prepared.rows.values().next().value?.[0]
  if (first !== undefined) noteWritten(execution, first.row)
  for (const [table, rows] of prepared.rows) {
    for (let from = 0; from < rows.length; from += PART_ROWS) {
      writeSome(execution, table, rows.slice(from, from + PART_ROWS), pending)
      yield
    }
  }
}

function requireSameTables(tx: ReadTx, overlay: Overlay): void {
  for (const table of overlay.tables()) {
    const found = tx.tables.find(table.name)
    if (found !== table && JSON.stringify(found) !== JSON.stringify(table)) throw STALE
  }
}

function writeSome(
  execution: Execution,
  table: Table,
  rows: readonly ReadyRow[],
  pending: string,
): void {
  const revision = String(execution.revision)
  const puts: ObjectPut[] = []
  const removals: ObjectRemoval[] = []
  const writing = writingOf(execution, table)
  for (const { row, placement, put } of rows) {
    if (put === undefined || placement === undefined) {
      if (row.before !== undefined) removals.push(removalOf(writing, row.before))
    } else {
      // Blobs are no part of the rows that nobody has changed.
      if (put.blobs.length > 0)
        aboutRow(row.table, row.key, () => requireReadableRefs(writing, placement))
      puts.push({ ...put, stamps: put.stamps?.replaceAll(pending, revision) ?? null })
    }
  }
  try {
    store(writing, puts)
  } catch (error) {
    // A row that the actor does not see has got one of the keys.
    throw error instanceof SatchelError && error.code === 'CONFLICT' ? STALE : error
  }
  store(writing, [], removals)
}
