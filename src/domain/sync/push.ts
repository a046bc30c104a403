import { accessOf } from '../access/access'
import type { RulesByTable } from '../object/writing'
import { IMPORTED_REALM_RULES } from '../rows/realm-rows'
import type { Database, WriteTx } from '../store/store'
import { SatchelError } from '../value/error'
import { MINUTE } from '../value/time'
import { type Candidates, hasCriteria } from './candidates'
import { inOrderMade, isInOrder, withRightTimes } from './clock'
import { executeAll } from './execute'
import { createWrittenRows, type Push } from './execution'
import { isRejection } from './judge'
import { createReplays } from './kept'
import type { Named, Rejection } from './named'
import { createNames } from './names'
import { createRefusedRows, type RefusedRows } from './refused'
import type { ClientTransaction } from './request'
import { executePrepared, type Prepared, writePrepared } from './prepare'
import { keysOf, reachOf } from './reach'
import { executeInSteps } from './steps'
import {
  type Progress,
  addRevisions,
  beginExecution,
  beginPart,
  endPart,
  noteAll,
  placeOperations,
  rejectOnce,
  writeUnit,
} from './unit'
import { uploadRows } from './upload'

/** What a request did. */
export interface Pushed {
  /** All keys that the request names, those of repeated transactions too. */
  readonly named: Named
  readonly rejections: readonly Rejection[]
  /** The rows of the transactions that were rejected now. */
  readonly refused: RefusedRows
  /** The revisions in which nothing changed but rows that the request names. */
  readonly own: ReadonlySet<number>
}

/** How many keys the transactions of one unit name at the most, and how long it goes on, ms. */
const UNIT_KEYS = 500
const UNIT_MS = 8
/** A transaction that names more may take longer than the time budget of a unit. */
const LARGE = 1_000

/**
 * Executes the transactions of a request in order, each as a whole or not at all and each once
 * (§1 and §2 of live sync). All of it is durable when it resolves. Throws what concerns the whole
 * request: `BUSY`, `STORAGE_FULL`, `STORAGE_FAILED`, and as `requireWriter`.
 */
export async function pushTransactions(database: Database, given: Push): Promise<Pushed> {
  const push = {
    ...given,
    transactions: withRightTimes(inOrderMade(given.transactions), given.now),
    rulesByTable: rulesOfTransactions(given.rulesByTable),
  }
  const progress: Progress = {
    names: createNames(),
    rejections: [],
    refused: createRefusedRows(),
    written: createWrittenRows(),
    replays: createReplays(),
    clock: { floor: push.client.floor },
    // Once a minute is often enough.
    isPruned: minuteOf(push.client.floor) === minuteOf(push.now),
  }
  const own = new Set<number>()
  for (const unit of unitsOf(push.transactions)) {
    const [first] = unit
    if (first?.isUpload === true) {
      await uploadRows(database, push, first, progress, own)
    } else {
      const reach = first && (await reachOf(database, push, first))
      if (reach?.large !== undefined) {
        const large = { ...reach.large, isSure: isSure(push) }
        await executeInSteps(database, push, large, progress, own)
        continue
      }
      const { candidates, refusal, isPrepared } = reach ?? {}
      if (first !== undefined && isPrepared === true) {
        const part = await executePrepared(database, push, first, progress, (judged, prepared) =>
          runUnit(database, push, [judged], progress, { prepared }),
        )
        if (isPlain(push, first)) addRevisions(own, part)
        continue
      }
      let left = first === undefined || refusal === undefined ? unit : [{ ...first, refusal }]
      while (left.length > 0) {
        const { done, ...part } = await runUnit(database, push, left, progress, { candidates })
        const executed = left.slice(0, done)
        if (executed.every((transaction) => isPlain(push, transaction))) addRevisions(own, part)
        left = left.slice(done)
      }
    }
  }
  const { names, rejections, refused } = progress
  const named = isSure(push) ? names.named : doubted(names.named)
  return { named, rejections, refused, own }
}

function minuteOf(time: number): number {
  return Math.floor(time / MINUTE)
}

/** True for operations that reach no other rows than those they name. */
function isPlain({ rulesByTable }: Push, { operations }: ClientTransaction): boolean {
  return operations.every(
    ({ table, action }) => !rulesByTable.has(table) && !('query' in action && action.query),
  )
}

/** False when rows may be gone or others than the client assumes, though it applied what it sent. */
function isSure(push: Push): boolean {
  return isInOrder(push.transactions) && !removesRealms(push)
}

