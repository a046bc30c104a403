import { requireReadableRefs } from '../object/authorize'
import type { WriteTx } from '../store/store'
import { formatStamps, stampReplacement } from '../object/stamps'
import { judgeRemoval, putOf, putRow, removalOf, removeRow, store } from '../object/write'
import { aboutRow, noteRow, type Placement, type Writing, rulesOf } from '../object/writing'
import { builtInTable } from '../object/tables'
import { ensureOwnerRow } from '../rows/owner-row'
import type { ObjectPut, ObjectRemoval, TimedObject } from '../store/objects'
import type { Realm, RealmRef } from '../store/realms'
import type { Table } from '../store/tables'
import type { SatchelError } from '../value/error'
import { changedProperties } from '../value/value'
import type { Work } from '../value/work'
import { type Execution, type OwnedRealm, writingOf } from './transaction'
import { isRejection, judgeObject, judgeSize } from './judge'
import type { RowState } from './merge'
import { markDiverged } from './operations'
import type { Row } from './overlay'
import { replay } from './replay'

/** Rows that are judged and written before others may get a turn. */
const TURN_ROWS = 100

/**
 * Judges and writes the rows of a transaction whose operations have been applied:
 * each row before against after, with the rights that the actor held before and full rights in realms
 * that it creates; the structure of realms at the end. Throws the refusal of the first row that may
 * not be written.
 */
export function* commitRows(execution: Execution, ends?: () => Work): Work {
  const rows = execution.overlay.touched()
  for (const { table, key, unseen } of rows) {
    if (unseen !== undefined) execution.written.noteUnseen(table, key, unseen)
  }
  const builtIn = rows.filter(({ table }) => table.builtIn)
  // Mostly no row says who may do what.
  if (builtIn.length === 0) return yield* writeOrdinary(execution, rows)
  const checks = yield* guards(execution, builtIn)
  const realms = builtIn.filter(({ table }) => table.name === 'realms')
  // Later rows find their realm, and the rights in it.
  yield* inTurns(realms.filter(isPut), (row) => {
    const placement = putRuled(execution, row)
    if (placement === undefined) return
    const { realm, owner } = placement
    if (owner !== null) execution.owned.push({ realm, owner })
  })
  const others = builtIn.filter(({ table }) => table.name !== 'realms')
  yield* inTurns(others.filter(isPut), (row) => putRuled(execution, row))
  yield* writeOrdinary(execution, rows)
  yield* inTurns([...others, ...realms].filter(isRemoval), (row) => removeRuled(execution, row))
  if (ends !== undefined) yield* ends()
  yield* inTurns(checks.toReversed(), ({ row, check }) =>
    aboutRow(row.table, row.key, () => check(execution.tx)),
  )
}

function* writeOrdinary(execution: Execution, rows: readonly Row[]): Work {
  for (const [table, some] of Map.groupBy(rows, ({ table: its }) => its)) {
    if (!table.builtIn) yield* writePlain(execution, table, some)
  }
}

/** Rows of built-in tables that are judged and written before others may get a turn. */
const TURN_RULED_ROWS = 20

function* inTurns<T>(rows: readonly T[], work: (row: T) => unknown): Work {
  for (let at = 0; at < rows.length; at += 1) {
    work(rows[at]!)
    if (at % TURN_RULED_ROWS === TURN_RULED_ROWS - 1) yield
  }
}

function isPut({ state }: Row): boolean {
  return state.kind === 'row'
}

function isRemoval({ state, before }: Row): boolean {
  return state.kind !== 'row' && before !== undefined
}

/** Gives the owner of each realm a row of `members` in it unless there is one. */
export function* addOwnerRows(execution: Execution, owned: readonly OwnedRealm[]): Work {
  yield* inTurns(owned, ({ realm, owner }) => {
    if (execution.tx.realms.findByRef(realm.ref) === undefined) return
    const writing = writingOf(execution, builtInTable(execution.tx, 'realms'))
    const accepted = ensureOwnerRow(writing, realm, owner)
    const row = execution.overlay.get({ name: 'members' }, accepted ?? '')
    if (row !== undefined) markDiverged(execution, row)
  })
}

interface Check {
  readonly row: Row
  readonly check: (tx: WriteTx) => void
}

