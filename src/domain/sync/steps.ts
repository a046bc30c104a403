// One operation on very many objects, written in steps: docs/merging.md, "Transactions".

import { requireWriter } from '../access/actor'
import type { Database, Step, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import type { SatchelError } from '../value/error'
import type { Candidates } from './candidates'
import { judgePlain, writePlain } from './commit'
import { executeAll } from './execute'
import type { Execution, Push } from './transaction'
import { isRejection } from './judge'
import { DIVERGED } from './named-keys'
import { applyOperation, type PlacedOperation } from './operations'
import type { Row } from './overlay'
import { addRefused } from './refused'
import type { ClientTransaction } from './request'
import { namedSteps, type StepPlan, reachedSteps, type RowStep } from './row-steps'
import {
  addRevisions,
  attemptPart,
  beginExecution,
  beginPart,
  endPart,
  findApplied,
  inSteps,
  noteAll,
  type Progress,
  reject,
  rejectOnce,
  relieved,
  writeLongUnit,
  writeUnit,
} from './unit'
import { atOnce, type Work } from '../value/work'

/** A transaction of one operation on so many rows that it is executed in steps. */
export interface Large {
  readonly transaction: ClientTransaction
  /** The rows that its criteria reach; undefined when it names its rows. */
  readonly candidates: Candidates | undefined
  /** An earlier request has judged all of it and may have executed some of its steps. */
  readonly isBegun: boolean
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
  { transaction, candidates, isBegun }: Large,
  progress: Progress,
  ownRevisions: Set<number>,
): Promise<void> {
  const plan =
    candidates === undefined
      ? namedSteps(push, transaction)
      : reachedSteps(push, transaction, candidates)
  if (!isBegun) {
    const rejection = await judgeAll(database, push, plan, progress)
    if (rejection !== undefined) {
      const part = await writeUnit(database, push, (tx) => {
        const ending = beginPart(progress)
        rejectOnce(tx, push, transaction, ending, rejection)
        return ending
      })
      return endPart(progress, part)
    }
    const begun = await writeLongUnit(database, push, async (step) => {
      const beginning = beginPart(progress)
      const known = await step((tx) => findApplied(tx, push, transaction.txid))
      if (known === undefined) await plan.begin?.(step, beginning)
      return beginning
    })
    endPart(progress, begun)
  }
  let refusal: SatchelError | undefined
  let expected = 0
  for (let isOver = false; !isOver;) {
    const part = await writeLongUnit(database, push, (step) =>
      executeStep(step, push, { transaction, plan, expected }, beginPart(progress)),
    )
    endPart(progress, part)
    if (plan.isPlain) addRevisions(ownRevisions, part)
    refusal ??= part.refusals[0]
    // An earlier request, or another one beside this, has executed some.
    if (part.step > expected) {
      noteAll(push, transaction, progress.names, { isRejected: false, revision: undefined })
    }
    expected = part.step + 1
    isOver = part.isOver
  }
  if (refusal !== undefined) reject(progress, transaction, refusal)
}

/** Undoes the unit of a step that was only judged. */
const JUDGED = new Error('the step was judged')

/** Judges all steps in units that change nothing; resolves to the refusal of the first row that has one. */
async function judgeAll(
  database: Database,
  push: Push,
  plan: StepPlan,
  progress: Progress,
): Promise<SatchelError | undefined> {
  const { signal, actor, now } = push
  const judgeStep = async (step: Step, at: number) => {
    const { execution, work } = await step((tx) => {
      requireWriter(tx, actor, now)
      const { table, placed, candidates } = plan.judged(tx, at)
      const part = beginPart(progress)
      const begun = beginExecution(tx, push, part, candidates)
      return { execution: begun, work: judging(begun, table, placed) }
    })
    await inSteps(step, execution, work)
    throw JUDGED
  }
  for (let step = 0; step < plan.count; step += 1) {
    try {
      const judged = database.writeSteps((steps) => judgeStep(steps, step), { signal })
      await relieved(push, judged)
    } catch (error) {
      if (error === JUDGED) continue
      if (!isRejection(error)) throw error
      return error
    }
  }
  return undefined
}

function* judging(execution: Execution, table: Table, placed: readonly PlacedOperation[]): Work {
  if (table.builtIn) return yield* executeAll(execution, placed)
  yield* applyAll(execution, placed)
  yield* judgePlain(execution, table, touchedIn(execution, table))
}

function* applyAll(execution: Execution, placed: readonly PlacedOperation[]): Work {
  for (const operation of placed) yield* applyOperation(execution, operation)
}

function touchedIn({ overlay }: Execution, table: Table): readonly Row[] {
  return overlay.rowsOf(table).filter(({ isTouched }) => isTouched)
}

interface Underway {
  readonly transaction: ClientTransaction
  readonly plan: StepPlan
  /** The step that comes next, unless another request has executed it. */
  readonly expected: number
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
  const { at, by, rows } = next
  if (rows === undefined) return { ...part, step: at, isOver: true, refusals: [] }
  const refusals = rows.table.builtIn
    ? await step((tx) => executeRuled(tx, push, rows, part))
    : await executePlain(step, push, rows, part)
  const { transaction } = underway
  for (const refusal of refusals) addRefused(part.refused, transaction, refusal)
  const { client, now } = push
  await step((tx) => {
    if (refusals.length > 0) tx.syncClients.noteCorrection(client.number)
    tx.applied.put(by, transaction.txid, now, { steps: at + 1 })
  })
  return { ...part, step: at, isOver: false, refusals }
}

/**
 * The step that is left, by its number, and the client that began; without rows the transaction is over, now or since
 * before.
 */
function nextStep(
  tx: WriteTx,
  push: Push,
  { transaction: { txid }, plan, expected }: Underway,
): { readonly at: number; readonly by: number; readonly rows: RowStep | undefined } {
  const { client, now, isSure } = push
  const applied = findApplied(tx, push, txid)
  const at = applied?.steps ?? 0
  const by = applied?.client ?? client.number
  if (at > expected || applied?.steps === null) tx.syncClients.noteCorrection(client.number)
  if (applied?.steps === null) return { at: Infinity, by, rows: undefined }
  const rows = plan.executed(tx, at, by)
  if (rows === undefined) {
    if (!isSure) tx.syncClients.noteCorrection(client.number)
    tx.applied.removeKeys(by, txid)
    tx.applied.put(by, txid, now)
  }
  return { at, by, rows }
}

async function executePlain(
  step: Step,
  push: Push,
  { table, placed, candidates }: RowStep,
  part: Progress,
): Promise<readonly SatchelError[]> {
  const refusals: SatchelError[] = []
  const execution = await step((tx) => beginExecution(tx, push, part, candidates))
  await inSteps(step, execution, applyAll(execution, placed))
  const refused = (row: Row, refusal: SatchelError) => {
    refusals.push(refusal)
    noteRefused(execution, placed, row)
  }
  await inSteps(step, execution, writePlain(execution, table, touchedIn(execution, table), refused))
  if (execution.mayDelete) await step((tx) => tx.syncClients.noteCorrection(push.client.number))
  return refusals
}

/** Rows with rules are judged together: all rows of the step are written, or none is. */
function executeRuled(
  tx: WriteTx,
  push: Push,
  { placed, candidates }: RowStep,
  part: Progress,
): readonly SatchelError[] {
  const refusal = attemptPart(tx, part, (attempt) => {
    const execution = beginExecution(tx, push, attempt, candidates)
    atOnce(executeAll(execution, placed))
    if (execution.mayDelete) tx.syncClients.noteCorrection(push.client.number)
  })
  if (refusal === undefined) return []
  const operations = placed.map(({ operation }) => operation)
  noteAll(push, { operations }, part.names, { isRejected: true, revision: undefined })
  return [refusal]
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
      ...DIVERGED,
      base: push.baseOf(operation),
      isRejected: true,
      properties: undefined,
    })
  }
}
