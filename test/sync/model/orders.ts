import * as fc from 'fast-check'
import type { Value } from '../../access/oracle-world'
import { DAY, HOUR } from '../../../src/domain/value/time'
import { changed } from './device'

/**
 * Histories of one row and two devices, each of which sends its work in one request: they end alike,
 * whichever request arrives first, except as `docs/merging.md` lists.
 */

/** A transaction at a time, ms after the start. */
export interface Step {
  readonly at: number
  readonly acts: readonly OrderAct[]
}

export interface OrderHistory {
  /** The devices that have seen the row before; without any the row is not there. */
  readonly start: 'absent' | 'seen' | 'seen by one'
  /** The devices belong to one user, or to two who share two realms. */
  readonly users: 1 | 2
  /** The second device has the smaller client number. */
  readonly isSwapped: boolean
  readonly devices: readonly [one: readonly Step[], other: readonly Step[]]
  readonly clocks: readonly [one: DeviceClock, other: DeviceClock]
  /** The device whose base the server does not know; mostly none. */
  readonly unplaced: 0 | 1 | undefined
}

/** A clock that may be wrong. */
export interface DeviceClock {
  /** How far it is ahead of that of the server, ms. */
  readonly lead: number
  /** It is set back by so much after the first transaction, ms. */
  readonly setBack: number
}

const PLACES = ['own', 'team', 'side'] as const
export type PlaceName = (typeof PLACES)[number]

export const UNDEFINED = { $t: 'undefined' }

const list = fc.constantFrom('x', 'x', 'x', 'y')
const text = fc.constantFrom('p', 'q', 'r')
const place = fc.constantFrom(...PLACES)
const number = fc.nat({ max: 3 })

/** A path and what is written there. */
const write: fc.Arbitrary<readonly [string, unknown]> = fc.oneof(
  { weight: 8, arbitrary: fc.tuple(fc.constant('title'), text) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('note'), text) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('note'), fc.constant(UNDEFINED)) },
  { weight: 2, arbitrary: fc.tuple(fc.constantFrom('deep.a', 'deep.b'), text) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('deep'), fc.record({ a: text, b: text })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('n'), number) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('n'), fc.constant({ '@@propmod': { add: 1 } })) },
  { weight: 2, arbitrary: fc.tuple(fc.constant('realmId'), place) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('list'), list) },
)
const spec = fc
  .array(write, { minLength: 1, maxLength: 2 })
  .map((writes): Value => Object.fromEntries(writes))

/** What a criteria operation looks at. */
const query = fc.record({ kind: fc.constantFrom('equal' as const, 'prefix' as const), list })

const making = fc.record({
  kind: fc.constantFrom('add' as const, 'put' as const),
  spec,
  realm: place,
  list,
  isNoted: fc.boolean(),
})
const reaching = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('modify' as const), query, spec }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('deleteWhere' as const), query }) },
)
const act = fc.oneof(
  { weight: 3, arbitrary: making },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('update' as const), spec }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('upsert' as const), spec }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete' as const) }) },
  { weight: 5, arbitrary: reaching },
)

export type OrderAct = typeof act extends fc.Arbitrary<infer T> ? T : never

