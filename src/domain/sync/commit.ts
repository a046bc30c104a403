import type { WriteTx } from '../store/store'
import { putObjects, removeObjects } from '../object/discard'
import { formatStamps, stampReplacement } from '../object/stamps'
import { replacementOf, stored, storedTraces, tracesOf } from '../object/traces'
import { type Placement, type RowRules, type Writing, rulesOf } from '../object/writing'
import { ensureOwnerRow } from '../rows/owner-row'
import type { ObjectPut, ObjectRemoval, TimedObject } from '../store/objects'
import type { Realm, RealmRef } from '../store/realms'
import { andThen, type Awaitable } from '../store/records'
import type { Table } from '../store/tables'
import type { SatchelError } from '../value/error'
import { changedProperties } from '../value/value'
import { type Execution, type OwnedRealm, writingOf } from './execution'
import { isRejection, judgePut, judgeRefs, judgeRemoval, judgeSize } from './judge'
import type { RowState } from './merge'
import { disappoint } from './operations'
import type { Row } from './overlay'
import { noteRow } from './refused'
import { replay } from './replay'

/** Rows that are written at once. */
const BATCH = 500

/**
 * Judges and writes the rows of a transaction whose operations have been applied (§1 of live sync):
 * each row before against after, with the rights that the actor held before and full rights in realms
 * that it creates; the structure of realms at the end. Throws the refusal of the first row that may
 * not be written.
 */
export async function commitRows(run: Execution, ends?: () => Promise<void>): Promise<void> {
  const rows = [...run.overlay.rows()].filter(({ isTouched }) => isTouched)
  for (const { table, key, unknown } of rows) {
    if (unknown !== undefined) run.written.noteUnknown(table, key, unknown)
  }
  const builtIn = rows.filter(({ table }) => table.builtIn)
  await guarded(run, builtIn, async () => {
    const realms = builtIn.filter(({ table }) => table.name === 'realms')
    // Later rows find their realm, and the rights in it.
    for (const row of realms.filter(isPut)) {
      const placement = await putRuled(run, row)
      if (placement === undefined) continue
      const { realm, owner } = placement
      if (owner !== null) run.owned.push({ realm, owner })
    }
    for (const row of builtIn) {
      if (row.table.name !== 'realms' && isPut(row)) await putRuled(run, row)
    }
    for (const [table, plain] of Map.groupBy(rows, ({ table: its }) => its)) {
      if (!table.builtIn) await writePlain(run, table, plain)
    }
    for (const row of [...builtIn.filter(({ table }) => table.name !== 'realms'), ...realms]) {
      if (isRemoval(row)) await removeRuled(run, row)
    }
    await ends?.()
  })
}

function isPut({ state }: Row): boolean {
  return state.kind === 'row'
}

function isRemoval({ state, before }: Row): boolean {
  return state.kind !== 'row' && before !== undefined
}

/** Gives the owner of each realm a row of `members` in it unless there is one. */
export async function addOwnerRows(run: Execution, owned: readonly OwnedRealm[]): Promise<void> {
  const table = await run.tx.tables.find('realms')
  if (table === undefined) throw new Error('the table realms is missing')
  for (const { realm, owner } of owned) {
    const isAlive = (await run.tx.realms.findByRef(realm.ref)) !== undefined
    if (!isAlive) continue
    const accepted = await ensureOwnerRow(writingOf(run, table), realm, owner)
    const row = accepted === undefined ? undefined : rowOfMember(run, accepted)
    if (row !== undefined) disappoint(run, row)
  }
}

function rowOfMember({ overlay }: Execution, key: string): Row | undefined {
  return [...overlay.rows()].find(({ table, key: its }) => table.name === 'members' && its === key)
}

/** What the guards forbid is forbidden at the end of the transaction, not between two rows. */
async function guarded(
  run: Execution,
  rows: readonly Row[],
  change: () => Promise<void>,
): Promise<void> {
  const checks: { readonly row: Row; readonly check: (tx: WriteTx) => void }[] = []
  for (const row of rows) {
    const realm = row.before?.realm ?? (await namedRealm(run, row))
    const writing = writingOf(run, row.table)
    const rules = rulesOf(writing.rulesByTable, row.table)
    if (rules === undefined || realm === undefined) continue
    const check = await named(row, () => rules.guard(writing, realm, row.before))
    if (check !== undefined) checks.push({ row, check })
    await run.tx.breathe()
  }
  await change()
  for (const { row, check } of checks.toReversed()) {
    await named(row, () => check(run.tx))
    await run.tx.breathe()
  }
}

