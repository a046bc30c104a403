import { SQLiteError } from 'bun:sqlite'
import type { CheckedStep, Fault, MeaningOf } from '../domain/store/integrity'
import type { WriteOptions } from '../domain/store/store'
import { textsOf } from '../domain/store/users'
import type { TxContext, WriteContext } from './context'
import { fact } from './memo'
import {
  type Check,
  checkEntries,
  checkMemberships,
  checkObjects,
  checkReferences,
  ROWS_PER_STEP,
  stepOf,
} from './object-integrity'
import { acceptClient, isClientSound } from './records'
import type { CheckedRows } from './sum'
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
  meaningOf: MeaningOf,
  accepts: boolean,
  options: WriteOptions,
): AsyncGenerator<CheckedStep> {
  for (const part of await read(partsOf)) {
    for (let after: string | undefined = ''; after !== undefined;) {
      const from: string = after
      const { next, ...step }: CheckedRows = accepts
        ? await write((context) => accept(context, part, from, meaningOf), options)
        : await read((context) =>
            checkPart({ context, meaningOf, accepting: undefined }, part, from),
          )
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
  meaningOf: MeaningOf,
): CheckedRows {
  context.unit.touchRecords(['everything'], [fact('everything')])
  return checkPart({ context, meaningOf, accepting: context }, part, after)
}

/** One step of a part; with a unit, what it finds is accepted. */
type Step = (check: Check, after: string) => CheckedRows

/** The parts besides the objects of each table, by the name of their table. */
const STEPS: Readonly<Record<string, Step>> = {
  index_entries: checkEntries,
  blob_refs: checkReferences,
  memberships: checkMemberships,
  users: checkUsers,
  clients: checkClients,
  ...Object.fromEntries(
    SUMMED_TABLES.map((name): [string, Step] => [
      name,
      ({ context, accepting }, after) =>
        checkSummed(context.connection, name, after, accepting?.connection),
    ]),
  ),
}

/** A damaged schema names columns that are not there. */
const DAMAGE = /^SQLITE_(?:CORRUPT|ERROR$)/

/** The check of a part ends at a page that cannot be read. */
function checkPart(check: Check, part: string, after: string): CheckedRows {
  const table = [...knownTables(check.context).values()].find(
    ({ number }) => objectTable(number) === part,
  )
  try {
    if (table !== undefined) return checkObjects(check, table, after)
    const step = STEPS[part]
    if (step === undefined) throw new Error(`there is no part ${part} to check`)
    return step(check, after)
  } catch (error) {
    if (!(error instanceof SQLiteError) || !DAMAGE.test(error.code ?? '')) throw error
    const fault: Fault = { problem: 'unreadable', table: table?.name ?? part, key: after }
    return { checked: 0, faults: [fault], next: undefined }
  }
}

type IndexedUser = UserRow & {
  readonly email: string | null
  readonly name: string | null
  readonly search: string
}

function checkUsers({ context, accepting }: Check, after: string): CheckedRows {
  const rows = context.connection
    .prepare<IndexedUser>(
      `SELECT ${USER_COLUMNS}, email, name, search FROM users WHERE number > ? ORDER BY number LIMIT ?`,
    )
    .all(Number(after), ROWS_PER_STEP)
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

/** All of them in one step: a database has few. */
function checkClients({ context, accepting }: Check): CheckedRows {
  const ids = context.connection.prepare<{ id: string }>('SELECT id FROM clients ORDER BY id').all()
  const faults: Fault[] = []
  for (const { id } of ids) {
    if (isClientSound(context, id)) continue
    const isAccepted = accepting !== undefined && acceptClient(accepting, id)
    if (!isAccepted) faults.push({ problem: 'damaged', table: 'clients', key: id })
  }
  return { checked: ids.length, faults, next: undefined }
}
