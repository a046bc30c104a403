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
export function* commitRows(run: Execution, ends?: () => Work): Work {
  const rows = run.overlay.touched()
  for (const { table, key, unseen } of rows) {
    if (unseen !== undefined) run.written.noteUnseen(table, key, unseen)
  }
  const builtIn = rows.filter(({ table }) => table.builtIn)
  // Mostly no row says who may do what.
  if (builtIn.length === 0) return yield* writeOrdinary(run, rows)
  const checks = yield* guards(run, builtIn)
  const realms = builtIn.filter(({ table }) => table.name === 'realms')
  // Later rows find their realm, and the rights in it.
  yield* inTurns(realms.filter(isPut), (row) => {
    const placement = putRuled(run, row)
    if (placement === undefined) return
    const { realm, owner } = placement
    if (owner !== null) run.owned.push({ realm, owner })
  })
  const others = builtIn.filter(({ table }) => table.name !== 'realms')
  yield* inTurns(others.filter(isPut), (row) => putRuled(run, row))
  yield* writeOrdinary(run, rows)
  yield* inTurns([...others, ...realms].filter(isRemoval), (row) => removeRuled(run, row))
  if (ends !== undefined) yield* ends()
  yield* inTurns(checks.toReversed(), ({ row, check }) =>
    aboutRow(row.table, row.key, () => check(run.tx)),
  )
}

