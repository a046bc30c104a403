import { accessOf } from '../access/access'
import type { Database, ReadTx, WriteTx } from '../store/store'
import type { Table } from '../store/tables'
import type { SatchelError } from '../value/error'
import { type WireObject, getOwn } from '../value/value'
import { addOwnerRows, commitRows, writePlain } from './commit'
import {
  createWrittenRows,
  type Execution,
  type Push,
  type WrittenRows,
  originOf,
} from './execution'
import { isRejection } from './judge'
import { mergeWhole } from './merge'
import type { NamedKey } from './named'
import { type Names, createNames } from './names'
import { type Row, createOverlay } from './overlay'
import type { ClientTransaction, Operation } from './request'
import {
  type Progress,
  beginPart,
  endPart,
  noteAll,
  placeOperations,
  reject,
  writeUnit,
} from './unit'

/** One row of an upload. */
interface UploadedRow {
  readonly operation: Operation
  readonly position: number
  readonly table: Table
  readonly key: string
  readonly values: WireObject
}

/** Rows of one unit. */
const UNIT_ROWS = 250
/** Realms come before those who are in them, and these before the rest. */
const FIRST: readonly string[] = ['realms', 'members', 'roles']
/** The owner of rows that were written before any login. */
const UNAUTHORIZED = 'unauthorized'

/**
 * Stores the rows of anonymous work, which clients send when their user has logged in (protocol.md
 * §4.4): each is judged alone, and a refused one costs no other. Rows that are there stay, except
 * private ones that are older.
 */
export async function uploadRows(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
  progress: Progress,
): Promise<void> {
  const read = await readUpload(database, push, transaction)
  if (read.rows === undefined) {
    const isRejected = read.refusal !== undefined
    noteAll(push, transaction, progress.names, { isRejected, revision: read.revision })
    if (read.refusal !== undefined) reject(progress, transaction, read.refusal)
    return
  }
  let refusal: SatchelError | undefined
  for (const batch of batchesOf(read.rows)) {
    const part = await writeUnit(database, push, false, (tx) =>
      uploadBatch(tx, push, batch, beginPart(progress)),
    )
    endPart(progress, part)
    refusal ??= part.refusal
  }
  const realms = read.rows.filter(({ table }) => table.name === 'realms')
  const batches = batchesOf(realms)
  for (const batch of batches.length === 0 ? [[]] : batches) {
    const isLast = batch === batches.at(-1) || batches.length === 0
    const part = await writeUnit(database, push, false, async (tx) => {
      const own = beginPart(progress)
      await addOwners(tx, push, batch, own)
      const { actor, client, now } = push
      if (isLast) await tx.applied.put(actor.subject, transaction.txid, client.number, now)
      return own
    })
    endPart(progress, part)
  }
  if (refusal !== undefined) reject(progress, transaction, refusal)
}

function batchesOf(rows: readonly UploadedRow[]): UploadedRow[][] {
  const batches: UploadedRow[][] = []
  for (let start = 0; start < rows.length; start += UNIT_ROWS) {
    batches.push(rows.slice(start, start + UNIT_ROWS))
  }
  return batches
}

interface Upload {
  /** Undefined when there is nothing to store: it was stored before, or cannot be read. */
  readonly rows?: readonly UploadedRow[]
  readonly revision?: number
  readonly refusal?: SatchelError
}

async function readUpload(
  database: Database,
  push: Push,
  transaction: ClientTransaction,
): Promise<Upload> {
  return database.read(async (tx) => {
    const applied = await tx.applied.find(push.actor.subject, transaction.txid)
    if (applied !== undefined) return { revision: applied.revision }
    try {
      return { rows: await rowsOf(tx, push, transaction) }
    } catch (error) {
      if (!isRejection(error)) throw error
      return { refusal: error }
    }
  })
}

async function rowsOf(
  tx: ReadTx,
  push: Push,
  transaction: ClientTransaction,
): Promise<UploadedRow[]> {
  const rows: UploadedRow[] = []
  for (const { operation, table, keys } of await placeOperations(tx, push, transaction)) {
    const { action } = operation
    if (action.type !== 'upsert' && action.type !== 'insert') continue
    for (const [position, key] of keys.entries()) {
      const values = owned(action.values[position] ?? {}, push.actor.subject)
      rows.push({ operation, position, table, key, values })
    }
  }
  const of = (name: string) => rows.filter(({ table }) => table.name === name)
  return [...FIRST.flatMap(of), ...rows.filter(({ table }) => !FIRST.includes(table.name))]
}

function owned(values: WireObject, subject: string): WireObject {
  if (getOwn(values, 'owner') !== UNAUTHORIZED) return values
  return { ...values, owner: subject }
}