/** What the guards forbid is forbidden at the end of the transaction, not between two rows. */
function* guards(execution: Execution, rows: readonly Row[]): Work<Check[]> {
  const checks: Check[] = []
  yield* inTurns(rows, (row) => {
    const realm = row.before?.realm ?? namedRealm(execution, row)
    const writing = writingOf(execution, row.table)
    const rules = rulesOf(writing.rulesByTable, row.table)
    if (rules === undefined || realm === undefined) return
    const check = aboutRow(row.table, row.key, () => rules.guard(writing, realm, row.before))
    if (check !== undefined) checks.push({ row, check })
  })
  return checks
}

function namedRealm({ tx }: Execution, { state }: Row): RealmRef | undefined {
  const id = state.kind === 'row' ? state.object['realmId'] : undefined
  return typeof id === 'string' ? tx.realms.find(id)?.ref : undefined
}

/** Puts a row of a built-in table. Undefined when the stored row stands as it is. */
function putRuled(execution: Execution, row: Row): Placement | undefined {
  return aboutRow(row.table, row.key, () => judgeAndPut(execution, row))
}

function judgeAndPut(execution: Execution, row: Row): Placement | undefined {
  const writing = writingOf(execution, row.table)
  const verdict = replayAndJudge(execution, row, writing)
  if (verdict === undefined) return undefined
  if (verdict === 'removed') {
    if (row.before !== undefined) removeRuled(execution, row, true)
    return undefined
  }
  const rules = rulesOf(writing.rulesByTable, row.table)
  const placement = rules?.complement?.(writing, verdict) ?? verdict
  putRow(writing, placement, stampsOf(execution, row, placement))
  noteWritten(execution, row)
  return placement
}

function removeRuled(execution: Execution, row: Row, isJudged = false): void {
  const { table, before } = row
  if (before === undefined) return
  const writing = writingOf(execution, table)
  aboutRow(row.table, row.key, () => {
    if (!isJudged) judgeRemoval(writing, before)
    removeRow(writing, before)
  })
  noteWritten(execution, row)
}

/**
 * Judges and writes rows of an ordinary table. They change no rights, so they are written in batches.
 * `refused` is called for a row that may not be written, and the others go on; without it the refusal
 * is thrown.
 */
export function* writePlain(
  execution: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): Work {
  for (let from = 0; from < rows.length; from += TURN_ROWS) {
    if (from > 0) yield
    writeBatch(execution, table, rows.slice(from, from + TURN_ROWS), refused)
  }
}

function writeBatch(
  execution: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): void {
  const puts: ObjectPut[] = []
  const removals: ObjectRemoval[] = []
  for (const { row, put } of judgeRows(execution, table, rows, refused)) {
    noteWritten(execution, row)
    if (put !== undefined) puts.push(put)
    else if (row.before !== undefined) removals.push(removalOf({ table }, row.before))
  }
  store({ tx: execution.tx, table, now: execution.push.now }, puts, removals)
}

/** A row as it is to be written; without `put` and its place it is removed. */
export interface ReadyRow {
  readonly row: Row
  readonly placement?: Placement
  readonly put?: ObjectPut
}

/** Judges rows of an ordinary table. `refused` as in `writePlain`. */
export function judgeRows(
  execution: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): ReadyRow[] {
  const writing = { ...writingOf(execution, table), knownRealms: new Map<string, Realm>() }
  const ready: ReadyRow[] = []
  for (const row of rows) {
    let verdict: Verdict
    try {
      verdict = judgeRow(execution, row, writing)
    } catch (error) {
      if (!isRejection(error)) throw error
      noteRow(error, row)
      if (refused === undefined) throw error
      refused(row, error)
    }
    if (verdict === 'removed') ready.push({ row })
    else if (verdict !== undefined) {
      const put = putOf(writing, verdict, stampsOf(execution, row, verdict))
      ready.push({ row, placement: verdict, put })
    }
  }
  return ready
}

/** Judges rows of an ordinary table as `writePlain` does. Throws the refusal of the first that may not be written. */
export function* judgePlain(execution: Execution, table: Table, rows: readonly Row[]): Work {
  for (let from = 0; from < rows.length; from += TURN_ROWS) {
    if (from > 0) yield
    const writing = { ...writingOf(execution, table), knownRealms: new Map<string, Realm>() }
    for (const row of rows.slice(from, from + TURN_ROWS))
      aboutRow(row.table, row.key, () => judgeRow(execution, row, writing))
  }
}

