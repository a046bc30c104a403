import { rowOf } from '../object/writing'
import type { SatchelError } from '../value/error'
import type { ClientTransaction } from './request'

/** A row that a request could not change, as the log names it. */
export interface Refused {
  readonly txid: string
  readonly table: string
  /** In wire form; undefined when the transaction names none. */
  readonly key: string | undefined
  readonly code: string
  /** The missing permission or the wrong property. */
  readonly rule: string | undefined
  /** The sentence for the user. */
  readonly message: string
}

/** The refused rows of a request: the first ones, and how many there are. */
export interface RefusedRows {
  readonly first: Refused[]
  count: number
}

/** A request may have hundreds of thousands of rows: so many are logged. */
const MAX_LOGGED_ROWS = 100
/** Malformed keys have any length. */
const MAX_LOGGED_CHARACTERS = 200
const MAX_MESSAGE_CHARACTERS = 1_000

export function createRefusedRows(): RefusedRows {
  return { first: [], count: 0 }
}

export function appendRefused(rows: RefusedRows, { first, count }: RefusedRows): void {
  rows.first.push(...first.slice(0, MAX_LOGGED_ROWS - rows.first.length))
  rows.count += count
}

/** Adds a refusal, of the row that it is about or else of the first one that the transaction names. */
export function addRefused(
  rows: RefusedRows,
  { txid, operations }: ClientTransaction,
  refusal: SatchelError,
): void {
  rows.count += 1
  if (rows.first.length >= MAX_LOGGED_ROWS) return
  const row = rowOf(refusal)
  const table = row?.table.name ?? operations[0]?.table ?? ''
  const key = row?.key ?? operations[0]?.keys[0]
  const { code, reason: rule, message } = refusal
  rows.first.push({
    txid,
    table: table.slice(0, MAX_LOGGED_CHARACTERS),
    key: key?.slice(0, MAX_LOGGED_CHARACTERS),
    code,
    rule: rule?.slice(0, MAX_LOGGED_CHARACTERS),
    message: message.slice(0, MAX_MESSAGE_CHARACTERS),
  })
}
