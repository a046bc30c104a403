import { refuseInvisible } from '../object/authorize'
import { type Draft, draftWith } from '../object/draft'
import {
  requireFewEntries,
  requireFewLevels,
  requireFewProperties,
  type WriteLimits,
} from '../object/limits'
import { judgePut } from '../object/write'
import { type Placement, type Writing, rulesOf } from '../object/writing'
import type { TimedObject } from '../store/objects'
import type { Table } from '../store/tables'
import { SatchelError, quoted, unprocessable } from '../value/error'
import { keyOf } from '../value/key'
import { type WireObject, requireWireObject, setOwn } from '../value/value'
import type { Row } from './overlay'

/**
 * The place of an object that an actor puts, checked by the rules of its table and of access:
 * `previous` is the row before the transaction. Undefined when the stored row stands as it is.
 * Throws as `writeRows`.
 */
export function judgeObject(
  writing: Writing,
  { table, key, isTaken }: Pick<Row, 'table' | 'key' | 'isTaken'>,
  object: WireObject,
  previous: TimedObject | undefined,
): Placement | undefined {
  if (isTaken) throw refuseInvisible(writing)
  const rules = rulesOf(writing.rulesByTable, table)
  const draft = draftWithKey(writing, key, object)
  const complete = rules === undefined ? draft : rules.complete(draft)
  return judgePut(writing, complete, previous)
}

/** Throws `UNPROCESSABLE` for an object that is too much (design.md §6 limits by default). */
export function judgeSize({ draft }: Placement, table: Table, limits: WriteLimits): void {
  requireFewLevels(draft, limits)
  requireFewProperties(draft, '', limits)
  if (table.indexes.length > 0) requireFewEntries(table, draft.object, '', limits)
}

/** The refusals that concern one transaction, not the request. */
export function isRejection(error: unknown): error is SatchelError {
  return error instanceof SatchelError && !OF_THE_REQUEST.has(error.code)
}

/** The refusal with which `work` ends, if it is one of a transaction. */
export function rejectionOf(work: () => void): SatchelError | undefined {
  try {
    work()
    return undefined
  } catch (error) {
    if (!isRejection(error)) throw error
    return error
  }
}

const OF_THE_REQUEST: ReadonlySet<string> = new Set([
  'BUSY',
  'STORAGE_FULL',
  'STORAGE_FAILED',
  'READ_ONLY',
  'INTERNAL',
  'INVALID_TOKEN',
  'USER_DEACTIVATED',
  'LICENSE_EXPIRED',
])

/** The key counts, not the property: a first session does not say which property it is. */
function draftWithKey({ table }: Writing, key: string, object: WireObject): Draft {
  const checked = withKey(table.primaryKey, key, requireWireObject(object, ''))
  if (table.primaryKey !== null && keyOf(table, checked) !== key) {
    throw unprocessable(
      `An object of ${quoted(table.name)} has another primary key than its operation`,
      table.primaryKey.join('+'),
    )
  }
  return draftWith(checked, key)
}

function withKey(paths: readonly string[] | null, key: string, object: WireObject): WireObject {
  const [path] = paths ?? []
  if (path === undefined || paths?.length !== 1 || path.includes('.')) return object
  if (Object.hasOwn(object, path)) return object
  const copy = { ...object }
  setOwn(copy, path, key)
  return copy
}
