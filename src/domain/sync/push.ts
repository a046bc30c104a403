// The transactions of a request, each as a whole and once: docs/merging.md, "Transactions" and
// "Exactly once". Each goes one of these ways (`executeUnit`, `runUnit`):
//
// | transaction                                       | way                  | units                              |
// | ------------------------------------------------- | -------------------- | ---------------------------------- |
// | rows of work before the first login               | `adoptAnonymousRows` | some hundred rows in each          |
// | one operation on more than 5,000 rows             | `executeInSteps`     | all rows judged, then some in each |
// | several operations that name more than 1,000 rows | `executePrepared`    | judged before the one that writes  |
// | more than 500 keys and changes                    | `runLong`            | one, in steps                      |
// | any other                                         | `executeOnce`        | one, shared with its neighbours    |

import type { Database, WriteTx } from '../store/store'
import { SatchelError, busy } from '../value/error'
import { minuteOf } from '../value/time'
import { atOnce, type Work } from '../value/work'
import { type Candidates, hasCriteria } from './candidates'
import { inOrderMade, isInOrder, withRightTimes } from './clock'
import { executeAll } from './execute'
import { WrittenRows, type Execution, type Push } from './transaction'
import { isRejection } from './judge'
import { createReplays } from './kept'
import { NamedKeys, type Named, type Rejection } from './named-keys'
import { createRefusedRows, type RefusedRows } from './refused'
import { type ClientTransaction, freeObjects } from './request'
import { executePrepared, type Prepared, writePrepared } from './prepare'
import { reachOf } from './reach'
import { executeInSteps } from './steps'
import {
  type Progress,
  addRevisions,
  attemptPart,
  beginExecution,
  beginPart,
  endPart,
  findApplied,
  inSteps,
  noteAll,
  placeOperations,
  rejectOnce,
  writeLongUnit,
  writeUnit,
} from './unit'
import { adoptAnonymousRows } from './anonymous-rows'

/** What a request did. */
export interface Pushed {
  /** All keys that the request names, those of repeated transactions too. */
  readonly named: Named
  readonly rejections: readonly Rejection[]
  /** The rows of the transactions that were rejected now. */
  readonly refused: RefusedRows
  /** The revisions in which nothing changed but rows that the request names. */
  readonly ownRevisions: ReadonlySet<number>
}

/** The size that the transactions of one unit have together at the most, and that of a longer one, which has a long unit. */
const SHARED_UNIT_SIZE = 100
const LONG_UNIT_SIZE = 500
/** A row with rules takes about as long as so many others. */
const SIZE_OF_ROW_WITH_RULES = 5

/**
 * Executes the transactions of a request in order, each as a whole or not at all and each once
 * All of it is durable when it resolves. Throws what concerns the whole request: `BUSY`, `STORAGE_FULL`, `STORAGE_FAILED`, and as `requireWriter`.
 */
export async function pushTransactions(
  database: Database,
  given: Omit<Push, 'isSure'>,
): Promise<Pushed> {
  const transactions = withRightTimes(inOrderMade(given.transactions), given.now)
  const isSure = isInOrder(transactions) && !removesRealms(transactions)
  const push: Push = { ...given, transactions, isSure }
  const progress: Progress = {
    names: new NamedKeys(),
    rejections: [],
    refused: createRefusedRows(),
    written: new WrittenRows(),
    replays: createReplays(),
    clock: { floor: push.client.floor, latestGiven: 0 },
    // Once a minute is often enough.
    isPruned: minuteOf(push.client.floor) === minuteOf(push.now),
  }
  const ownRevisions = new Set<number>()
  for (const unit of unitsOf(push)) {
    await executeUnit(database, push, unit, progress, ownRevisions)
    if (push.relieve !== undefined) freeObjects(unit)
  }
  const { names, rejections, refused } = progress
  const named = isSure ? names.named : doubted(names.named)
  return { named, rejections, refused, ownRevisions }
}

