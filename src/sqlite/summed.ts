import type { Fault } from '../domain/store/integrity'
import { SatchelError } from '../domain/value/error'
import type { Connection } from './connection'
import { type CheckedRows, sumOfRow } from './sum'

/** Columns of a table that have a sum, which is written after them. */
interface Summed {
  /** What a row is, for messages. */
  readonly noun: string
  readonly key: readonly string[]
  /** The columns that the sum covers. Others change often, and are checked where they are used. */
  readonly columns: readonly string[]
}

/** By the names of their tables. */
const TABLES = {
  realm_ids: { noun: 'realm', key: ['number'], columns: ['number', 'id', 'state', 'born'] },
  indexes: {
    noun: 'index',
    key: ['number'],
    columns: ['number', 'table_number', 'name', 'multi'],
  },
  refresh_tokens: {
    noun: 'refresh token',
    key: ['hash'],
    columns: [
      'hash',
      'client_id',
      'subject',
      'claims',
      'scopes',
      'public_key',
      'created',
      'last_used',
      'user_number',
      'login',
    ],
  },
  blobs: { noun: 'blob', key: ['id'], columns: ['id', 'hash', 'size', 'type', 'created', 'file'] },
  blob_uploads: { noun: 'upload', key: ['realm', 'blob'], columns: ['realm', 'blob'] },
  former_memberships: {
    noun: 'former member',
    key: ['subject', 'key'],
    columns: ['subject', 'key', 'realm', 'revision', 'at'],
  },
  applied: {
    noun: 'transaction of a sync client',
    key: ['client', 'txid'],
    columns: ['client', 'txid', 'revision', 'at', 'rejection', 'steps'],
  },
  step_keys: {
    noun: 'step of a transaction of a sync client',
    key: ['client', 'txid', 'step'],
    columns: ['client', 'txid', 'step', 'keys'],
  },
} as const satisfies Readonly<Record<string, Summed>>

type SummedName = keyof typeof TABLES
export const SUMMED_TABLES = Object.keys(TABLES) as readonly SummedName[]

type Row = Readonly<Record<string, unknown>>

/** Writes the sum of a row that was written. */
export function noteSum(
  { prepare }: Pick<Connection, 'prepare'>,
  name: SummedName,
  ...key: Key
): void {
  const row = rowAt(prepare, name, key)
  if (row === null) return
  prepare(`UPDATE ${name} SET sum = ? WHERE ${isAt(name)}`).run(sumOf(name, row), ...key)
}

/** Throws `DAMAGED` when the row with this key is not as it was written; none is sound. */
export function requireSound({ prepare }: Connection, name: SummedName, ...key: Key): void {
  const row = rowAt(prepare, name, key)
  if (row === null) return
  // An index may lead to another row.
  const isOther = TABLES[name].key.some((column, at) => row[column] !== key[at])
  if (isOther || !isSound(name, row)) throw damagedRow(name)
}

/** Whether a row, with all columns of the sum by their names, is as it was written. */
export function isSound(name: SummedName, row: object): boolean {
  const columns: Row = { ...row }
  return sumOf(name, columns) === columns['sum']
}

/** The columns of a row, or of a table, besides the sum. */
export function withoutSum<Columns extends { readonly sum: unknown }>(
  columns: Columns,
): Omit<Columns, 'sum'> {
  const { sum, ...rest } = columns
  void sum
  return rest
}

/** Keys of credentials are secrets, or derived from them: the message names none. */
export function damagedRow(name: SummedName): SatchelError {
  return new SatchelError(
    'DAMAGED',
    `A row with a ${TABLES[name].noun} is damaged on the disk: satchel verify lists all damage`,
    { cause: new Error('The checksum of the row is wrong') },
  )
}

/** Rows of one step. */
const ROWS_PER_STEP = 500

/** Checks rows after the one with the key `after`, in JSON; the sums of damaged ones may be accepted. */
export function checkSummed(
  { prepare }: Connection,
  name: SummedName,
  after: string,
  accepting: Connection | undefined,
): CheckedRows {
  const key: readonly string[] = TABLES[name].key
  const from = after === '' ? [] : (JSON.parse(after) as (string | number)[])
  const start = from.length === 0 ? '' : `WHERE (${key.join()}) > (${key.map(() => '?').join()})`
  const rows = prepare<Row>(
    `SELECT ${columnsOf(name)} FROM ${name} ${start} ORDER BY ${key.join()} LIMIT ${ROWS_PER_STEP}`,
  ).all(...from)
  const keyOf = (row: Row) => key.map((column) => row[column] as string | number)
  const faults: Fault[] = []
  for (const row of rows) {
    if (isSound(name, row)) continue
    if (accepting === undefined) {
      faults.push({ problem: 'damaged', table: name, key: keyOf(row).join(' ') })
    } else {
      noteSum(accepting, name, ...keyOf(row))
    }
  }
  const last = rows.length < ROWS_PER_STEP ? undefined : rows.at(-1)
  const next = last === undefined ? undefined : JSON.stringify(keyOf(last))
  return { checked: rows.length, faults, next }
}

type Key = readonly (string | number)[]

function rowAt(prepare: Connection['prepare'], name: SummedName, key: Key): Row | null {
  return prepare<Row>(`SELECT ${columnsOf(name)} FROM ${name} WHERE ${isAt(name)}`).get(...key)
}

function isAt(name: SummedName): string {
  return TABLES[name].key.map((column) => `${column} = ?`).join(' AND ')
}

function columnsOf(name: SummedName): string {
  const { key, columns } = TABLES[name]
  return [...new Set<string>([...key, ...columns, 'sum'])].join(', ')
}

/** The sum of a row, of which all columns that it covers are given. */
export function sumOf(name: SummedName, row: Row): number {
  return sumOfRow(TABLES[name].columns.map((column) => row[column]))
}