async function namedRealm({ tx }: Execution, { state }: Row): Promise<RealmRef | undefined> {
  const id = state.kind === 'row' ? state.object['realmId'] : undefined
  return typeof id === 'string' ? (await tx.realms.find(id))?.ref : undefined
}

/** Runs `work`, and notes that its refusal is about this row. */
export async function named<T>(row: Row, work: () => Awaitable<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isRejection(error)) noteRow(error, row)
    throw error
  }
}

/** Puts a row of a built-in table. Undefined when the stored row stands as it is. */
function putRuled(run: Execution, row: Row): Promise<Placement | undefined> {
  return named(row, () => settleAndPut(run, row))
}

async function settleAndPut(run: Execution, row: Row): Promise<Placement | undefined> {
  const { tx, push } = run
  const writing = writingOf(run, row.table)
  const settled = await settle(run, row, writing)
  if (settled === undefined) return undefined
  const rules = rulesOf(writing.rulesByTable, row.table)
  if (settled === 'removed') {
    if (row.before !== undefined) await removeRuled(run, row, true)
    return undefined
  }
  const placement = (await rules?.complement?.(writing, settled)) ?? settled
  await putObjects(tx, row.table, [putOf(run, row, placement)], push.now)
  await rules?.afterPut(writing, placement)
  noteWritten(run, row)
  await tx.breathe()
  return placement
}

async function removeRuled(run: Execution, row: Row, isJudged = false): Promise<void> {
  const { tx, push } = run
  const { table, before } = row
  if (before === undefined) return
  const writing = writingOf(run, table)
  if (!isJudged) await named(row, () => judgeRemoval(writing, before))
  const rules: RowRules | undefined = rulesOf(writing.rulesByTable, table)
  const isDone = await named(row, () => rules?.remove(writing, before))
  if (isDone !== true) await removeObjects(tx, table, [removalOf(row)], push.now)
  noteWritten(run, row)
}

/**
 * Judges and writes rows of an ordinary table. They change no rights, so they are written in batches.
 * `refused` is called for a row that may not be written, and the others go on; without it the refusal
 * is thrown.
 */
export async function writePlain(
  run: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): Promise<void> {
  const { tx, push } = run
  const writing = { ...writingOf(run, table), knownRealms: new Map<string, Realm>() }
  let puts: ObjectPut[] = []
  let removals: ObjectRemoval[] = []
  const flush = async () => {
    await putObjects(tx, table, puts, push.now)
    await removeObjects(tx, table, removals, push.now)
    puts = []
    removals = []
  }
  for (const row of rows) {
    let settled: Settled
    try {
      // A promise for each row would cost as much as the row.
      const settling = judgeRow(run, row, writing)
      settled = settling instanceof Promise ? await settling : settling
    } catch (error) {
      if (!isRejection(error)) throw error
      noteRow(error, row)
      if (refused === undefined) throw error
      refused(row, error)
      settled = undefined
    }
    if (settled === 'removed') {
      if (row.before !== undefined) removals.push(removalOf(row))
      noteWritten(run, row)
    } else if (settled !== undefined) {
      puts.push(putOf(run, row, settled))
      noteWritten(run, row)
    }
    if (puts.length + removals.length >= BATCH) await flush()
    const pause = tx.breathe()
    if (pause instanceof Promise) await pause
  }
  await flush()
}

/** Judges rows of an ordinary table as `writePlain` does. Throws the refusal of the first that may not be written. */
export async function judgePlain(
  run: Execution,
  table: Table,
  rows: readonly Row[],
): Promise<void> {
  const writing = { ...writingOf(run, table), knownRealms: new Map<string, Realm>() }
  for (const row of rows) {
    await named(row, () => judgeRow(run, row, writing))
    await run.tx.breathe()
  }
}

/** As `settle`, for a row that is put or removed. */
export function judgeRow(run: Execution, row: Row, writing: Writing): Awaitable<Settled> {
  if (isPut(row)) return settle(run, row, writing)
  if (row.before === undefined) return undefined
  return andThen(judgeRemoval(writing, row.before), () => 'removed')
}

/**
 * The place of a row that is put, judged and with the kept operations of others applied; undefined
 * when the stored row stands, `removed` when one of those operations removes it.
 */