/** As `replayAndJudge`, for a row that is put or removed. */
function judgeRow(execution: Execution, row: Row, writing: Writing): Verdict {
  if (isPut(row)) return replayAndJudge(execution, row, writing)
  if (row.before === undefined) return undefined
  judgeRemoval(writing, row.before)
  return 'removed'
}

/**
 * The place of a row that is put, judged and with the kept operations of others applied; undefined
 * when the stored row stands, `removed` when one of those operations removes it.
 */
type Verdict = Placement | 'removed' | undefined

function replayAndJudge(execution: Execution, row: Row, writing: Writing): Verdict {
  const { before, state } = row
  if (state.kind !== 'row') return undefined
  if (before !== undefined && isUnchanged(state, before)) return undefined
  return replay(execution, row)
    ? judgeReplayed(execution, row, writing, state)
    : judge(execution, row, writing, state)
}

/** Undefined when the stored row stands. */
function judge(
  execution: Execution,
  row: Row,
  writing: Writing,
  { object }: RowState & { kind: 'row' },
): Placement | undefined {
  const placement = judgeObject(writing, row, object, row.before)
  if (placement === undefined) {
    markDiverged(execution, row)
    return undefined
  }
  judgeSize(placement, row.table, execution.push.limits)
  requireReadableRefs(writing, placement)
  return placement
}

/**
 * The actor must be permitted to put the row as it was sent, or as the kept operations leave it: where
 * it was sent to may be gone, and they have moved it from there.
 */
function judgeReplayed(
  execution: Execution,
  row: Row,
  writing: Writing,
  sent: RowState & { kind: 'row' },
): Verdict {
  markDiverged(execution, row)
  execution.isReplayed = true
  const { state, before } = row
  const realmId = sent.object['realmId']
  const isGone = typeof realmId === 'string' && execution.tx.realms.find(realmId) === undefined
  if (state.kind !== 'row') {
    if (!isGone) judge(execution, row, writing, sent)
    return 'removed'
  }
  try {
    const placement = judge(execution, row, writing, sent)
    if (placement === undefined) return undefined
  } catch (error) {
    if (!isRejection(error) || state.object['realmId'] === realmId) throw error
    const moved = judgeMoved(execution, row, writing, state)
    if (moved === undefined) throw error
    return moved
  }
  // The rights of the actor count for what the actor did.
  return judgeObject({ ...writing, isGlobal: true }, row, state.object, before)
}

/** Undefined where the actor may not put the row either. */
function judgeMoved(
  execution: Execution,
  row: Row,
  writing: Writing,
  state: RowState & { kind: 'row' },
): Placement | undefined {
  try {
    return judge(execution, row, writing, state)
  } catch (error) {
    if (!isRejection(error)) throw error
    return undefined
  }
}

/** Every write to it was too late. */
function isUnchanged(
  { object, stamps }: RowState & { kind: 'row' },
  { value, updated, revision, stamps: earlier }: TimedObject,
): boolean {
  return formatStamps(stamps, updated, revision) === earlier && JSON.stringify(object) === value
}

/** The stamps of a row that is put, as text: those of merging. */
function stampsOf(execution: Execution, row: Row, { draft }: Placement): string | null {
  const { revision, push } = execution
  const { state } = row
  if (state.kind !== 'row') throw new Error('a row that is put has an object')
  // Rules may have set properties of their own.
  const isOwn = draft.object === state.object
  if (!isOwn && changedProperties(state.object, draft.object).length > 0) {
    markDiverged(execution, row)
    const stamp = [push.now, revision, push.client.number] as const
    stampReplacement(state.stamps, state.object, draft.object, stamp)
  }
  return formatStamps(state.stamps, push.now, revision)
}

export function noteWritten(
  execution: Pick<Execution, 'revision' | 'written' | 'names'>,
  { table, key, base }: Row,
): void {
  const { revision, written, names } = execution
  written.set(table, key, revision)
  if (names.named.get(table.name)?.has(key) !== true) return
  names.note(table.name, key, {
    base,
    isAsSent: true,
    isRejected: false,
    revision,
    properties: NO_PROPERTIES,
  })
}

const NO_PROPERTIES: ReadonlySet<string> = new Set()