function* writeOrdinary(run: Execution, rows: readonly Row[]): Work {
  for (const [table, some] of Map.groupBy(rows, ({ table: its }) => its)) {
    if (!table.builtIn) yield* writePlain(run, table, some)
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
export function* addOwnerRows(run: Execution, owned: readonly OwnedRealm[]): Work {
  yield* inTurns(owned, ({ realm, owner }) => {
    if (run.tx.realms.findByRef(realm.ref) === undefined) return
    const writing = writingOf(run, builtInTable(run.tx, 'realms'))
    const accepted = ensureOwnerRow(writing, realm, owner)
    const row = run.overlay.get({ name: 'members' }, accepted ?? '')
    if (row !== undefined) markDiverged(run, row)
  })
}

interface Check {
  readonly row: Row
  readonly check: (tx: WriteTx) => void
}

/** What the guards forbid is forbidden at the end of the transaction, not between two rows. */
function* guards(run: Execution, rows: readonly Row[]): Work<Check[]> {
  const checks: Check[] = []
  yield* inTurns(rows, (row) => {
    const realm = row.before?.realm ?? namedRealm(run, row)
    const writing = writingOf(run, row.table)
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
function putRuled(run: Execution, row: Row): Placement | undefined {
  return aboutRow(row.table, row.key, () => judgeAndPut(run, row))
}

function judgeAndPut(run: Execution, row: Row): Placement | undefined {
  const writing = writingOf(run, row.table)
  const verdict = replayAndJudge(run, row, writing)
  if (verdict === undefined) return undefined
  if (verdict === 'removed') {
    if (row.before !== undefined) removeRuled(run, row, true)
    return undefined
  }
  const rules = rulesOf(writing.rulesByTable, row.table)
  const placement = rules?.complement?.(writing, verdict) ?? verdict
  putRow(writing, placement, stampsOf(run, row, placement))
  noteWritten(run, row)
  return placement
}

function removeRuled(run: Execution, row: Row, isJudged = false): void {
  const { table, before } = row
  if (before === undefined) return
  const writing = writingOf(run, table)
  aboutRow(row.table, row.key, () => {
    if (!isJudged) judgeRemoval(writing, before)
    removeRow(writing, before)
  })
  noteWritten(run, row)
}

/**
 * Judges and writes rows of an ordinary table. They change no rights, so they are written in batches.
 * `refused` is called for a row that may not be written, and the others go on; without it the refusal
 * is thrown.
 */
export function* writePlain(
  run: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): Work {
  for (let from = 0; from < rows.length; from += TURN_ROWS) {
    if (from > 0) yield
    writeBatch(run, table, rows.slice(from, from + TURN_ROWS), refused)
  }
}

function writeBatch(
  run: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): void {
  const puts: ObjectPut[] = []
  const removals: ObjectRemoval[] = []
  for (const { row, put } of judgeRows(run, table, rows, refused)) {
    noteWritten(run, row)
    if (put !== undefined) puts.push(put)
    else if (row.before !== undefined) removals.push(removalOf({ table }, row.before))
  }
  store({ tx: run.tx, table, now: run.push.now }, puts, removals)
}

/** A row as it is to be written; without `put` and its place it is removed. */
export interface ReadyRow {
  readonly row: Row
  readonly placement?: Placement
  readonly put?: ObjectPut
}

/** Judges rows of an ordinary table. `refused` as in `writePlain`. */
export function judgeRows(
  run: Execution,
  table: Table,
  rows: readonly Row[],
  refused?: (row: Row, refusal: SatchelError) => void,
): ReadyRow[] {
  const writing = { ...writingOf(run, table), knownRealms: new Map<string, Realm>() }
  const ready: ReadyRow[] = []
  for (const row of rows) {
    let verdict: Verdict
    try {
      verdict = judgeRow(run, row, writing)
    } catch (error) {
      if (!isRejection(error)) throw error
      noteRow(error, row)
      if (refused === undefined) throw error
      refused(row, error)
    }
    if (verdict === 'removed') ready.push({ row })
    else if (verdict !== undefined) {
      const put = putOf(writing, verdict, stampsOf(run, row, verdict))
      ready.push({ row, placement: verdict, put })
    }
  }
  return ready
}

/** Judges rows of an ordinary table as `writePlain` does. Throws the refusal of the first that may not be written. */
export function* judgePlain(run: Execution, table: Table, rows: readonly Row[]): Work {
  for (let from = 0; from < rows.length; from += TURN_ROWS) {
    if (from > 0) yield
    const writing = { ...writingOf(run, table), knownRealms: new Map<string, Realm>() }
    for (const row of rows.slice(from, from + TURN_ROWS))
      aboutRow(row.table, row.key, () => judgeRow(run, row, writing))
  }
}

/** As `replayAndJudge`, for a row that is put or removed. */
function judgeRow(run: Execution, row: Row, writing: Writing): Verdict {
  if (isPut(row)) return replayAndJudge(run, row, writing)
  if (row.before === undefined) return undefined
  judgeRemoval(writing, row.before)
  return 'removed'
}

/**
 * The place of a row that is put, judged and with the kept operations of others applied; undefined
 * when the stored row stands, `removed` when one of those operations removes it.
 */
type Verdict = Placement | 'removed' | undefined

function replayAndJudge(run: Execution, row: Row, writing: Writing): Verdict {
  const { before, state } = row
  if (state.kind !== 'row') return undefined
  if (before !== undefined && isUnchanged(state, before)) return undefined
  return replay(run, row)
    ? judgeReplayed(run, row, writing, state)
    : judge(run, row, writing, state)
}

/** Undefined when the stored row stands. */
function judge(
  run: Execution,
  row: Row,
  writing: Writing,
  { object }: RowState & { kind: 'row' },
): Placement | undefined {
  const placement = judgeObject(writing, row, object, row.before)
  if (placement === undefined) {
    markDiverged(run, row)
    return undefined
  }
  judgeSize(placement, row.table, run.push.limits)
  requireReadableRefs(writing, placement)
  return placement
}

/**
 * The actor must be permitted to put the row as it was sent, or as the kept operations leave it: where
 * it was sent to may be gone, and they have moved it from there.
 */
function judgeReplayed(
  run: Execution,
  row: Row,
  writing: Writing,
  sent: RowState & { kind: 'row' },
): Verdict {
  markDiverged(run, row)
  run.isReplayed = true
  const { state, before } = row
  const realmId = sent.object['realmId']
  const isGone = typeof realmId === 'string' && run.tx.realms.find(realmId) === undefined
  if (state.kind !== 'row') {
    if (!isGone) judge(run, row, writing, sent)
    return 'removed'
  }
  try {
    const placement = judge(run, row, writing, sent)
    if (placement === undefined) return undefined
  } catch (error) {
    if (!isRejection(error) || state.object['realmId'] === realmId) throw error
    const moved = judgeMoved(run, row, writing, state)
    if (moved === undefined) throw error
    return moved
  }
  // The rights of the actor count for what the actor did.
  return judgeObject({ ...writing, isGlobal: true }, row, state.object, before)
}

/** Undefined where the actor may not put the row either. */
function judgeMoved(
  run: Execution,
  row: Row,
  writing: Writing,
  state: RowState & { kind: 'row' },
): Placement | undefined {
  try {
    return judge(run, row, writing, state)
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
function stampsOf(run: Execution, row: Row, { draft }: Placement): string | null {
  const { revision, push } = run
  const { state } = row
  if (state.kind !== 'row') throw new Error('a row that is put has an object')
  // Rules may have set properties of their own.
  const isOwn = draft.object === state.object
  if (!isOwn && changedProperties(state.object, draft.object).length > 0) {
    markDiverged(run, row)
    const stamp = [push.now, revision, push.client.number] as const
    stampReplacement(state.stamps, state.object, draft.object, stamp)
  }
  return formatStamps(state.stamps, push.now, revision)
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
    properties: NO_PROPERTIES,
  })
}

const NO_PROPERTIES: ReadonlySet<string> = new Set()
