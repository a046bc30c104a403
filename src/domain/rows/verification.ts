import type { Fault, Meaning, WholeObject } from '../store/integrity'
import type { Membership } from '../store/memberships'
import type { Database } from '../store/store'
import type { Table } from '../store/tables'
import { tracesOf } from '../object/traces'
import { nextTurn } from '../value/turn'
import { jsonOf } from '../value/escape'
import { keyOf } from '../value/key'
import { type WireObject, getOwn, isRecord } from '../value/value'
import { membershipOf } from './member-rows'
import { ownershipOf } from './owner-row'

/** The result of a verification. */
export interface Verification {
  /** Rows and entries that were looked at. */
  readonly checked: number
  /** How much damage there is; after `accept`, how much is left. */
  readonly found: number
  /** The first of it. */
  readonly faults: readonly Fault[]
}

/** How many faults are named. */
const NAMED = 1_000

/** Options of `verifyDatabase`. */
interface VerificationOptions {
  /** Accepts rows that were written by hand: they get new checksums, and the entries that follow. */
  readonly accepts: boolean
  /** Called with the rows and entries so far. */
  readonly progress?: ((done: number, total: null) => void) | undefined
  /** Ends the verification with its reason. */
  readonly signal?: AbortSignal | undefined
}

/**
 * Checks the file, the checksums of all rows that have one, the entries of the indexes, the rights that
 * follow from rows of `realms` and `members`, and the references to blobs (promises.md 3), while others are
 * served.
 */
export async function verifyDatabase(
  database: Database,
  { accepts, progress, signal }: VerificationOptions,
): Promise<Verification> {
  const faults: Fault[] = []
  let found = 0
  let checked = 0
  for await (const step of database.verify(meaningOf, accepts)) {
    checked += step.checked
    found += step.faults.length
    faults.push(...step.faults.slice(0, NAMED - faults.length))
    progress?.(checked, null)
    await nextTurn()
    signal?.throwIfAborted()
  }
  return { checked, found, faults }
}

/** The entries, references and rights that follow from an object. */
function meaningOf(table: Table, object: WholeObject): Meaning | undefined {
  const value = jsonOf(object.value)
  if (!isRecord(value) || !isConsistent(table, object, value)) return undefined
  try {
    const { entries, blobs } = tracesOf(table, { text: object.value, object: value })
    return { entries: [...entries], blobs, membership: membershipFrom(table, object, value) }
  } catch {
    return undefined
  }
}

/** The key, realm and owner of an object stand in its value too. */
function isConsistent(table: Table, object: WholeObject, value: WireObject): boolean {
  try {
    return (
      (table.primaryKey === null || keyOf(table, value) === object.key) &&
      getOwn(value, 'realmId') === object.realmId &&
      (getOwn(value, 'owner') ?? null) === object.owner
    )
  } catch {
    return false
  }
}

function membershipFrom(
  { name, builtIn }: Table,
  { key, realm, owner }: WholeObject,
  value: WireObject,
): Membership | undefined {
  if (!builtIn || name === 'roles') return undefined
  if (name === 'members') return membershipOf(value, `members:${key}`, realm)
  return owner === null ? undefined : ownershipOf(key, realm, owner)
}
