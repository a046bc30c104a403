import { accessOf } from '../access/access'
import { requireWriter } from '../access/actor'
import type { Database, ReadTx, Step, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import type { SatchelError } from '../value/error'
import { type Candidates, changedKeys, criteriaOf } from './candidates'
import { judgePlain, writePlain } from './commit'
import { executeAll } from './execute'
import { createWrittenRows, type Execution, type Push } from './execution'
import { isRejection } from './judge'
import { createNames } from './names'
import { applyOperation, keepOperation, type PlacedOperation } from './operations'
import type { Row } from './overlay'
import { addRefused } from './refused'
import type { Action, ClientTransaction, Operation } from './request'
import {
  addRevisions,
  beginExecution,
  beginPart,
  endPart,
  inSteps,
  findTables,
  noteAll,
  type Progress,
  reject,
  rejectOnce,
  writeLongUnit,
  writeUnit,
} from './unit'
import { storedKey } from './wire-key'
import { atOnce, type Work } from '../value/work'

/** Rows of a step, and of one with rules: others wait for little more than one. */
const STEP_ROWS = 1_000
const STEP_RULED = 100

/** A transaction of one operation on so many rows that it is executed in steps. */
export interface Large {
  readonly transaction: ClientTransaction
  /** The rows that its criteria reach; undefined when it names its rows. */
  readonly candidates: Candidates | undefined
  /** An earlier request has judged all of it and may have executed some of its steps. */
  readonly isBegun: boolean
}

interface LargeOfClient extends Large {
  /** False when rows may be gone or others than the client assumes, though it applied what it sent. */
  readonly isSure: boolean
}

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

/**
 * Executes one operation on many rows: all of it is judged first, a thousand rows at a time, and refused as
 * a whole; then it is written a thousand rows at a time, while others write, and each step is recorded
 * under the `txid`: a repeated request goes on after the last one. Rows that may not be written any more
 * stay as they are and are sent back. `own` gets the revisions in which nothing changed but named rows.
 * Throws as `writeUnit`.
 */
export async function executeInSteps(
  database: Database,
  push: Push,
  { transaction, candidates, isBegun, isSure }: LargeOfClient,
  progress: Progress,
  own: Set<number>,
): Promise<void> {
  const plan =
    candidates === undefined
      ? namedSteps(push, transaction)
      : reachedSteps(push, transaction, candidates)
  if (!isBegun) {
    const refusal = await judgeAll(database, push, plan, progress)
    if (refusal !== undefined) {
      const part = await writeUnit(database, push, (tx) => {
        const ending = beginPart(progress)
        rejectOnce(tx, push, transaction, ending, refusal)
        return ending
      })
      return endPart(progress, part)
    }
    const begun = await writeLongUnit(database, push, async (step) => {
      const beginning = beginPart(progress)
      const known = await step((tx) => tx.applied.find(push.actor.subject, transaction.txid))
      if (known === undefined) await plan.begin?.(step, beginning)
      return beginning
    })
    endPart(progress, begun)
  }
  const refusals: SatchelError[] = []
  let expected = 0
  for (let isOver = false; !isOver;) {
    const part = await writeLongUnit(database, push, (step) =>
      executeStep(step, push, { transaction, plan, expected, isSure }, beginPart(progress)),
    )
    endPart(progress, part)
    if (plan.isPlain) addRevisions(own, part)
    refusals.push(...part.refusals.slice(0, 1))
    // An earlier request, or another one beside this, has executed some.
    if (part.step > expected) {
      noteAll(push, transaction, progress.names, { isRejected: false, revision: undefined })
    }
    expected = part.step + 1
    isOver = part.isOver
  }
  const [refusal] = refusals
  if (refusal !== undefined) reject(progress, transaction, refusal)
}

/** The steps of an operation. */
interface Plan {
  /** The operation changes no rows but those that it names. */
  readonly isPlain: boolean
  /** The number of steps that are judged, known without the database. */
  readonly count: number
  /** A step as it is judged, before any is executed. */
  judged(tx: ReadTx, step: number): RowStep
  /** Prepares the steps in the first unit. */
  begin?(step: Step, part: Progress): Promise<void>
  /** A step as it is executed; undefined after the last one. */
  executed(tx: ReadTx, step: number): RowStep | undefined
}

interface RowStep {
  readonly table: Table
  readonly placed: readonly PlacedOperation[]
  readonly candidates: Candidates | undefined
}

function sizeOf({ rulesByTable }: Push, { operations }: ClientTransaction): number {
  return operations.some(({ table }) => rulesByTable.has(table)) ? STEP_RULED : STEP_ROWS
}

/** The steps of an operation that names its rows. */
function namedSteps(push: Push, transaction: ClientTransaction): Plan {
  const size = sizeOf(push, transaction)
  const parts = partsOf(transaction, size)
  const at = (tx: ReadTx, step: number) => {
    const operations = parts[step]
    if (operations === undefined) return undefined
    const found = findTables(tx, push, { ...transaction, operations })
    const placed = found.map(({ operation, table }) => placedIn(table, operation))
    return { table: found[0]!.table, placed, candidates: undefined }
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
  let room = 0
  for (const operation of operations) {
    for (let start = 0; start < operation.keys.length;) {
      if (room === 0) {
        parts.push([])
        room = size
      }
      const end = Math.min(start + room, operation.keys.length)
      parts.at(-1)?.push(partOf(operation, start, end))
      room -= end - start
      start = end
    }
  }
  return parts
}

export function placedIn(table: Table, operation: Operation): PlacedOperation {
  return { operation, table, keys: operation.keys.map((key) => storedKey(table, key)) }
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
function reachedSteps(push: Push, transaction: ClientTransaction, candidates: Candidates): Plan {
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
        const run = beginExecution(tx, push, accessOf(tx, actor), part)
        // Rows that arrive from now on are changed when they do.
        keepOperation(run, { operation, table, keys: [] })
        const changed = changedKeys(tx, actor, table, candidates.revision)
        return [...new Set([...reached, ...changed, ...wiresIn(table).keys()])]
      })
      for (let start = 0; start < keys.length; start += size) {
        const some = keys.slice(start, start + size)
        await step((tx) => tx.applied.putKeys(actor.subject, txid, start / size, some))
      }
      await step((tx) => tx.applied.putSteps(actor.subject, txid, client.number, now, 0))
    },
    executed(tx, step) {
      const keys = tx.applied.keysOf(actor.subject, txid, step)
      return keys && stepOf(tx, keys)
    },
  }
}

