import type { ReadTx, Step } from '../store/store'
import type { Table } from '../store/tables'
import { type Candidates, changedKeys, criteriaOf } from './candidates'
import type { Push } from './transaction'
import { keepOperation, type PlacedOperation } from './operations'
import type { Action, ClientTransaction, Operation } from './request'
import { beginExecution, findTables, placeOperations, type Progress } from './unit'
import { storedKey } from './wire-key'

/**
 * True for the transaction of one operation, whose later chunks name more rows of it (protocol.md §4.10).
 */
export function isOneOperation({ operations, isUpload }: ClientTransaction): boolean {
  const [first, ...others] = operations
  if (first === undefined || isUpload) return false
  const source = JSON.stringify(sourceOf(first))
  return others.every(
    (other) =>
      other.table === first.table &&
      other.action.type === first.action.type &&
      isLaterChunk(other) &&
      JSON.stringify(sourceOf(other)) === source,
  )
}

function sourceOf({ action }: Operation): unknown {
  return 'query' in action ? action.query?.source : undefined
}

function isLaterChunk({ action }: Operation): boolean {
  return 'query' in action && action.query?.isFirstChunk === false
}

/** Rows of a step, and of one with rules: others wait for little more than one. */
const STEP_ROWS = 1_000
const STEP_RULED = 100

/** The steps of an operation. */
export interface StepPlan {
  /** The operation changes no rows but those that it names. */
  readonly isPlain: boolean
  /** The number of steps that are judged, known without the database. */
  readonly count: number
  /** A step as it is judged, before any is executed. */
  judged(tx: ReadTx, step: number): RowStep
  /** Prepares the steps in the first unit. */
  begin?(step: Step, part: Progress): Promise<void>
  /** A step of the client `by`, by its number, as it is executed; undefined after the last one. */
  executed(tx: ReadTx, step: number, by: number): RowStep | undefined
}

export interface RowStep {
  readonly table: Table
  readonly placed: readonly PlacedOperation[]
  readonly candidates: Candidates | undefined
}

function sizeOf({ rulesByTable }: Push, { operations }: ClientTransaction): number {
  return operations.some(({ table }) => rulesByTable.has(table)) ? STEP_RULED : STEP_ROWS
}

/** The steps of an operation that names its rows. */
export function namedSteps(push: Push, transaction: ClientTransaction): StepPlan {
  const size = sizeOf(push, transaction)
  const parts = partsOf(transaction, size)
  const at = (tx: ReadTx, step: number) => {
    const operations = parts[step]
    if (operations === undefined) return undefined
    const placed = placeOperations(tx, push, { ...transaction, operations })
    return { table: placed[0]!.table, placed, candidates: undefined }
  }
  return {
    isPlain: size === STEP_ROWS,
    count: parts.length,
    judged: (tx, step) => at(tx, step)!,
    executed: at,
  }
}

/** Operations with the rows that they name, as parts that name `size` each. */
export function partsOf({ operations }: ClientTransaction, size: number): Operation[][] {
  const parts: Operation[][] = []
  let left = 0
  for (const operation of operations) {
    for (let start = 0; start < operation.keys.length;) {
      if (left === 0) {
        parts.push([])
        left = size
      }
      const end = Math.min(start + left, operation.keys.length)
      parts.at(-1)?.push(partOf(operation, start, end))
      left -= end - start
      start = end
    }
  }
  return parts
}

function partOf(operation: Operation, start: number, end: number): Operation {
  const { keys, action } = operation
  if (start === 0 && end === keys.length) return operation
  return { ...operation, keys: keys.slice(start, end), action: partOfAction(action, start, end) }
}

function partOfAction(action: Action, start: number, end: number): Action {
  switch (action.type) {
    case 'insert':
    case 'upsert': {
      const values = action.values.slice(start, end)
      if (action.changes === undefined) return { ...action, values }
      return { ...action, values, changes: action.changes.slice(start, end) }
    }
    case 'update':
      // One may be for all keys.
      return action.changes.length < 2
        ? action
        : { ...action, changes: action.changes.slice(start, end) }
    case 'modify':
    case 'delete':
      return action
  }
}

/** The steps of an operation with criteria: the rows that it reaches when it begins, and those it names. */
export function reachedSteps(
  push: Push,
  transaction: ClientTransaction,
  candidates: Candidates,
): StepPlan {
  const { actor, client, now } = push
  const { txid, operations } = transaction
  const [operation] = operations
  if (operation === undefined) throw new Error('a transaction has an operation')
  const criteria = criteriaOf(operation.action)
  if (criteria === undefined) throw new Error('the operation has criteria')
  let wires: ReadonlyMap<string, string> | undefined

  function tableIn(tx: ReadTx): Table {
    const [found] = findTables(tx, push, { ...transaction, operations: [operation!] })
    return found!.table
  }

  /** The keys that the client names, as it writes them, by stored keys. */
  function wiresIn(table: Table): ReadonlyMap<string, string> {
    const keys = () => operations.flatMap((chunk) => chunk.keys)
    return (wires ??= new Map(keys().map((key) => [storedKey(table, key), key])))
  }

  function stepOf(tx: ReadTx, keys: readonly string[]): RowStep {
    const table = tableIn(tx)
    const named = wiresIn(table)
    const own = keys.filter((key) => named.has(key))
    const wire = own.map((key) => named.get(key) ?? key)
    const revision = tx.revision()
    return {
      table,
      placed: [{ operation: { ...operation!, keys: wire }, table, keys: own }],
      candidates: { revision, keysByCriteria: new Map([[criteria!, keys]]), isStep: true },
    }
  }

  const size = sizeOf(push, transaction)
  const reached = candidates.keysByCriteria.get(criteria) ?? []
  return {
    isPlain: false,
    count: Math.ceil(reached.length / size),
    judged: (tx, step) => stepOf(tx, reached.slice(step * size, (step + 1) * size)),
    async begin(step, part) {
      const keys = await step((tx) => {
        const table = tableIn(tx)
        const execution = beginExecution(tx, push, part)
        // Rows that arrive from now on are changed when they do.
        keepOperation(execution, { operation, table, keys: [] })
        const changed = changedKeys(tx, actor, table, candidates.revision)
        return [...new Set([...reached, ...changed, ...wiresIn(table).keys()])]
      })
      for (let start = 0; start < keys.length; start += size) {
        const some = keys.slice(start, start + size)
        await step((tx) => tx.applied.putKeys(client.number, txid, start / size, some))
      }
      await step((tx) => tx.applied.put(client.number, txid, now, { steps: 0 }))
    },
    executed(tx, step, by) {
      const keys = tx.applied.keysOf(by, txid, step)
      return keys && stepOf(tx, keys)
    },
  }
}
