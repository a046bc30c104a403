import type { CheckedStep } from '../domain/store/integrity'
import { SatchelError, quoted } from '../domain/value/error'
import type { RealmRef } from '../domain/store/realms'

/** One step of checking the rows of a part. */
export interface CheckedRows extends CheckedStep {
  /** The place to go on after; undefined at the end of the part. */
  readonly next: string | undefined
}

/** The columns of an object that its sum covers besides the value. */
interface SummedHead {
  readonly seq: number
  readonly key: string
  readonly realm: RealmRef
  readonly owner: string | null
  readonly revision: number
  readonly entered: number
  /** `updated_at`, ms. */
  readonly updated: number
  readonly stamps: string | null
}

/** An object as its sum covers it. */
export interface SummedObject extends SummedHead {
  readonly value: string
}

/** Looked up once: that costs as much as a short hash. */
const { xxHash32 } = Bun.hash

const CONTENT = 2 ** 32
const HEAD_BITS = 21

/**
 * The `sum` of an object, a whole number of 53 bits: `head × 2³² + content` (promises.md 3).
 *
 * - `content`, unsigned 32 bits: the xxHash32 of the UTF-8 bytes of `value`, with `realm` as the seed
 *   (modulo 2³²). A value is checked by it wherever it leaves, together with the realm that decides
 *   about its readers.
 * - `head`, 21 bits: the lowest bits of a hash that begins as the xxHash32 of `key` with the seed 0. An
 *   `owner` makes it the xxHash32 of `owner` with the hash so far as the seed, `stamps` that of `stamps`
 *   with its complement; null leaves it. Then `mixed` takes in `seq`, `realm`, `revision`, `entered` and
 *   `updated_at`, each as its low and its high 32 bits. It is checked where these columns are read.
 */
export function sumOfObject(object: SummedObject): number {
  return headOf(object) * CONTENT + contentOf(object.value, object.realm)
}

/** The sum of an object whose columns besides the value have changed. */
export function withHead(head: SummedHead, sum: number): number {
  return headOf(head) * CONTENT + (sum >>> 0)
}

/**
 * False when the value, or the realm it is in, is not the one that was stored. A damaged column may have
 * any type.
 */
export function isContentSound(value: unknown, realm: unknown, sum: number): boolean {
  return (
    typeof value === 'string' && typeof realm === 'number' && contentOf(value, realm) === sum >>> 0
  )
}

/** False when one of the other columns is not as it was stored. */
export function isHeadSound(head: SummedHead, sum: number): boolean {
  return isTyped(head) && headOf(head) === Math.floor(sum / CONTENT)
}

/** A damaged column may have any type. */
function isTyped(head: SummedHead): boolean {
  const { key, owner, stamps, seq, realm, revision, entered, updated } = head
  return (
    typeof key === 'string' &&
    (owner === null || typeof owner === 'string') &&
    (stamps === null || typeof stamps === 'string') &&
    Number.isInteger(seq) &&
    Number.isInteger(realm) &&
    Number.isInteger(revision) &&
    Number.isInteger(entered) &&
    Number.isInteger(updated)
  )
}

function contentOf(value: string, realm: RealmRef): number {
  return xxHash32(value, realm >>> 0)
}

/** Without a text of all columns, which would cost half as much as to insert the row. */
function headOf(head: SummedHead): number {
  const { key, owner, stamps, seq, realm, revision, entered, updated } = head
  let hash = xxHash32(key)
  if (owner !== null) hash = xxHash32(owner, hash)
  if (stamps !== null) hash = xxHash32(stamps, ~hash >>> 0)
  hash = mixed(mixed(mixed(mixed(mixed(hash, seq), realm), revision), entered), updated)
  return hash & (2 ** HEAD_BITS - 1)
}

/** Numbers that differ in their low or in their high 32 bits alone give different hashes. */
function mixed(hash: number, number: number): number {
  let next = Math.imul(hash ^ number, 0x9e_37_79_b1)
  next ^= next >>> 15
  next = Math.imul(next ^ Math.floor(number / CONTENT), 0x85_eb_ca_77)
  return next ^ (next >>> 13)
}

/**
 * The `sum` of any other row, unsigned 32 bits: the xxHash32, with the seed 0, of the UTF-8 bytes of the
 * compact JSON array of its columns, in the order of the table and without the sum.
 */
export function sumOfRow(columns: readonly unknown[]): number {
  return xxHash32(JSON.stringify(columns))
}

/** With a cause, the refusal is in the log too. */
const WRONG = new Error('The checksum of the row is wrong')

/** The refusal of a row whose sum is wrong. It names what the caller asked for, escaped. */
export function damaged(what: string, name: string): SatchelError {
  return new SatchelError(
    'DAMAGED',
    `The ${what} ${quoted(name)} is damaged on the disk: satchel verify lists all damage`,
    { cause: WRONG },
  )
}

/** The error of a damaged object, which writers can repair. */
export function damagedObject(table: string, key: string): SatchelError {
  return new SatchelError(
    'DAMAGED',
    `The object ${quoted(key)} of the table ${quoted(table)} is damaged on the disk: replace or delete it; satchel verify lists all damage`,
    { reason: key, cause: WRONG },
  )
}