/** Rows of a realm go with it, or with the membership in it, and the client may never have listed it. */
function removesRealms({ transactions }: Push): boolean {
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

/** The owner of a new realm gets a row of `members` at the end, unless the transaction has one. */
function rulesOfTransactions(rulesByTable: RulesByTable): RulesByTable {
  return new Map([...rulesByTable, ['realms', IMPORTED_REALM_RULES]])
}

/** Consecutive transactions that are executed in one unit. */
function unitsOf(transactions: readonly ClientTransaction[]): ClientTransaction[][] {
  const units: ClientTransaction[][] = []
  let room = 0
  for (const transaction of transactions) {
    const size = keysOf(transaction)
    // Candidates are looked up right before the unit of their criteria.
    const isAlone = transaction.isUpload || hasCriteria(transaction)
    if (isAlone || size > room) {
      units.push([transaction])
      room = transaction.isUpload ? 0 : UNIT_KEYS - size
    } else {
      units.at(-1)?.push(transaction)
      room -= size
    }
  }
  return units
}

/** Work that is done for the first transaction of a unit before the unit. */
interface Ahead {
  readonly candidates?: Candidates | undefined
  readonly prepared?: Prepared | undefined
}

/** Executes transactions until the unit has taken long enough: `done` of them, at least one. */
async function runUnit(
  database: Database,
  push: Push,
  unit: readonly ClientTransaction[],
  progress: Progress,
  ahead: Ahead,
): Promise<Progress & { readonly done: number }> {
  const [first] = unit
  // A single transaction is the whole unit and needs no part of it.
  const isAlone = unit.length === 1
  const isLarge = unit.some((transaction) => keysOf(transaction) > LARGE)
  const runAll = (refusal: SatchelError | undefined) =>
    writeUnit(database, push, isLarge, async (tx) => {
      const part = beginPart(progress)
      const end = performance.now() + UNIT_MS
      let done = 0
      for (const transaction of unit) {
        if (done > 0 && performance.now() > end) break
        const own = transaction === first ? ahead : {}
        if (refusal === undefined) await executeOnce(tx, push, transaction, own, part, isAlone)
        else await rejectOnce(tx, push, transaction, part, refusal)
        done += 1
      }
      if (!isSure(push)) await tx.syncClients.noteRejection(push.client.number)
      return { ...part, done }
    })
  const part = await runAll(undefined).catch((error: unknown) => {
    if (!isAlone || !isRejection(error)) throw error
    return runAll(error)
  })
  endPart(progress, part)
  return part
}

/** Executes a transaction in a part of the unit, or as the unit, unless it was executed before. */
async function executeOnce(
  tx: WriteTx,
  push: Push,
  transaction: ClientTransaction,
  { candidates, prepared }: Ahead,
  part: Progress,
  isAlone: boolean,
): Promise<void> {
  const { actor, client, now } = push
  const { txid } = transaction
  const applied = await tx.applied.find(actor.subject, txid)
  if (applied !== undefined) {
    const { rejection, revision, steps } = applied
    if (steps !== null) throw isUnderway()
    const isRejected = rejection !== null
    if (isRejected) part.rejections.push({ txid, ...rejection })
    noteAll(push, transaction, part.names, {
      isRejected,
      revision: isRejected ? undefined : revision,
    })
    await tx.syncClients.noteRejection(client.number)
    return
  }
  const { floor } = part.clock
  const names = createNames()
  const written = createWrittenRows(part.written)
  const work = async () => {
    const access = await accessOf(tx, actor)
    const run = beginExecution(tx, push, access, { ...part, names, written }, candidates)
    if (prepared === undefined) {
      await executeAll(run, await placeOperations(tx, push, transaction))
    } else {
      await writePrepared(run, prepared)
    }
    if (run.mayDelete) await tx.syncClients.noteRejection(client.number)
    await tx.applied.put(actor.subject, txid, client.number, now)
  }
  try {
    await (isAlone ? work() : tx.attempt(work))
    part.names.append(names)
    part.written.append(written)
  } catch (error) {
    if (isAlone || !isRejection(error)) throw error
    part.clock.floor = floor
    await rejectOnce(tx, push, transaction, part, error)
  }
}

function isUnderway(): SatchelError {
  return new SatchelError('BUSY', 'Another request executes this transaction: repeat it', {
    retryAfter: 1,
  })
}