/** Executes transactions that share a unit, or one that has several. */
async function executeUnit(
  database: Database,
  push: Push,
  unit: readonly ClientTransaction[],
  progress: Progress,
  ownRevisions: Set<number>,
): Promise<void> {
  const [first] = unit
  if (first?.isUpload === true)
    return await adoptAnonymousRows(database, push, first, progress, ownRevisions)
  const reach = first && (await reachOf(database, push, first))
  if (reach?.large !== undefined) {
    return await executeInSteps(database, push, reach.large, progress, ownRevisions)
  }
  const { candidates, refusal, isPrepared } = reach ?? {}
  if (first !== undefined && isPrepared === true) {
    const part = await executePrepared(database, push, first, progress, (judged, prepared) =>
      runUnit(database, push, [judged], progress, { prepared }),
    )
    if (isPlain(push, first)) addRevisions(ownRevisions, part)
    return
  }
  const all = first === undefined || refusal === undefined ? unit : [{ ...first, refusal }]
  const part = await runUnit(database, push, all, progress, { candidates })
  if (all.every((transaction) => isPlain(push, transaction))) addRevisions(ownRevisions, part)
}

/** True for operations that reach no other rows than those they name. */
function isPlain({ rulesByTable }: Push, { operations }: ClientTransaction): boolean {
  return operations.every(
    ({ table, action }) => !rulesByTable.has(table) && !('query' in action && action.query),
  )
}

/** True for a unit that writes nothing before all of it is judged, or judges each transaction apart. */
function rarelyFails(push: Push, [first, ...others]: readonly ClientTransaction[]): boolean {
  if (first === undefined || others.length > 0) return true
  return (
    isPlain(push, first) && first.operations.length === 1 && sizeOf(push, first) <= SHARED_UNIT_SIZE
  )
}

/** Rows of a realm go with it, or with the membership in it, and the client may never have listed it. */
function removesRealms(transactions: readonly ClientTransaction[]): boolean {
  return transactions.some(({ operations }) =>
    operations.some(
      ({ table, action: { type } }) =>
        type === 'delete' && (table === 'realms' || table === 'members'),
    ),
  )
}

/** None of the rows that the request names is sure to be as the client has it. */
function doubted(named: Named): Named {
  return new Map(
    [...named].map(([table, keys]) => [
      table,
      new Map([...keys].map(([key, one]) => [key, { ...one, isAsSent: false }])),
    ]),
  )
}

/** Consecutive transactions that are executed in one unit. */
function unitsOf(push: Push): ClientTransaction[][] {
  const units: ClientTransaction[][] = []
  let left = 0
  for (const transaction of push.transactions) {
    const size = sizeOf(push, transaction)
    // Candidates are looked up right before the unit of their criteria.
    const isAlone = transaction.isUpload || hasCriteria(transaction)
    if (isAlone || size > left) {
      units.push([transaction])
      left = transaction.isUpload ? 0 : SHARED_UNIT_SIZE - size
    } else {
      units.at(-1)?.push(transaction)
      left -= size
    }
  }
  return units
}

/** How many keys and changes of single rows a transaction has, and one. */
function sizeOf({ rulesByTable }: Push, { operations }: ClientTransaction): number {
  let size = 1
  for (const { table, keys, action } of operations) {
    size += keys.length * (rulesByTable.has(table) ? SIZE_OF_ROW_WITH_RULES : 1)
    if (action.type === 'update') for (const changes of action.changes) size += changes.length
  }
  return size
}

/** True for a transaction that would keep others from the event loop if it were one step. */
function isLong(
  push: Push,
  transaction: ClientTransaction,
  { candidates, prepared }: Ahead,
): boolean {
  if (prepared !== undefined) return true
  let size = sizeOf(push, transaction)
  for (const keys of candidates?.keysByCriteria.values() ?? []) size += keys.length
  return size > LONG_UNIT_SIZE
}

/** Work that is done for the first transaction of a unit before the unit. */
interface Ahead {
  readonly candidates?: Candidates | undefined
  readonly prepared?: Prepared | undefined
}

const NOTHING_AHEAD: Ahead = {}

