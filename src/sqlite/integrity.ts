import { SQLiteError } from 'bun:sqlite'
import type { CheckedStep, Fault, Meanings } from '../domain/store/integrity'
import type { WriteOptions } from '../domain/store/store'
import { textsOf } from '../domain/store/users'
import type { TxContext, WriteContext } from './context'
import { checkHeads } from './heads'
import { fact } from './memo'
import {
  checkEntries,
  checkMemberships,
  checkObjects,
  checkReferences,
  STEP,
  stepOf,
} from './object-integrity'
import { acceptRecord, isRecordSound, RECORD_TABLES } from './records'
import { SELECT_TABLES, sumOfTable, type TableRow } from './state'
import { type CheckedRows, sumOfTombstone, TOMBSTONE_COLUMNS, type TombstoneRow } from './sum'
import { checkSummed, SUMMED_TABLES } from './summed'
import { knownTables, objectTable } from './tables'
import { sumOfUser, USER_COLUMNS, type UserRow } from './user-list'

/** The database whose rows are verified, with the transactions of this engine. */
export interface Verified {
  readonly read: <T>(work: (context: TxContext) => T) => Promise<T>
  readonly write: <T>(work: (context: WriteContext) => T, options: WriteOptions) => Promise<T>
}

/** Checks all rows, as `Database.verify` says. */
export async function* verifyRows(
  { read, write }: Verified,
  meanings: Meanings,
  accepts: boolean,
  options: WriteOptions,
): AsyncGenerator<CheckedStep> {
  for (const part of await read(partsOf)) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const from: string = after
      const { next, ...step }: CheckedRows = accepts
        ? await write((context) => accept(context, part, from, meanings), options)
        : await read((context) => run(context, part, from, meanings, undefined))
      yield step
      after = next
    }
  }
}

function partsOf(context: TxContext): string[] {
  const tables = Array.from(knownTables(context).values(), ({ number }) => objectTable(number))
  return [...tables, ...Object.keys(STEPS)]
}

function accept(
  context: WriteContext,
  part: string,
  after: string,
  meanings: Meanings,
): CheckedRows {
  context.unit.touchRecords(['everything'], [fact('everything')])
  return run(context, part, after, meanings, context)
}

/** One step of a part; with a unit, what it finds is accepted. */
type Step = (
  context: TxContext,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
) => CheckedRows

/** The parts besides the objects of each table, by the name of their table; `heads` are those of realms. */
const STEPS: Readonly<Record<string, Step>> = {
  tables: checkTables,
  index_entries: checkEntries,
  blob_refs: checkReferences,
  memberships: checkMemberships,
  tombstones: checkTombstones,
  users: checkUsers,
  heads: ({ connection, committed }, after, _meanings, accepting) =>
    checkHeads(connection, committed.counters.revision, after, accepting?.connection),
  ...Object.fromEntries(
    SUMMED_TABLES.map((name): [string, Step] => [
      name,
      (context, after, _meanings, accepting) =>
        checkSummed(context.connection, name, after, accepting?.connection),
    ]),
  ),
  ...Object.fromEntries(
    Object.keys(RECORD_TABLES).map((name): [string, Step] => [
      name,
      (context, _after, _meanings, accepting) => checkRecords(context, name, accepting),
    ]),
  ),
}

/** A damaged schema names columns that are not there. */
const DAMAGE = /^SQLITE_(?:CORRUPT|ERROR$)/