/** Undoes the unit of a step that was only judged. */
const JUDGED = new Error('the step was judged')

/** Judges all steps in units that change nothing; resolves to the refusal of the first row that has one. */
async function judgeAll(
  database: Database,
  push: Push,
  plan: Plan,
  progress: Progress,
): Promise<SatchelError | undefined> {
  const { signal, actor, now } = push
  const options = signal === undefined ? {} : { signal }
  const judgeStep = async (step: Step, at: number) => {
    const { run, work } = await step((tx) => {
      requireWriter(tx, actor, now)
      const { table, placed, candidates } = plan.judged(tx, at)
      const part = beginPart(progress)
      const begun = beginExecution(tx, push, accessOf(tx, actor), part, candidates)
      return { run: begun, work: judging(begun, table, placed) }
    })
    await inSteps(step, run, work)
    throw JUDGED
  }
  for (let step = 0; step < plan.count; step += 1) {
    try {
      await database.writeSteps((steps) => judgeStep(steps, step), options)
    } catch (error) {
      if (error === JUDGED) continue
      if (!isRejection(error)) throw error
      return error
    }
  }
  return undefined
}

function* judging(run: Execution, table: Table, placed: readonly PlacedOperation[]): Work {
  if (table.builtIn) return yield* executeAll(run, placed)
  yield* applyAll(run, placed)
  yield* judgePlain(run, table, touchedIn(run, table))
}

function* applyAll(run: Execution, placed: readonly PlacedOperation[]): Work {
  for (const operation of placed) yield* applyOperation(run, operation)
}

function touchedIn({ overlay }: Execution, table: Table): readonly Row[] {
  return overlay.rowsOf(table).filter(({ isTouched }) => isTouched)
}

interface Underway {
  readonly transaction: ClientTransaction
  readonly plan: Plan
  /** The step that comes next, unless another request has executed it. */
  readonly expected: number
  readonly isSure: boolean
}