/** The transactions of a device, of which some first acts are chosen. */
const stepsFrom = (first: fc.Arbitrary<OrderAct>) =>
  fc
    .tuple(
      first,
      fc.array(
        fc.record({
          after: fc.nat({ max: 3 }),
          acts: fc.array(act, { minLength: 1, maxLength: 2 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
    )
    .map(([one, given]): readonly Step[] => {
      let at = 0
      return given.map(({ after, acts }, position) => {
        at += after + 1
        return { at, acts: position === 0 ? [one, ...acts.slice(1)] : acts }
      })
    })

/** Mostly one device makes or writes the row, and the other one has an operation with criteria. */
const devices = fc.oneof(
  { weight: 3, arbitrary: fc.tuple(stepsFrom(making), stepsFrom(reaching)) },
  { weight: 1, arbitrary: fc.tuple(stepsFrom(act), stepsFrom(act)) },
)

const clock: fc.Arbitrary<DeviceClock> = fc.record({
  lead: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 2, -2, HOUR, -HOUR, 3 * DAY),
  setBack: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 0, 2, 5, 2 * HOUR),
})

export const orderHistories: fc.Arbitrary<OrderHistory> = fc.record({
  start: fc.constantFrom('absent' as const, 'seen' as const, 'seen by one' as const),
  users: fc.constantFrom(1 as const, 1 as const, 2 as const),
  isSwapped: fc.boolean(),
  devices,
  clocks: fc.tuple(clock, clock),
  unplaced: fc.oneof(
    { weight: 29, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.constantFrom(0 as const, 1 as const) },
  ),
})

/** An operation in wire form. */
export interface OrderOperation {
  readonly type: string
  readonly keys: readonly string[]
  readonly values?: readonly Value[]
  readonly changeSpecs?: readonly Value[]
  readonly changeSpec?: Value
  readonly criteria?: unknown
  /** Not sent: its device had no such row. */
  readonly isCreation?: boolean
  /** Not sent: its device had removed a row with its key. */
  readonly isRemade?: boolean
}

export interface OrderTransaction {
  readonly at: number
  readonly operations: readonly OrderOperation[]
}

/** The names that one play of a history uses. */
export interface OrderNames {
  readonly key: string
  readonly prefix: string
  readonly realmOf: (place: PlaceName) => string
  readonly user: string
}

/** The row that a history begins with. */
export function firstRow({ key, prefix, realmOf, user }: OrderNames): Value {
  const rest = { title: 's', note: 's', n: 1, deep: { a: 's', b: 's' } }
  return { id: key, owner: user, realmId: realmOf('team'), list: `${prefix}x`, ...rest }
}

/** The transactions of a device, whose user sees `row` at the beginning. */
export function transactionsOf(
  steps: readonly Step[],
  names: OrderNames,
  row: Value | undefined,
): OrderTransaction[] {
  let view = row
  let isGone = false
  const transactions: OrderTransaction[] = []
  for (const { at, acts } of steps) {
    const operations: OrderOperation[] = []
    for (const one of acts) {
      isGone ||= one.kind === 'deleteWhere'
      const isNew = view === undefined && (one.kind === 'add' || one.kind === 'put')
      const made = operationOf(one, names, view)
      if (made === undefined) continue
      // A row that its device removes, seen or not, and makes anew is another one.
      const isRemade = isNew && isGone
      operations.push({ ...made.operation, ...(isNew ? { isCreation: true, isRemade } : {}) })
      isGone ||= view !== undefined && made.row === undefined
      view = made.row
    }
    if (operations.length > 0) transactions.push({ at, operations })
  }
  return transactions
}

interface Made {
  readonly operation: OrderOperation
  /** The row afterwards. */
  readonly row: Value | undefined
}

function operationOf(one: OrderAct, names: OrderNames, row: Value | undefined): Made | undefined {
  const { key, prefix, user, realmOf } = names
  const keys = [key]
  switch (one.kind) {
    case 'add':
    case 'put': {
      const given = named(one.spec, names)
      if (row === undefined) {
        const place = { owner: user, realmId: realmOf(one.realm), list: prefix + one.list }
        const made = { id: key, ...place, title: 'c', n: 0, ...(one.isNoted ? { note: 'c' } : {}) }
        const type = one.kind === 'add' ? 'insert' : 'upsert'
        return { operation: { type, keys, values: [made] }, row: made }
      }
      if (one.kind === 'add') return undefined
      const { note, ...rest } = changed(row, given)
      const value = one.isNoted && note !== undefined ? { ...rest, note } : rest
      if (JSON.stringify(value) === JSON.stringify(row)) return undefined
      return { operation: { type: 'upsert', keys, values: [value] }, row: value }
    }
    case 'update':
    case 'upsert': {
      if (row === undefined) return undefined
      const given = named(one.spec, names)
      const next = changed(row, given)
      const changes = { changeSpecs: [given] }
      const operation =
        one.kind === 'update'
          ? { type: 'update', keys, ...changes }
          : { type: 'upsert', keys, values: [next], ...changes }
      return { operation, row: next }
    }
    case 'delete':
      return row && { operation: { type: 'delete', keys, criteria: UNDEFINED }, row: undefined }
    case 'modify':
    case 'deleteWhere': {
      const criteria = criteriaOf(one.query, prefix)
      const isMatch = row !== undefined && matches(one.query, prefix, row)
      const reached = isMatch ? keys : []
      if (one.kind === 'deleteWhere') {
        const operation = { type: 'delete', keys: reached, criteria }
        return { operation, row: isMatch ? undefined : row }
      }
      const changeSpec = named(one.spec, names)
      const operation = { type: 'modify', keys: reached, criteria, changeSpec }
      return { operation, row: isMatch ? changed(row, changeSpec) : row }
    }
  }
}

type Query = typeof query extends fc.Arbitrary<infer T> ? T : never

function criteriaOf({ kind, list: name }: Query, prefix: string) {
  const lower = prefix + name
  const range =
    kind === 'equal'
      ? { type: 1, lower, upper: lower }
      : { type: 2, lower: prefix, upper: `${prefix}${name}\uffff` }
  return { index: 'list', range }
}

function matches({ kind, list: name }: Query, prefix: string, row: Value): boolean {
  const held = String(row['list'])
  return kind === 'equal' ? held === prefix + name : held <= `${prefix}${name}\uffff`
}

function named(given: Value, { prefix, realmOf }: OrderNames): Value {
  return Object.fromEntries(
    Object.entries(given).map(([path, value]) => {
      if (path === 'list') return [path, prefix + String(value)]
      return [path, path === 'realmId' ? realmOf(value as PlaceName) : value]
    }),
  )
}

/** The time of a transaction by the clock of its device, ms after that of the first row. */
export function timeBy({ lead, setBack }: DeviceClock, at: number, position: number): number {
  return at + lead - (position > 0 ? setBack : 0)
}

/** What `docs/merging.md` lists as differing in the order of arrival; undefined for all else. */
export function exceptionOf(
  { users, start, unplaced, clocks }: OrderHistory,
  both: readonly (readonly OrderTransaction[])[],
): string | undefined {
  if (unplaced !== undefined) return 'a base that is not known'
  const [one = [], other = []] = both.map((its) => its.flatMap(({ operations }) => operations))
  const isDouble =
    start === 'seen by one'
      ? other.some(isCreation)
      : one.some(isCreation) && other.some(isCreation)
  const pairs = [
    [one, other],
    [other, one],
  ] as const
  const own = pairs.some(([its]) =>
    its.some((operation) => movesAway(operation) || (isDouble && isPrivate(operation))),
  )
  if (users === 2 && own) return 'rights that changed between'
  for (const [mine, others] of pairs) {
    const isAdded = mine.some(({ changeSpec, changeSpecs }) =>
      JSON.stringify([changeSpec, changeSpecs]).includes('@@propmod'),
    )
    const isSet = others.some((operation) => sets(operation, 'n', isDouble))
    if (isAdded && isSet) return 'add() beside a set'
    const looked = mine.flatMap((operation) =>
      operation.criteria === undefined || operation.criteria === UNDEFINED ? [] : [operation],
    )
    if (looked.length === 0) continue
    const moved = others.filter((operation) => sets(operation, 'list', isDouble))
    const isRival = moved.length > 0 && mine.some((operation) => sets(operation, 'list', isDouble))
    const isOut = moved.some(
      (operation) => !looked.every(({ criteria }) => isWithin(criteria, listOf(operation))),
    )
    if (isRival || isOut) return 'moved out of the criteria'
  }
  const isBehind = both.some((its, device) => {
    const hasSeen = start === 'seen' || (start === 'seen by one' && device === 0)
    return hasSeen && its.some(({ at }, position) => timeBy(clocks[device]!, at, position) < 0)
  })
  if (isBehind) return 'a clock that is behind'
  if (both.flat().some(({ operations }) => operations.some(({ isRemade }) => isRemade === true))) {
    return 'another row under the key'
  }
  return undefined
}

export function isCreation({ isCreation: its }: OrderOperation): boolean {
  return its === true
}

function specsOf({ changeSpec, changeSpecs = [] }: OrderOperation): readonly Value[] {
  return changeSpec === undefined ? changeSpecs : [changeSpec]
}

function movesAway(operation: OrderOperation): boolean {
  const { values = [] } = operation
  const written = isCreation(operation) ? [] : [...specsOf(operation), ...values]
  return written.some(({ realmId }) => typeof realmId === 'string' && !realmId.startsWith('rlm'))
}

function isPrivate({ values = [] }: OrderOperation): boolean {
  return values.some(({ realmId }) => typeof realmId === 'string' && !realmId.startsWith('rlm'))
}

function sets(operation: OrderOperation, name: string, isDouble: boolean): boolean {
  const { type, values, changeSpecs } = operation
  if (values !== undefined && changeSpecs === undefined) return isDouble || !isCreation(operation)
  return (
    type !== 'delete' &&
    specsOf(operation).some(
      (spec) => name in spec && !JSON.stringify(spec[name]).includes('@@propmod'),
    )
  )
}

function listOf(operation: OrderOperation): unknown {
  return specsOf(operation)[0]?.['list'] ?? operation.values?.[0]?.['list']
}

function isWithin(criteria: unknown, value: unknown): boolean {
  const { range } = criteria as { range: { lower: string; upper: string } }
  return range.lower <= String(value) && String(value) <= range.upper
}
