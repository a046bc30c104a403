import { accessOf } from '../access/access'
import type { RulesByTable } from '../object/writing'
import { IMPORTED_REALM_RULES } from '../rows/realm-rows'
import type { Database, WriteTx } from '../store/store'
import { SatchelError } from '../value/error'
import { MINUTE } from '../value/time'
import { type Candidates, criteriaOf, findCandidates, hasCriteria } from './candidates'
import { inOrderMade, isInOrder, withRightTimes } from './clock'
import { addOwnerRows, commitRows } from './commit'
import { createWrittenRows, type Execution, type Push } from './execution'
import { isRejection } from './judge'
import type { Named, Rejection } from './named'
import { createNames } from './names'
import { enterNewRealms, leaveUnmadeRealms } from './new-realms'
import { applyOperation } from './operations'
import { createReplays } from './kept'
import type { ClientTransaction } from './request'
import { AT_ONCE, executeInSteps, isOneOperation, type Large } from './steps'
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
  /** The revisions in which nothing changed but rows that the request names. */
  readonly own: ReadonlySet<number>
}

/** How many keys the transactions of one unit name at the most. */
const UNIT_KEYS = 500
/** A transaction that names more may take longer than the time budget of a unit. */
const LARGE = 1_000
/** On how many rows the operations of one transaction may be: others wait for all of them. */
const MOST_ROWS = 100_000

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
        await executeInSteps(database, push, reach.large, progress, own)
        continue
      }
      const refusal = reach?.refusal
      const part = await runUnit(
        database,
        push,
        first === undefined || refusal === undefined ? unit : [{ ...first, refusal }],
        progress,
        reach?.candidates,
      )
      if (unit.every((transaction) => isPlain(push, transaction))) addRevisions(own, part)
    }
  }
  const { names, rejections } = progress
  return { named: isSure(push) ? names.named : doubted(names.named), rejections, own }
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

function keysOf({ operations }: ClientTransaction): number {
  let count = 1
  for (const { keys } of operations) count += keys.length
  return count
}

/** The way to execute a transaction, by the rows that it names and that its criteria reach. */
interface Reach {
  readonly candidates?: Candidates | undefined
  /** Present when it is executed in steps. */
  readonly large?: Large
  /** Present when it has more rows than one unit may change. */
  readonly refusal?: SatchelError
}

async function reachOf(
  database: Database,
  { actor, rulesByTable, signal }: Push,
  transaction: ClientTransaction,
): Promise<Reach> {
  const reaches = hasCriteria(transaction)
  const named = keysOf(transaction)
  if (transaction.refusal !== undefined || (!reaches && named <= AT_ONCE)) return {}
  const applied = await database.read((tx) => tx.applied.find(actor.subject, transaction.txid))
  if (applied?.steps === null) return {}
  const isBegun = applied !== undefined
  if (isBegun) return { large: { transaction, candidates: reaches ? NONE : undefined, isBegun } }
  const candidates = reaches
    ? await findCandidates(database, actor, transaction, signal)
    : undefined
  const isOne = isOneOperation(transaction) && !rulesByTable.has(transaction.operations[0]!.table)
  if (isOne) {
    const reached = candidates?.keysByCriteria.values().next().value?.length ?? 0
    const isMany = Math.max(named, reached) > AT_ONCE
    return isMany ? { candidates, large: { transaction, candidates, isBegun } } : { candidates }
  }
  return hasMoreRows(transaction, candidates) ? { refusal: tooManyRows() } : { candidates }
}

const NONE: Candidates = { revision: 0, keysByCriteria: new Map() }

/** True when the operations of a transaction are on more rows than one unit may change. */
function hasMoreRows(
  { operations }: ClientTransaction,
  candidates: Candidates | undefined,
): boolean {
  const keysByTable = new Map<string, Set<string>>()
  let count = 0
  for (const { table, keys, action } of operations) {
    const known = keysByTable.get(table) ?? new Set()
    keysByTable.set(table, known)
    const criteria = criteriaOf(action)
    const reached = criteria && candidates?.keysByCriteria.get(criteria)
    count -= known.size
    for (const key of keys) known.add(key)
    for (const key of reached ?? []) known.add(key)
    count += known.size
  }
  return count > MOST_ROWS
}

function tooManyRows(): SatchelError {
  return new SatchelError(
    'UNPROCESSABLE',
    `A transaction of several operations changes at most ${MOST_ROWS.toLocaleString('en')} objects: do it in several transactions`,
    { reason: 'changes' },
  )
}

async function runUnit(
  database: Database,
  push: Push,
  unit: readonly ClientTransaction[],
  progress: Progress,
  candidates: Candidates | undefined,
): Promise<Progress> {
  const [first] = unit
  const isLarge = unit.some((transaction) => keysOf(transaction) > LARGE)
  const runAll = (isAlone: boolean) =>
    writeUnit(database, push, isLarge, async (tx) => {
      const part = beginPart(progress)
      for (const transaction of unit) {
        const own = transaction === first ? candidates : undefined
        await executeOnce(tx, push, transaction, own, part, isAlone)
      }
      if (!isSure(push)) await tx.syncClients.noteRejection(push.client.number)
      return part
    })
  // A single transaction is the whole unit and needs no part of it, unless it is rejected.
  const part = await runAll(unit.length === 1).catch((error: unknown) => {
    if (!isRejection(error)) throw error
    return runAll(false)
  })
  endPart(progress, part)
  return part
}

/** Executes a transaction in a part of the unit, or as the unit, unless it was executed before. */
async function executeOnce(
  tx: WriteTx,
  push: Push,
  transaction: ClientTransaction,
  candidates: Candidates | undefined,
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
    await execute(transaction, run)
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

async function execute(transaction: ClientTransaction, run: Execution): Promise<void> {
  const operations = await placeOperations(run.tx, run.push, transaction)
  await enterNewRealms(run, operations)
  for (const operation of operations) await applyOperation(run, operation)
  await leaveUnmadeRealms(run)
  await commitRows(run, () => addOwnerRows(run, run.owned))
}