async function runUnit(
  database: Database,
  push: Push,
  unit: readonly ClientTransaction[],
  progress: Progress,
  ahead: Ahead,
): Promise<Progress> {
  const [first] = unit
  // A single transaction is the whole unit and needs no part of it.
  const isAlone = unit.length === 1
  const runAll = (refusal: SatchelError | undefined) => {
    const work = (tx: WriteTx) => {
      const part = beginPart(progress)
      for (const transaction of unit) {
        const own = transaction === first ? ahead : NOTHING_AHEAD
        if (refusal !== undefined) rejectOnce(tx, push, transaction, part, refusal)
        else if (isAlone) executeOnce(tx, push, transaction, own, part)
        else executeApart(tx, push, transaction, own, part)
      }
      if (!push.isSure) tx.syncClients.noteCorrection(push.client.number)
      return part
    }
    return writeUnit(database, push, work, { rarelyFails: rarelyFails(push, unit) })
  }
  const isInSteps = isAlone && first !== undefined && isLong(push, first, ahead)
  const part = await (
    isInSteps ? runLong(database, push, first, progress, ahead) : runAll(undefined)
  ).catch((error: unknown) => {
    if (!isAlone || !isRejection(error)) throw error
    return runAll(error)
  })
  endPart(progress, part)
  return part
}

function runLong(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
  progress: Progress,
  ahead: Ahead,
): Promise<Progress> {
  return writeLongUnit(database, push, async (step) => {
    const { part, begun } = await step((tx) => {
      const part = beginPart(progress)
      return { part, begun: begin(tx, push, transaction, ahead, part) }
    })
    if (begun !== undefined) {
      await inSteps(step, begun.execution, begun.work)
      await step((tx) => end(tx, begun.execution, transaction))
    }
    if (!push.isSure) {
      await step((tx) => tx.syncClients.noteCorrection(push.client.number))
    }
    return part
  })
}

/** Executes a transaction in a part of the unit; one that is rejected leaves the others as they are. */
function executeApart(
  tx: WriteTx,
  push: Push,
  transaction: ClientTransaction,
  ahead: Ahead,
  part: Progress,
): void {
  const work = (attempt: Progress) => executeOnce(tx, push, transaction, ahead, attempt)
  const refusal = attemptPart(tx, part, work)
  if (refusal !== undefined) rejectOnce(tx, push, transaction, part, refusal)
}

function executeOnce(
  tx: WriteTx,
  push: Push,
  transaction: ClientTransaction,
  ahead: Ahead,
  part: Progress,
): void {
  const begun = begin(tx, push, transaction, ahead, part)
  if (begun === undefined) return
  atOnce(begun.work)
  end(tx, begun.execution, transaction)
}

interface Begun {
  readonly execution: Execution
  readonly work: Work
}

/** Begins a transaction; undefined when it was executed before, and its keys are noted. */
function begin(
  tx: WriteTx,
  push: Push,
  transaction: ClientTransaction,
  { candidates, prepared }: Ahead,
  part: Progress,
): Begun | undefined {
  const { client } = push
  const { txid } = transaction
  const applied = findApplied(tx, push, txid)
  if (applied === undefined) {
    const execution = beginExecution(tx, push, part, candidates)
    const work =
      prepared === undefined
        ? executeAll(execution, placeOperations(tx, push, transaction))
        : writePrepared(execution, prepared)
    return { execution, work }
  }
  const { rejection, revision, steps } = applied
  if (steps !== null) throw isUnderway()
  const isRejected = rejection !== null
  if (isRejected) part.rejections.push({ txid, ...rejection })
  noteAll(push, transaction, part.names, {
    isRejected,
    revision: isRejected ? undefined : revision,
  })
  tx.syncClients.noteCorrection(client.number)
  return undefined
}

function end(tx: WriteTx, { push, mayDelete }: Execution, { txid }: ClientTransaction): void {
  const { client, now } = push
  if (mayDelete) tx.syncClients.noteCorrection(client.number)
  tx.applied.put(client.number, txid, now)
}

function isUnderway(): SatchelError {
  return busy('Another request executes this transaction: repeat it')
}