interface Stepped extends Progress {
  /** The step that the unit has executed, or the number of all of them when it was over. */
  readonly step: number
  readonly isOver: boolean
  readonly refusals: readonly SatchelError[]
}

/** Executes the next step that is left, or ends the transaction. */
async function executeStep(
  step: Step,
  push: Push,
  underway: Underway,
  part: Progress,
): Promise<Stepped> {
  const next = await step((tx) => nextStep(tx, push, underway))
  const { at, rows } = next
  if (rows === undefined) return { ...part, step: at, isOver: true, refusals: [] }
  const refusals = rows.table.builtIn
    ? await step((tx) => executeRuled(tx, push, rows, part))
    : await executePlain(step, push, rows, part)
  const { transaction } = underway
  for (const refusal of refusals) addRefused(part.refused, transaction, refusal)
  const { actor, client, now } = push
  await step((tx) => {
    if (refusals.length > 0) tx.syncClients.noteRejection(client.number)
    tx.applied.putSteps(actor.subject, transaction.txid, client.number, now, at + 1)
  })
  return { ...part, step: at, isOver: false, refusals }
}

/** The step that is left, by its number; without rows the transaction is over, now or since before. */
function nextStep(
  tx: WriteTx,
  { actor: { subject }, client, now }: Push,
  { transaction: { txid }, plan, expected, isSure }: Underway,
): { readonly at: number; readonly rows: RowStep | undefined } {
  const applied = tx.applied.find(subject, txid)
  const at = applied?.steps ?? 0
  if (at > expected || applied?.steps === null) tx.syncClients.noteRejection(client.number)
  if (applied?.steps === null) return { at: Infinity, rows: undefined }
  const rows = plan.executed(tx, at)
  if (rows === undefined) {
    if (!isSure) tx.syncClients.noteRejection(client.number)
    tx.applied.removeKeys(subject, txid)
    tx.applied.put(subject, txid, client.number, now)
  }
  return { at, rows }
}

async function executePlain(
  step: Step,
  push: Push,
  { table, placed, candidates }: RowStep,
  part: Progress,
): Promise<readonly SatchelError[]> {
  const refusals: SatchelError[] = []
  const run = await step((tx) =>
    beginExecution(tx, push, accessOf(tx, push.actor), part, candidates),
  )
  await inSteps(step, run, applyAll(run, placed))
  const refused = (row: Row, refusal: SatchelError) => {
    refusals.push(refusal)
    noteRefused(run, placed, row)
  }
  await inSteps(step, run, writePlain(run, table, touchedIn(run, table), refused))
  if (run.mayDelete) await step((tx) => tx.syncClients.noteRejection(push.client.number))
  return refusals
}

/** Rows with rules are judged together: all rows of the step are written, or none is. */
function executeRuled(
  tx: WriteTx,
  push: Push,
  { placed, candidates }: RowStep,
  part: Progress,
): readonly SatchelError[] {
  const { clock } = part
  const { floor } = clock
  const names = createNames()
  const written = createWrittenRows(part.written)
  try {
    tx.attempt(() => {
      const access = accessOf(tx, push.actor)
      const run = beginExecution(tx, push, access, { ...part, names, written }, candidates)
      atOnce(executeAll(run, placed))
      if (run.mayDelete) tx.syncClients.noteRejection(push.client.number)
    })
    part.names.append(names)
    part.written.append(written)
    return []
  } catch (error) {
    if (!isRejection(error)) throw error
    clock.floor = floor
    const operations = placed.map(({ operation }) => operation)
    noteAll(push, { operations }, part.names, { isRejected: true, revision: undefined })
    return [error]
  }
}

/** The row stays as it is: a client that named it needs it. */
function noteRefused(
  { names, push }: Execution,
  placed: readonly PlacedOperation[],
  row: Row,
): void {
  for (const { operation, table, keys } of placed) {
    const position = keys.indexOf(row.key)
    if (position < 0) continue
    names.note(table.name, operation.keys[position] ?? row.key, {
      base: push.baseOf(operation),
      isAsSent: false,
      isRejected: true,
      revision: undefined,
      names: undefined,
    })
  }
}
