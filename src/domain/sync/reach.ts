import type { Database } from '../store/store'
import { SatchelError, unprocessable } from '../value/error'
import { FIXED_LIMITS, type FixedLimit } from '../value/fixed-limits'
import { type Candidates, criteriaOf, findCandidates, hasCriteria } from './candidates'
import { copiesOf, requireFewCopies } from './change'
import { rejectionOf } from './judge'
import type { Push } from './transaction'
import type { ClientTransaction } from './request'
import { isOneOperation } from './row-steps'
import type { Large } from './steps'
import { findApplied } from './unit'

/** Rows that one operation changes in one unit; with more it goes in steps. */
const UNIT_ROWS = 5_000
/** Rows of realms, members and roles that one operation changes in one unit; with more it goes in steps. */
const UNIT_RULED_ROWS = 1_000
/** The way to execute a transaction, by the rows that it names and that its criteria reach. */
interface Reach {
  readonly candidates?: Candidates | undefined
  /** The rows are judged before the unit, which then only writes them. */
  readonly isPrepared?: boolean
  /** Present when it is executed in steps. */
  readonly large?: Large
  /** Present when it has more rows than one unit may change. */
  readonly refusal?: SatchelError
}

export async function reachOf(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
): Promise<Reach> {
  const { actor, rulesByTable, signal } = push
  const reaches = hasCriteria(transaction)
  const named = keysOf(transaction)
  if (transaction.refusal !== undefined || (!reaches && named <= UNIT_RULED_ROWS)) return {}
  const applied = await database.read((tx) => findApplied(tx, push, transaction.txid))
  if (applied?.steps === null) return {}
  const isBegun = applied !== undefined
  const large = { transaction, isBegun }
  if (isBegun) return { large: { ...large, candidates: reaches ? NONE : undefined } }
  const candidates = reaches
    ? await findCandidates(database, actor, transaction, signal)
    : undefined
  const refusal = candidates && tooManyCopies(transaction, candidates)
  if (refusal !== undefined) return { refusal }
  if (isOneOperation(transaction)) {
    const isRuled = rulesByTable.has(transaction.operations[0]!.table)
    const reached = candidates?.keysByCriteria.values().next().value?.length ?? 0
    const isMany = Math.max(named, reached) > (isRuled ? UNIT_RULED_ROWS : UNIT_ROWS)
    return isMany ? { large: { ...large, candidates } } : { candidates }
  }
  const [rows, ruled] = rowsOf(push, transaction, candidates)
  const { transactionObjects, transactionRows } = FIXED_LIMITS
  if (rows > transactionObjects.most) return { refusal: tooManyRows(transactionObjects) }
  if (ruled > transactionRows.most) return { refusal: tooManyRows(transactionRows) }
  return { candidates, isPrepared: !reaches && ruled === 0 }
}

/** The refusal of a transaction whose operations with criteria copy too much into the objects they reach. */
function tooManyCopies(
  { operations }: ClientTransaction,
  { keysByCriteria }: Candidates,
): SatchelError | undefined {
  let copies = 0
  for (const { action } of operations) {
    const criteria = criteriaOf(action)
    if (action.type !== 'modify' || criteria === undefined) continue
    copies += copiesOf(action.source, keysByCriteria.get(criteria)?.length ?? 0)
  }
  return rejectionOf(() => requireFewCopies(copies))
}

const NONE: Candidates = { revision: 0, keysByCriteria: new Map() }

/** On how many rows the operations of a transaction are, and how many of them have rules. */
function rowsOf(
  { rulesByTable }: Push,
  { operations }: ClientTransaction,
  candidates: Candidates | undefined,
): readonly [rows: number, ruled: number] {
  const keysByTable = new Map<string, Set<string>>()
  for (const { table, keys, action } of operations) {
    const known = keysByTable.get(table) ?? new Set()
    keysByTable.set(table, known)
    const criteria = criteriaOf(action)
    const reached = criteria && candidates?.keysByCriteria.get(criteria)
    for (const key of keys) known.add(key)
    for (const key of reached ?? []) known.add(key)
  }
  let [rows, ruled] = [0, 0]
  for (const [table, { size }] of keysByTable) {
    rows += size
    if (rulesByTable.has(table)) ruled += size
  }
  return [rows, ruled]
}

function tooManyRows({ most, unit }: FixedLimit): SatchelError {
  return unprocessable(
    `A transaction of several operations changes at most ${most.toLocaleString('en')} ${unit}: do it in several transactions`,
    'changes',
  )
}

/** How many keys a transaction names, and one. */
function keysOf({ operations }: ClientTransaction): number {
  let count = 1
  for (const { keys } of operations) count += keys.length
  return count
}
