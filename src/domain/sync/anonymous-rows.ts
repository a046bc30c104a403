// Work done before the first login: docs/merging.md, "Transactions", last paragraph.

import { accessOf, followRealm, unitAccess, type UnitAccess } from '../access/access'
import { PUBLIC_REALM_REF, type RealmRef } from '../store/realms'
import { noteRow } from '../object/writing'
import type { Database, Step, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import type { SatchelError } from '../value/error'
import { type WireObject, getOwn } from '../value/value'
import { addOwnerRows, commitRows, writePlain } from './commit'
import { type Execution, type Push, authorshipOf } from './transaction'
import { isRejection, rejectionOf } from './judge'
import { mergeWhole } from './merge'
import { DIVERGED, type NamedKey, type NamedKeys } from './named-keys'
import { propertiesOfValues } from './operations'
import type { Row } from './overlay'
import { addRefused } from './refused'
import type { ClientTransaction, Operation } from './request'
import {
  type Progress,
  attemptPart,
  beginExecution,
  beginPart,
  endPart,
  findApplied,
  noteAll,
  addRevisions,
  findTables,
  reject,
  type TableOperation,
  writeLongUnit,
} from './unit'
import { storedKey } from './wire-key'
import { atOnce } from '../value/work'

/** One row of an upload. */
interface UploadedRow {
  readonly operation: Operation
  readonly position: number
  readonly table: Table
  /** As it is stored; as it came when that is refused. */
  readonly key: string
  readonly refusal: SatchelError | undefined
  readonly values: WireObject
}

/** Rows that are read together. */
const UNIT_ROWS = 1_000
/** Rows that one unit stores, and those of built-in tables among them: other writers wait for it. */
const UNIT_MAX_ROWS = 250
const UNIT_MAX_RULED_ROWS = 100
/** Rows that are looked up and stored at once. */
const BATCH_ROWS = 50
/**
 * A unit with rows of built-in tables stores at least one row for so many realms of the user, however long
 * that takes: the next unit has to load their rights again.
 */
const REALMS_PER_ROW = 50
/** Realms come before those who are in them, and these before the rest. */
const TABLES_FIRST: readonly string[] = ['realms', 'members', 'roles']
/** The owner of rows that were written before any login. */
const UNAUTHORIZED = 'unauthorized'

/**
 * Stores the rows of anonymous work, which clients send when their user has logged in (protocol.md
 * §4.4): each is judged alone, and a refused one costs no other. Rows that are there stay, except
 * private ones that are older. `own` gets the revisions in which nothing changed but these rows.
 */
export async function adoptAnonymousRows(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
  progress: Progress,
  ownRevisions: Set<number>,
): Promise<void> {
  const read = await readUpload(database, push, transaction)
  if (read.operations === undefined) {
    const isRejected = read.refusal !== undefined
    noteAll(push, transaction, progress.names, { isRejected, revision: read.revision })
    if (read.refusal !== undefined) {
      reject(progress, transaction, read.refusal)
      addRefused(progress.refused, transaction, read.refusal)
    }
    return
  }
  const { actor, client, now } = push
  const source = rowsOf(read.operations, actor.subject)
  const rows: UploadedRow[] = []
  const realms: UploadedRow[] = []
  let refusal: SatchelError | undefined
  for (;;) {
    // Rows are made when their unit comes: all of them at once would take memory, and time at a stretch.
    for (let next; rows.length < UNIT_ROWS && (next = source.next().value);) rows.push(next)
    if (rows.length === 0) break
    const { done, ...part } = await writeLongUnit(database, push, (step) =>
      uploadSome(step, push, { transaction, rows }, beginPart(progress)),
    )
    endPart(progress, part)
    refusal ??= part.refusals[0]
    const stored = rows.slice(0, done)
    if (stored.every(({ table }) => !table.builtIn)) addRevisions(ownRevisions, part)
    realms.push(...stored.filter(({ table }) => table.name === 'realms'))
    rows.splice(0, done)
  }
  for (let isLast = false; !isLast;) {
    const some = realms.splice(0, UNIT_ROWS)
    isLast = realms.length === 0
    const part = await writeLongUnit(database, push, async (step) => {
      const ending = beginPart(progress)
      for (let from = 0; from < some.length; from += BATCH_ROWS) {
        const batch = some.slice(from, from + BATCH_ROWS)
        await step((tx) => addOwners(tx, push, batch, ending))
      }
      await step((tx) => {
        if (isLast) tx.applied.put(client.number, transaction.txid, now)
      })
      return ending
    })
    endPart(progress, part)
  }
  if (refusal !== undefined) reject(progress, transaction, refusal)
}

interface Upload {
  /** Undefined when there is nothing to store: it was stored before, or cannot be read. */
  readonly operations?: readonly TableOperation[]
  readonly revision?: number
  readonly refusal?: SatchelError
}

async function readUpload(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
): Promise<Upload> {
  return database.read((tx) => {
    const applied = findApplied(tx, push, transaction.txid)
    if (applied !== undefined) return { revision: applied.revision }
    try {
      return { operations: findTables(tx, push, transaction) }
    } catch (error) {
      if (!isRejection(error)) throw error
      return { refusal: error }
    }
  })
}

/** The rows of an upload in the order in which they are stored. */
function* rowsOf(
  operations: readonly TableOperation[],
  subject: string,
): Generator<UploadedRow, undefined> {
  const of = (name: string) => operations.filter(({ table }) => table.name === name)
  const rest = operations.filter(({ table }) => !TABLES_FIRST.includes(table.name))
  for (const { operation, table } of [...TABLES_FIRST.flatMap(of), ...rest]) {
    const { action } = operation
    if (action.type !== 'upsert' && action.type !== 'insert') continue
    for (const [position, wireKey] of operation.keys.entries()) {
      const values = owned(action.values[position] ?? {}, subject)
      yield { operation, position, table, values, ...keyOf(table, wireKey) }
    }
  }
}

function keyOf(table: Table, key: string): Pick<UploadedRow, 'key' | 'refusal'> {
  let stored = key
  const refusal = rejectionOf(() => void (stored = storedKey(table, key)))
  return { key: stored, refusal }
}

function owned(values: WireObject, subject: string): WireObject {
  if (getOwn(values, 'owner') !== UNAUTHORIZED) return values
  return { ...values, owner: subject }
}

/** Stores as many rows as one unit may: `done` of them, at least one batch. */
async function uploadSome(
  step: Step,
  push: Push,
  { transaction, rows }: { transaction: ClientTransaction; rows: readonly UploadedRow[] },
  part: Progress,
): Promise<Progress & { readonly refusals: readonly SatchelError[]; readonly done: number }> {
  const refusals: SatchelError[] = []
  const rights: Rights = { access: undefined, least: 0 }
  let done = 0
  let ruled = 0
  while (
    done < rows.length &&
    (done < rights.least || (done < UNIT_MAX_ROWS && ruled < UNIT_MAX_RULED_ROWS))
  ) {
    const batch = rows.slice(done, done + BATCH_ROWS)
    const refused = await step((tx) => uploadBatch(tx, push, batch, { part, rights }))
    for (const { row, refusal } of refused) {
      refusals.push(refusal)
      noteRow(refusal, row)
      addRefused(part.refused, transaction, refusal)
      noteUploaded(push, row, part.names, { isRejected: true })
    }
    done += batch.length
    ruled += batch.filter(({ table }) => table.builtIn).length
  }
  if (refusals.length > 0) await step((tx) => tx.syncClients.noteCorrection(push.client.number))
  return { ...part, refusals, done }
}

/** The rights of the user as the rows of built-in tables in one unit change them. */
interface Rights {
  /** Undefined while they are not loaded. */
  access: UnitAccess | undefined
  /** The least rows that the unit stores, because loading the rights has taken long. */
  least: number
}

interface UnitState {
  readonly part: Progress
  readonly rights: Rights
}

interface RefusedRow {
  readonly row: UploadedRow
  readonly refusal: SatchelError
}

/** Stores the rows that may be stored; the others are returned. */
function uploadBatch(
  tx: WriteTx,
  push: Push,
  batch: readonly UploadedRow[],
  { part, rights }: UnitState,
): readonly RefusedRow[] {
  const refused: RefusedRow[] = []
  const plain = new Map<Table, UploadedRow[]>()
  for (const row of batch) {
    const { table } = row
    if (row.refusal !== undefined) {
      refused.push({ row, refusal: row.refusal })
    } else if (table.builtIn) {
      const refusal = uploadRuled(tx, push, row, { part, rights })
      if (refusal !== undefined) refused.push({ row, refusal })
    } else {
      const rows = plain.get(table)
      if (rows === undefined) plain.set(table, [row])
      else rows.push(row)
    }
  }
  for (const [table, rows] of plain) {
    const execution = beginExecution(tx, push, part)
    const keys = rows.map(({ key }) => key)
    atOnce(execution.overlay.load(execution, table, keys))
    const uploaded = new Map<Row, UploadedRow>()
    for (const row of rows) {
      const found = merge(execution, row)
      if (found !== undefined) uploaded.set(found, row)
    }
    const refuse = (found: Row, refusal: SatchelError) =>
      void refused.push({ row: uploaded.get(found)!, refusal })
    atOnce(writePlain(execution, table, [...uploaded.keys()], refuse))
    if (execution.mayDelete) tx.syncClients.noteCorrection(push.client.number)
    // The first object of a user makes the private realm.
    rights.access = undefined
    rights.least = 0
  }
  return refused
}

/** Stores a row of a built-in table; resolves to the refusal when it may not be stored. */
function uploadRuled(
  tx: WriteTx,
  push: Push,
  row: UploadedRow,
  { part, rights }: UnitState,
): SatchelError | undefined {
  const access = loadRights(tx, push, rights)
  const known = access.realms.size
  const refusal = attemptPart(tx, part, (attempt) => {
    const execution = beginExecution(tx, push, attempt, undefined, access)
    execution.unitAccess = access
    atOnce(execution.overlay.load(execution, row.table, [row.key]))
    const found = merge(execution, row)
    atOnce(commitRows(execution))
    if (found !== undefined) followRow(tx, rights, found, row)
  })
  // A realm that it entered was undone with it.
  if (refusal !== undefined && access.realms.size !== known) rights.access = undefined
  return refusal
}

function loadRights(tx: WriteTx, push: Push, rights: Rights): UnitAccess {
  if (rights.access !== undefined) return rights.access
  const access = unitAccess(accessOf(tx, push.actor))
  rights.access = access
  rights.least = Math.ceil(access.realms.size / REALMS_PER_ROW)
  return access
}

/** Rows say who may do what in their own realm; only a global role counts everywhere. */
function followRow(
  tx: WriteTx,
  rights: Rights,
  { table, before, state }: Row,
  { values, key }: UploadedRow,
): void {
  const { access } = rights
  if (access === undefined) return
  const touched = new Set<RealmRef>(before === undefined ? [] : [before.realm])
  const objects = state.kind === 'row' ? [values, state.object] : [values]
  const ids = table.name === 'realms' ? [key] : objects.map((object) => getOwn(object, 'realmId'))
  for (const id of new Set(ids)) {
    const realm = typeof id === 'string' ? tx.realms.find(id) : undefined
    if (realm !== undefined) touched.add(realm.ref)
  }
  for (const realm of touched) {
    if (table.name === 'roles' && realm === PUBLIC_REALM_REF) rights.access = undefined
    else followRealm(tx, access, realm)
  }
}

/** Merges a row into what is there; undefined when that stays as it is. */
function merge(execution: Execution, row: UploadedRow): Row | undefined {
  const { operation, table, key, values } = row
  const found = execution.overlay.get(table, key)
  if (found === undefined) return undefined
  const { state } = found
  const isKept = state.kind === 'row' && !isNewer(key, values, state.object)
  // Rows that are written at login, before the first sync, are in the log as well (Appendix C.3).
  const isLogged = isKept && execution.written.get(table, key) === found.latest
  if (!isLogged)
    noteUploaded(execution.push, row, execution.names, { isAsSent: !isKept && !found.isTaken })
  if (isKept) return undefined
  found.state = mergeWhole(state, 'upsert', values, authorshipOf(execution, operation, found)).state
  found.isTouched = true
  found.isShared = true
  found.base = execution.push.baseOf(operation)
  return found
}

function noteUploaded(
  push: Push,
  { operation, position, table, key, values }: UploadedRow,
  names: NamedKeys,
  more: Partial<NamedKey>,
): void {
  names.note(table.name, operation.keys[position] ?? key, {
    ...DIVERGED,
    base: push.baseOf(operation),
    properties: propertiesOfValues(values),
    ...more,
  })
}

/** Private rows carry their own time (protocol.md §10.3). */
function isNewer(key: string, values: WireObject, stored: WireObject): boolean {
  if (!key.startsWith('#')) return false
  const [mine, its] = [getOwn(values, '$$ts'), getOwn(stored, '$$ts')]
  return typeof mine === 'number' && (typeof its !== 'number' || mine > its)
}

/** The rows of `members` in the upload are stored: owners that have none get one. */
function addOwners(tx: WriteTx, push: Push, realms: readonly UploadedRow[], part: Progress): void {
  const execution = beginExecution(tx, push, part)
  for (const { table, key } of realms) {
    const [stored, realm] = [tx.objects.find(table, key), tx.realms.find(key)]
    if (realm === undefined || stored?.owner !== push.actor.subject) continue
    atOnce(addOwnerRows(execution, [{ realm, owner: push.actor.subject }]))
  }
}