/** The check of a part ends at a page that cannot be read. */
function run(
  context: TxContext,
  part: string,
  after: string,
  meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedRows {
  const table = [...knownTables(context).values()].find(
    ({ number }) => objectTable(number) === part,
  )
  try {
    if (table !== undefined) return checkObjects(context, table, after, meanings, accepting)
    const step = STEPS[part]
    if (step === undefined) throw new Error(`there is no part ${part} to check`)
    return step(context, after, meanings, accepting)
  } catch (error) {
    if (!(error instanceof SQLiteError) || !DAMAGE.test(error.code ?? '')) throw error
    const fault: Fault = { problem: 'unreadable', table: table?.name ?? part, key: after }
    return { checked: 0, faults: [fault], next: undefined }
  }
}

function checkTombstones(
  context: TxContext,
  after: string,
  _meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedRows {
  const [table, key, realm] =
    after === '' ? [-1, '', 0] : (JSON.parse(after) as [number, string, number])
  const rows = context.connection
    .prepare<TombstoneRow>(
      `SELECT ${TOMBSTONE_COLUMNS} FROM tombstones WHERE (table_number, key, realm) > (?, ?, ?) ORDER BY table_number, key, realm LIMIT ?`,
    )
    .all(table, key, realm, STEP)
  const faults: Fault[] = []
  for (const row of rows) {
    const sum = sumOfTombstone(row)
    if (sum === row.sum) continue
    if (accepting === undefined) {
      faults.push({ problem: 'damaged', table: 'tombstones', key: row.key })
    } else {
      accepting.connection
        .prepare('UPDATE tombstones SET sum = ? WHERE table_number = ? AND key = ? AND realm = ?')
        .run(sum, row.number, row.key, row.realm)
    }
  }
  return stepOf(rows, faults, ({ number, key, realm }) => JSON.stringify([number, key, realm]))
}

type IndexedUser = UserRow & {
  readonly email: string | null
  readonly name: string | null
  readonly search: string
}

function checkUsers(
  context: TxContext,
  after: string,
  _meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedRows {
  const rows = context.connection
    .prepare<IndexedUser>(
      `SELECT ${USER_COLUMNS}, email, name, search FROM users WHERE number > ? ORDER BY number LIMIT ?`,
    )
    .all(Number(after), STEP)
  const faults: Fault[] = []
  for (const row of rows) {
    const sum = sumOfUser(row)
    const texts = textsOfUser(row)
    const isFound =
      texts !== undefined &&
      texts.email === row.email &&
      texts.name === row.name &&
      texts.search === row.search
    if (sum === row.sum && isFound) continue
    if (accepting === undefined || texts === undefined) {
      const problem = sum === row.sum ? 'missing entry' : 'damaged'
      faults.push({ problem, table: 'users', key: row.id })
      continue
    }
    const { prepare } = accepting.connection
    prepare('UPDATE users SET email = ?, name = ?, search = ?, sum = ? WHERE number = ?').run(
      texts.email,
      texts.name,
      texts.search,
      sum,
      row.incarnation,
    )
  }
  return stepOf(rows, faults, ({ incarnation }) => String(incarnation))
}

/** Undefined when the data is no JSON. */
function textsOfUser({ id, data }: UserRow): ReturnType<typeof textsOf> | undefined {
  try {
    return textsOf({ id, data: data === null ? null : JSON.parse(data) })
  } catch {
    return undefined
  }
}

/** All of them in one step: a database has at most 500. */
function checkTables(
  context: TxContext,
  _after: string,
  _meanings: Meanings,
  accepting: WriteContext | undefined,
): CheckedRows {
  const rows = context.connection.prepare<TableRow>(`${SELECT_TABLES} ORDER BY number`).all()
  const faults: Fault[] = []
  for (const row of rows) {
    const sum = sumOfTable(row)
    if (sum === row.sum) continue
    if (accepting === undefined) {
      faults.push({ problem: 'damaged', table: 'tables', key: row.name })
    } else {
      accepting.connection
        .prepare('UPDATE tables SET sum = ? WHERE number = ?')
        .run(sum, row.number)
    }
  }
  return { checked: rows.length, faults, next: undefined }
}

/** All of them in one step: a database has few. */
function checkRecords(
  context: TxContext,
  name: string,
  accepting: WriteContext | undefined,
): CheckedRows {
  const ids = context.connection.prepare<{ id: string }>(`SELECT id FROM ${name} ORDER BY id`).all()
  const faults: Fault[] = []
  for (const { id } of ids) {
    if (isRecordSound(context, name, id)) continue
    const isAccepted = accepting !== undefined && acceptRecord(accepting, name, id)
    if (!isAccepted) faults.push({ problem: 'damaged', table: name, key: id })
  }
  return { checked: ids.length, faults, next: undefined }
}
