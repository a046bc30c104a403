import { LeftOut } from '../json/shaped'
import { SatchelError, unprocessable } from '../value/error'
import { isAbsent, isRecord, presentIn, type WireObject } from '../value/value'
import type { Work } from '../value/work'
import {
  copiesOf,
  type PropertyChange,
  readChangeSpec,
  requireFewCopies,
  type SpecLimits,
} from './change'
import { readCriteria } from './criteria'
import type { Action, ClientTransaction, Operation, Query } from './request'
import { invalid, listIn, numberIn, requireName, textIn } from './wire-field'

/** The prefix of the `txid` that uploads of anonymous work share. */
const UPLOAD = 'upload-'

interface Gathered {
  readonly operations: Operation[]
  refusal: SatchelError | undefined
  /** The characters that its updates copy into several objects each. */
  copies: number
}

/**
 * Reads the transactions of a request, in the order in which they first appear. Throws `INVALID_REQUEST`; an operation
 * that cannot be executed, or is beyond a limit, refuses its transaction only.
 */
export function* readTransactions(
  changes: readonly unknown[],
  limits: SpecLimits,
): Work<ClientTransaction[]> {
  const gathered = new Map<string, Gathered>()
  for (const change of changes) {
    const table = isRecord(change) ? change['table'] : undefined
    if (!isRecord(change) || typeof table !== 'string') {
      throw invalid('"changes"', 'a list of {table, muts}')
    }
    for (const mut of listIn(change, 'muts')) {
      readOperation(gathered, table, mut, limits)
      yield
    }
  }
  return [...gathered].map(([txid, { operations, refusal }]) => ({
    txid,
    isUpload: txid.startsWith(UPLOAD),
    operations,
    refusal,
  }))
}

/** An operation that names its transaction and its keys can be refused and restored. */
function readOperation(
  gathered: Map<string, Gathered>,
  table: string,
  mut: unknown,
  limits: SpecLimits,
): void {
  if (!isRecord(mut)) throw invalid('"muts"', 'a list of operations')
  // An empty one names no transaction.
  const txid = requireName(mut['txid'] || undefined, '"txid" of an operation')
  const transaction = gathered.get(txid) ?? { operations: [], refusal: undefined, copies: 0 }
  gathered.set(txid, transaction)
  const keys = listIn(mut, 'keys').map(readKey)
  const ts = numberIn(mut, 'ts')
  const common = {
    table,
    keys,
    ts: Number.isFinite(ts) ? ts : undefined,
    rev: numberIn(mut, 'rev'),
    userId: textIn(mut, 'userId'),
  }
  try {
    const action = readAction(mut, keys.length, limits)
    if (action.type === 'update' && action.changes.length === 1) {
      transaction.copies += copiesOf(listIn(mut, 'changeSpecs')[0], keys.length)
      requireFewCopies(transaction.copies)
    }
    transaction.operations.push(lastOfEach({ ...common, action }))
  } catch (error) {
    if (!(error instanceof SatchelError)) throw error
    transaction.refusal ??= error
    const action = { type: 'update', changes: [] } as const
    transaction.operations.push({ ...common, action })
  }
}

/**
 * Of several changes of one row in an update the last: its client keeps no other one (protocol.md
 * Appendix C.29).
 */
function lastOfEach(operation: Operation): Operation {
  const { keys, action } = operation
  if (action.type !== 'update' || keys.length < 2) return operation
  const last = new Map(keys.map((key, position) => [key, position]))
  if (last.size === keys.length) return operation
  const positions = [...last.values()].toSorted((one, other) => one - other)
  const { changes } = action
  const lastChanges =
    changes.length === keys.length ? positions.map((at) => changes[at] ?? []) : changes
  return {
    ...operation,
    keys: positions.map((at) => keys[at] ?? ''),
    action: { ...action, changes: lastChanges },
  }
}

/** Array keys that were sent raw are as good as their JSON. */
function readKey(key: unknown): string {
  if (typeof key === 'string') return key
  if (Array.isArray(key)) return JSON.stringify(key)
  throw invalid('"keys" of an operation', 'a list of strings')
}

function readAction(mut: WireObject, keyCount: number, limits: SpecLimits): Action {
  const type = mut['type']
  switch (type) {
    case 'insert':
    case 'upsert':
      return readPut(type, mut, keyCount, limits)
    case 'update': {
      const changes = listIn(mut, 'changeSpecs').map((spec) => readSpec(spec, limits))
      if (changes.length !== keyCount && changes.length !== 1 && keyCount > 0) {
        throw refused('an update has a changeSpec for each key, or one for all of them')
      }
      return { type, changes }
    }
    case 'modify': {
      const query = readQuery(mut)
      if (query === undefined) throw refused('a modify needs criteria')
      const source = mut['changeSpec']
      return { type, query, change: readSpec(source, limits), source }
    }
    case 'delete':
      return { type, query: readQuery(mut) }
    default:
      throw refused('its type is insert, upsert, update, modify or delete')
  }
}

function readPut(
  type: 'insert' | 'upsert',
  mut: WireObject,
  keyCount: number,
  limits: SpecLimits,
): Action {
  const values = listIn(mut, 'values')
  requireWhole(values)
  if (values.length !== keyCount || !values.every(isRecord)) {
    throw refused(`an ${type} has an object for each key`)
  }
  const specs = presentIn(mut, 'changeSpecs')
  if (type === 'insert' || specs === undefined) return { type, values }
  if (!Array.isArray(specs) || specs.length !== keyCount) {
    throw refused('an upsert has a changeSpec, or null, for each key')
  }
  const changes = specs.map((spec) => (isAbsent(spec) ? null : readSpec(spec, limits)))
  return { type, values, changes }
}

/** Throws the refusal of a value that was too large to be parsed. */
function requireWhole(values: readonly unknown[]): void {
  for (const value of values) if (value instanceof LeftOut) throw value.refusal
}

function readSpec(spec: unknown, limits: SpecLimits): PropertyChange[] {
  requireWhole([spec])
  if (!isRecord(spec)) throw refused('a changeSpec is an object')
  return readChangeSpec(spec, limits)
}

function readQuery(mut: WireObject): Query | undefined {
  const criteria = presentIn(mut, 'criteria')
  if (criteria === undefined) return undefined
  requireWhole([criteria])
  const isFirstChunk = presentIn(mut, 'isAdditionalChunk') !== true
  return { criteria: readCriteria(criteria), source: criteria, isFirstChunk }
}

function refused(problem: string): SatchelError {
  return unprocessable(`An operation cannot be executed: ${problem}`)
}