type Settled = Placement | 'removed' | undefined

function settle(run: Execution, row: Row, writing: Writing): Awaitable<Settled> {
  const { before, state } = row
  if (state.kind !== 'row') return undefined
  if (before !== undefined && isUnchanged(state, before)) return undefined
  return andThen(replay(run, row), (isReplayed) =>
    isReplayed ? settleReplayed(run, row, writing, state) : judge(run, row, writing, state),
  )
}

/** Undefined when the stored row stands. */
function judge(
  run: Execution,
  row: Row,
  writing: Writing,
  { object }: RowState & { kind: 'row' },
): Awaitable<Placement | undefined> {
  return andThen(judgePut(writing, row, object, row.before), (own) => {
    if (own === undefined) {
      disappoint(run, row)
      return undefined
    }
    if (run.push.limits !== undefined) judgeSize(own, row.table, run.push.limits)
    return andThen(judgeRefs(writing, own), () => own)
  })
}

/**
 * The actor must be permitted to put the row as it was sent, or as the kept operations leave it: where
 * it was sent to may be gone, and they have moved it from there.
 */
async function settleReplayed(
  run: Execution,
  row: Row,
  writing: Writing,
  sent: RowState & { kind: 'row' },
): Promise<Settled> {
  disappoint(run, row)
  run.isReplayed = true
  const { state, before } = row
  const realmId = sent.object['realmId']
  const isGone = typeof realmId === 'string' && (await run.tx.realms.find(realmId)) === undefined
  if (state.kind !== 'row') {
    if (!isGone) await judge(run, row, writing, sent)
    return 'removed'
  }
  try {
    const own = await judge(run, row, writing, sent)
    if (own === undefined) return undefined
  } catch (error) {
    if (!isRejection(error) || state.object['realmId'] === realmId) throw error
    return (await judgeMoved(run, row, writing, state)) ?? raise(error)
  }
  // The rights of the actor count for what the actor did.
  return judgePut({ ...writing, isGlobal: true }, row, state.object, before)
}

/** Undefined where the actor may not put the row either. */
async function judgeMoved(
  run: Execution,
  row: Row,
  writing: Writing,
  state: RowState & { kind: 'row' },
): Promise<Placement | undefined> {
  try {
    return await judge(run, row, writing, state)
  } catch (error) {
    if (!isRejection(error)) throw error
    return undefined
  }
}

function raise(error: SatchelError): never {
  throw error
}

/** Every write to it was too late. */
function isUnchanged(
  { object, stamps }: RowState & { kind: 'row' },
  { value, updated, revision, stamps: earlier }: TimedObject,
): boolean {
  return formatStamps(stamps, updated, revision) === earlier && JSON.stringify(object) === value
}

export function putOf(run: Execution, row: Row, placement: Placement): ObjectPut {
  const { revision, push } = run
  const { draft, key, realm, owner } = placement
  const { table, before, state } = row
  if (state.kind !== 'row') throw new Error('a row that is put has an object')
  // Rules may have set properties of their own.
  const isOwn = draft.object === state.object
  if (!isOwn && changedProperties(state.object, draft.object).length > 0) {
    disappoint(run, row)
    const stamp = [push.now, revision, push.client.number] as const
    stampReplacement(state.stamps, state.object, draft.object, stamp)
  }
  const put = {
    key,
    realm: realm.ref,
    owner,
    value: draft.text,
    stamps: formatStamps(state.stamps, push.now, revision),
  }
  if (before === undefined) return { ...put, ...tracesOf(table, draft) }
  const { entries, blobs, previousTraces } = replacementOf(table, stored(before.value), draft)
  return { ...put, entries, blobs, previous: before, previousTraces }
}

export function removalOf({ table, before }: Row): ObjectRemoval {
  if (before === undefined) throw new Error('a row that is removed was there')
  return { previous: before, ...storedTraces(table, before.value) }
}

export function noteWritten(
  run: Pick<Execution, 'revision' | 'written' | 'names'>,
  { table, key, base }: Row,
): void {
  const { revision, written, names } = run
  written.set(table, key, revision)
  if (names.named.get(table.name)?.has(key) !== true) return
  names.note(table.name, key, {
    base,
    isAsSent: true,
    isRejected: false,
    revision,
    names: NO_NAMES,
  })
}

const NO_NAMES: ReadonlySet<string> = new Set()
