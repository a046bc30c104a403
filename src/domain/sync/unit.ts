import { accessOf } from '../access/access'
import { requireWriter } from '../access/actor'
import type { Database, ReadTx, Step, WriteOptions, WriteTx } from '../store/store'
import type { AppliedTransaction, SyncClient } from '../store/sync'
import type { Table } from '../store/tables'
import { SatchelError, quoted } from '../value/error'
import { minuteOf } from '../value/time'
import { noteFloor } from './client'
import type { Candidates } from './candidates'
import { type ClientClock, WrittenRows, type Execution, type Push } from './transaction'
import { rejectionOf } from './judge'
import { DIVERGED, NamedKeys, type Rejection } from './named-keys'
import { type PlacedOperation, propertiesTold } from './operations'
import { createOverlay } from './overlay'
import { createReplays, type Replays } from './kept'
import { addRefused, appendRefused, createRefusedRows, type RefusedRows } from './refused'
import type { ClientTransaction, Operation } from './request'
import { storedKey } from './wire-key'
import type { Work } from '../value/work'

/** How long executed transactions are remembered, ms; longer while their client repeats them. */
const REMEMBERED = 10 * 60 * 1000

/** What the units of a request hand on. */
export interface Progress {
  readonly names: NamedKeys
  readonly rejections: Rejection[]
  /** The rows of transactions that were rejected now, not those of repeated ones. */
  readonly refused: RefusedRows
  /** The revision in which the request last wrote a row, by table and key. */
  readonly written: WrittenRows
  readonly replays: Replays
  clock: ClientClock
  /** A unit of the request has forgotten the transactions that are not repeated any more. */
  isPruned: boolean
}

/** One unit of a request: checks the writer, and keeps what the client is remembered by. */
export function writeUnit<T extends Progress>(
  database: Database,
  push: Push,
  work: (tx: WriteTx) => T,
  options: Pick<WriteOptions, 'rarelyFails'> = {},
): Promise<T> {
  const written = database.write(
    (tx) => {
      requireWriter(tx, push.actor, push.now)
      const part = work(tx)
      remember(tx, push, part)
      return part
    },
    { ...optionsOf(push), ...options },
  )
  return relieved(push, written)
}

/** `writeUnit` in steps, for work that may take longer than the time budget of a unit. */
export function writeLongUnit<T extends Progress>(
  database: Database,
  push: Push,
  work: (step: Step) => Promise<T>,
): Promise<T> {
  const written = database.writeSteps(
    async (step) => {
      await step((tx) => requireWriter(tx, push.actor, push.now))
      const part = await work(step)
      await step((tx) => remember(tx, push, part))
      return part
    },
    { ...optionsOf(push), isUnbounded: true },
  )
  return relieved(push, written)
}

/** A unit, after which a large request collects its garbage. */
export function relieved<T>({ relieve }: Push, unit: Promise<T>): Promise<T> {
  return relieve === undefined ? unit : unit.finally(relieve)
}

function optionsOf({ actor, client, signal }: Push): WriteOptions {
  return { subject: actor.subject, client: client.number, signal }
}

function remember(tx: WriteTx, { client, now, transactions }: Push, part: Progress): void {
  const floor = Math.ceil(part.clock.floor)
  if (isFloorToNote(floor, part.clock, client)) noteFloor(tx, client, floor)
  if (!part.isPruned) {
    const txids = new Set(transactions.map(({ txid }) => txid))
    tx.applied.prune(client.number, now - REMEMBERED, txids)
  }
}

/**
 * While the clock of the client alone makes the floor rise, no later operation would be below it: then once a
 * minute is often enough.
 */
function isFloorToNote(floor: number, clock: ClientClock, { floor: noted }: SyncClient): boolean {
  return floor > noted && (floor > clock.latestGiven || minuteOf(floor) !== minuteOf(noted))
}

/**
 * Does the work of a transaction in the steps of a long unit. What it holds in memory grows from step to step, so
 * an engine that repeats a step has to find all that the step reads before it runs it.
 */
export async function inSteps<T>(step: Step, execution: Execution, work: Work<T>): Promise<T> {
  for (;;) {
    const { done, value } = await step((tx) => {
      execution.tx = tx
      return work.next()
    })
    if (done === true) return value
  }
}

/** A unit may run again, so it works on copies. */
export function beginPart({ written, clock, isPruned }: Progress): Progress {
  return {
    names: new NamedKeys(),
    rejections: [],
    refused: createRefusedRows(),
    written: new WrittenRows(written),
    replays: createReplays(),
    clock: { ...clock },
    isPruned,
  }
}

export function endPart(progress: Progress, part: Progress): void {
  const { names, rejections, refused, written, clock } = part
  progress.names.append(names)
  appendRefused(progress.refused, refused)
  progress.rejections.push(...rejections)
  progress.written.append(written)
  progress.clock = clock
  progress.isPruned = true
}

