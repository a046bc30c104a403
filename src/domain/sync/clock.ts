// The times and the order of the changes of a client: docs/merging.md, "A property belongs to its
// latest writer".

import { DAY } from '../value/time'
import type { ClientTransaction, Operation } from './request'

/** An operation with a place in the log of its table, and a time of the clock of its client, ms. */
interface Timed {
  readonly operation: Operation
  readonly rev: number
  readonly ts: number
}

/** A clock that is ahead by more than this, ms, is wrong for the operations in the future alone. */
const MOST_LEAD = DAY

/**
 * The transactions of a request in the order in which their client made them: it sends them in the order
 * of their times, which is another one when its clock was set back in between.
 */
export function inOrderMade(
  transactions: readonly ClientTransaction[],
): readonly ClientTransaction[] {
  if (isInOrder(transactions)) return transactions
  const before = predecessorsOf(transactions)
  const ordered = new Set<ClientTransaction>()
  const visited = new Set<ClientTransaction>()
  for (const transaction of transactions) {
    const stack = [transaction]
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const missing: ClientTransaction[] = visited.has(top)
        ? []
        : (before.get(top) ?? []).filter((one) => !visited.has(one))
      visited.add(top)
      if (missing.length > 0) {
        stack.push(...missing.toReversed())
      } else {
        ordered.add(top)
        stack.pop()
      }
    }
  }
  return [...ordered]
}

/** True for operations in the order in which their client logged them. */
export function isInOrder(transactions: readonly ClientTransaction[]): boolean {
  const latest = new Map<string, number>()
  for (const { operations } of transactions) {
    for (const { table, rev } of operations) {
      if (rev === undefined) continue
      if (rev < (latest.get(table) ?? 0)) return false
      latest.set(table, rev)
    }
  }
  return true
}

/** The transaction that wrote to each of its tables right before it. */
function predecessorsOf(
  transactions: readonly ClientTransaction[],
): ReadonlyMap<ClientTransaction, readonly ClientTransaction[]> {
  const firsts = transactions.flatMap((transaction) => {
    const revs = new Map<string, number>()
    for (const { table, rev = Infinity } of transaction.operations) {
      revs.set(table, Math.min(rev, revs.get(table) ?? Infinity))
    }
    return [...revs].map(([table, rev]) => ({ transaction, table, rev }))
  })
  const before = new Map<ClientTransaction, ClientTransaction[]>()
  for (const ofTable of Map.groupBy(firsts, ({ table }) => table).values()) {
    ofTable.sort((one, other) => (one.rev === other.rev ? 0 : one.rev - other.rev))
    for (const [position, { transaction }] of ofTable.entries()) {
      const earlier = ofTable[position - 1]?.transaction
      if (earlier === undefined) continue
      const known = before.get(transaction)
      if (known === undefined) before.set(transaction, [earlier])
      else known.push(earlier)
    }
  }
  return before
}

/**
 * Transactions with the times of their operations corrected where a wrong clock has stamped them. In the log
 * of each table a time below that of its predecessor begins a new stretch: there the clock was set back. The last
 * stretch goes back by its lead over `now`, ms, and an earlier one by what exceeds the first time of the next; with
 * a lead of more than 24 hours only the operations in the future do, to that time.
 */
export function withRightTimes(
  transactions: readonly ClientTransaction[],
  now: number,
): readonly ClientTransaction[] {
  if (!isAnyAhead(transactions, now)) return transactions
  const corrected = correctedTimes(transactions, now)
  if (corrected.size === 0) return transactions
  return transactions.map((transaction) => ({
    ...transaction,
    operations: transaction.operations.map((operation) => {
      const ts = corrected.get(operation)
      return ts === undefined ? operation : { ...operation, ts }
    }),
  }))
}

/** False when times rise with the logs and none is ahead of `now`, as of nearly all requests. */
function isAnyAhead(transactions: readonly ClientTransaction[], now: number): boolean {
  let latest = -Infinity
  let last = -1
  for (const { operations } of transactions) {
    for (const { ts = latest, rev = -1 } of operations) {
      if (ts < latest || ts > now || rev < last) return true
      latest = ts
      last = rev
    }
  }
  return false
}

function correctedTimes(
  transactions: readonly ClientTransaction[],
  now: number,
): ReadonlyMap<Operation, number> {
  const corrected = new Map<Operation, number>()
  for (const log of logsOf(transactions)) {
    let limit = now
    for (const stretch of stretchesOf(log).toReversed()) {
      const lead = (stretch.at(-1)?.ts ?? limit) - limit
      const first = timeIn(stretch[0]?.ts ?? limit, lead, { limit, now })
      for (const { operation, ts } of lead > 0 ? stretch : []) {
        corrected.set(operation, timeIn(ts, lead, { limit, now }))
      }
      limit = Math.min(limit, first)
    }
  }
  return corrected
}

/** The operations of each table with a time, in the order of its log. */
function logsOf(transactions: readonly ClientTransaction[]): Timed[][] {
  const logs = new Map<string, Timed[]>()
  for (const { operations } of transactions) {
    for (const operation of operations) {
      const { table, ts, rev = -1 } = operation
      if (ts === undefined) continue
      const log = logs.get(table)
      if (log === undefined) logs.set(table, [{ operation, rev, ts }])
      else log.push({ operation, rev, ts })
    }
  }
  return [...logs.values()].map((log) => log.toSorted((one, other) => one.rev - other.rev))
}

function timeIn(ts: number, lead: number, { limit, now }: { limit: number; now: number }): number {
  if (lead <= 0) return ts
  if (lead <= MOST_LEAD) return ts - lead
  return ts > now ? limit : ts
}

function stretchesOf(log: readonly Timed[]): Timed[][] {
  const stretches: Timed[][] = []
  let latest = Infinity
  for (const one of log) {
    if (one.ts < latest) stretches.push([one])
    else stretches.at(-1)?.push(one)
    latest = one.ts
  }
  return stretches
}