async function uploadBatch(
  tx: WriteTx,
  push: Push,
  batch: readonly UploadedRow[],
  part: Progress,
): Promise<Progress & { readonly refusal: SatchelError | undefined }> {
  let first: SatchelError | undefined
  const refuse = (row: UploadedRow, refusal: SatchelError) => {
    first ??= refusal
    note(push, row, part.names, { isRejected: true })
  }
  for (const row of batch.filter(({ table }) => table.builtIn)) {
    const refusal = await uploadRuled(tx, push, row, part)
    if (refusal !== undefined) refuse(row, refusal)
    await tx.breathe()
  }
  const plain = batch.filter(({ table }) => !table.builtIn)
  for (const [table, rows] of Map.groupBy(plain, ({ table: its }) => its)) {
    const run = await begin(tx, push, part, part.names, part.written)
    await run.overlay.load(
      table,
      rows.map(({ key }) => key),
    )
    const uploaded = new Map<Row, UploadedRow>()
    for (const row of rows) {
      const found = merge(run, row, part.names)
      if (found !== undefined) uploaded.set(found, row)
    }
    await writePlain(run, table, [...uploaded.keys()], new Map(), (found, refusal) =>
      refuse(uploaded.get(found)!, refusal),
    )
  }
  if (first !== undefined) await tx.syncClients.noteRejection(push.client.number)
  return { ...part, refusal: first }
}

/** Stores a row of a built-in table; resolves to the refusal when it may not be stored. */
async function uploadRuled(
  tx: WriteTx,
  push: Push,
  row: UploadedRow,
  part: Progress,
): Promise<SatchelError | undefined> {
  const names = createNames()
  const written = createWrittenRows(part.written)
  try {
    await tx.attempt(async () => {
      const run = await begin(tx, push, part, names, written)
      await run.overlay.load(row.table, [row.key])
      merge(run, row, names)
      await commitRows(run)
    })
    part.names.append(names)
    part.written.append(written)
    return undefined
  } catch (error) {
    if (!isRejection(error)) throw error
    return error
  }
}

/** Merges a row into what is there; undefined when that stays as it is. */
function merge(run: Execution, row: UploadedRow, names: Names): Row | undefined {
  const { operation, table, key, values } = row
  const found = run.overlay.get(table, key)
  if (found === undefined) return undefined
  const { state } = found
  const isKept = state.kind === 'row' && !isNewer(key, values, state.object)
  // Rows that are written at login, before the first sync, are in the log as well (Appendix C.3).
  const isLogged = isKept && run.written.get(table, key) === found.latest
  if (!isLogged) note(run.push, row, names, { isAsSent: !isKept && !found.isTaken })
  if (isKept) return undefined
  found.state = mergeWhole(state, 'upsert', values, originOf(run, operation, found)).state
  found.isTouched = true
  found.isShared = true
  found.base = run.push.baseOf(operation)
  return found
}

function note(
  push: Push,
  { operation, position, table, key, values }: UploadedRow,
  names: Names,
  more: Partial<NamedKey>,
): void {
  names.note(table.name, operation.keys[position] ?? key, {
    base: push.baseOf(operation),
    isAsSent: false,
    isRejected: false,
    revision: undefined,
    names: new Set(Object.keys(values)),
    ...more,
  })
}

async function begin(
  tx: WriteTx,
  push: Push,
  { clock }: Progress,
  names: Names,
  written: WrittenRows,
): Promise<Execution> {
  const access = await accessOf(tx, push.actor)
  const overlay = createOverlay(tx, access)
  return { tx, push, clock, access, overlay, names, candidates: undefined, owned: [], written }
}

/** Private rows carry their own time (protocol.md §10.3). */
function isNewer(key: string, values: WireObject, stored: WireObject): boolean {
  if (!key.startsWith('#')) return false
  const [mine, its] = [getOwn(values, '$$ts'), getOwn(stored, '$$ts')]
  return typeof mine === 'number' && (typeof its !== 'number' || mine > its)
}

/** The rows of `members` in the upload are stored: owners that have none get one. */
async function addOwners(
  tx: WriteTx,
  push: Push,
  realms: readonly UploadedRow[],
  part: Progress,
): Promise<void> {
  const run = await begin(tx, push, part, part.names, part.written)
  for (const { table, key } of realms) {
    const [stored, realm] = [await tx.objects.find(table, key), await tx.realms.find(key)]
    if (realm === undefined || stored?.owner !== push.actor.subject) continue
    await addOwnerRows(run, [{ realm, owner: push.actor.subject }])
  }
}