/** Does work that may be rejected alone: then it returns the refusal, and nothing of the work is left. */
export function attemptPart(
  tx: WriteTx,
  part: Progress,
  work: (attempt: Progress) => void,
): SatchelError | undefined {
  const attempt = {
    ...part,
    names: new NamedKeys(),
    written: new WrittenRows(part.written),
    clock: { ...part.clock },
  }
  const refusal = rejectionOf(() => tx.attempt(() => work(attempt)))
  if (refusal !== undefined) return refusal
  part.names.append(attempt.names)
  part.written.append(attempt.written)
  part.clock = attempt.clock
  return undefined
}

/** Adds the revisions in which a part has written rows. */
export function addRevisions(ownRevisions: Set<number>, { written }: Progress): void {
  for (const revision of written.revisions) ownRevisions.add(revision)
}

/** Executes a transaction, or a part of one, in the unit of `part`, which is dropped when it fails. */
export function beginExecution(
  tx: WriteTx,
  push: Push,
  { clock, names, written, replays }: Progress,
  candidates?: Candidates,
  access = accessOf(tx, push.actor),
): Execution {
  return {
    tx,
    revision: tx.unitRevision(),
    push,
    clock,
    access,
    overlay: createOverlay(access),
    names,
    candidates,
    newRealms: new Map(),
    owned: [],
    written,
    replays,
    mayDelete: false,
    isReplayed: false,
    unitAccess: undefined,
  }
}

/** An operation and its table. */
export type TableOperation = Pick<PlacedOperation, 'operation' | 'table'>

/**
 * The operations of a transaction with their tables. Throws the refusal of the transaction: of a value
 * that could not be read, of another user's operation or an unknown table.
 */
export function findTables(
  tx: ReadTx,
  { actor }: Push,
  { operations, refusal }: ClientTransaction,
): readonly TableOperation[] {
  if (refusal !== undefined) throw refusal
  const found: TableOperation[] = []
  for (const operation of operations) {
    const { userId } = operation
    if (userId !== undefined && userId !== actor.subject) {
      throw new SatchelError('NOT_AUTHORIZED', 'The operation is that of another user', {
        reason: 'userId',
      })
    }
    found.push({ operation, table: requireSynced(tx, operation.table) })
  }
  return found
}

/** `findTables` with the keys of the operations. Throws the refusal of a broken key too. */
export function placeOperations(
  tx: ReadTx,
  push: Push,
  transaction: ClientTransaction,
): readonly PlacedOperation[] {
  return findTables(tx, push, transaction).map(({ operation, table }) => {
    const keys = operation.keys.map((key) => storedKey(table, key))
    return { operation, table, keys }
  })
}

function requireSynced(tx: ReadTx, name: string): Table {
  const table = tx.tables.find(name)
  if (table !== undefined && !table.hidden) return table
  throw new SatchelError('UNKNOWN_TABLE', `There is no table ${quoted(name)}`, { reason: name })
}

/**
 * What became of a transaction that came before. Until a client has an answer it names itself anew in each request
 * (protocol.md §4.2).
 */
export function findApplied(
  tx: ReadTx,
  { client, isFirst }: Push,
  txid: string,
): AppliedTransaction | undefined {
  const applied = tx.applied.find(client.number, txid)
  return applied ?? (isFirst ? tx.applied.findOfUser(client.subject, txid) : undefined)
}

/** Rejects a transaction for good: when it comes again, later ones have been executed. */
export function rejectOnce(
  tx: WriteTx,
  push: Push,
  transaction: ClientTransaction,
  part: Progress,
  error: SatchelError,
): void {
  const { client, now } = push
  const { code: name, message } = error
  reject(part, transaction, error)
  addRefused(part.refused, transaction, error)
  noteAll(push, transaction, part.names, { isRejected: true, revision: undefined })
  tx.syncClients.noteCorrection(client.number)
  tx.applied.put(client.number, transaction.txid, now, { rejection: { name, message } })
}

export function reject(part: Progress, { txid }: ClientTransaction, error: SatchelError): void {
  part.rejections.push({ txid, name: error.code, message: error.message })
}

/** Notes all keys of a transaction that changed nothing now. */
export function noteAll(
  push: Push,
  { operations }: Pick<ClientTransaction, 'operations'>,
  names: NamedKeys,
  state: { readonly isRejected: boolean; readonly revision: number | undefined },
): void {
  for (const operation of operations) {
    const base = push.baseOf(operation)
    for (const [position, key] of operation.keys.entries()) {
      names.note(operation.table, key, {
        ...DIVERGED,
        ...state,
        base,
        properties: mayMove(operation) ? undefined : propertiesTold(operation.action, position),
      })
    }
  }
}

/** The client may not have had a row that an update of it has moved. */
function mayMove({ action }: Operation): boolean {
  return action.type === 'update' && action.changes.flat().some(({ path }) => path[0] === 'realmId')
}
