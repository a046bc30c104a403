/**
 * The permission sets of `protocol.md` §6.3, said again in the slowest obvious way: a set is asked
 * about one table and one property at a time, and "at most" tries every question there is.
 */

export interface Grant {
  add?: unknown
  update?: unknown
  manage?: unknown
}

/** The permissions of a user in a realm: the union of these. */
export type Holding = readonly Grant[]

export const EVERYTHING: Holding = [{ manage: '*' }]

export const mayManage = (held: Holding, table: string): boolean =>
  held.some(({ manage }) => manage === '*' || lists(manage, table))

export const mayManageAll = (held: Holding): boolean => held.some(({ manage }) => manage === '*')

export const mayAdd = (held: Holding, table: string): boolean =>
  mayManage(held, table) || held.some(({ add }) => add === '*' || lists(add, table))

/** A star never stands for `owner` or `realmId`: those must be named (`conformance.md` 120). */
export const mayUpdate = (held: Holding, table: string, property: string): boolean =>
  mayManage(held, table) ||
  held.some(({ update }) => {
    const guarded = property === 'owner' || property === 'realmId'
    if (update === '*') return !guarded
    const listed = own(update, table)
    if (listed === '*') return !guarded
    return lists(listed, property) || (lists(listed, '*') && !guarded)
  })

/**
 * Whether `given` allows only what `held` already allows (`design.md` §5.3). Stars are
 * tried with a table and an unused property, so only a held star answers for them.
 */
export const isAtMost = (given: Holding, held: Holding): boolean => {
  if (mayManageAll(held)) return true
  if (mayManageAll(given)) return false
  return tablesOf(given).every(
    (table) =>
      (!mayManage(given, table) || mayManage(held, table)) &&
      (!mayAdd(given, table) || mayAdd(held, table)) &&
      propertiesOf(given, table).every(
        (property) => !mayUpdate(given, table, property) || mayUpdate(held, table, property),
      ),
  )
}

const UNNAMED = 'an unused name'

const tablesOf = (given: Holding): string[] => [
  UNNAMED,
  ...given.flatMap(({ add, update, manage }) => [
    ...strings(add),
    ...strings(manage),
    ...(isRecord(update) ? Object.keys(update) : []),
  ]),
]

const propertiesOf = (given: Holding, table: string): string[] => [
  UNNAMED,
  'owner',
  'realmId',
  ...given.flatMap(({ update }) => strings(own(update, table))),
]

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === 'string') : []

const lists = (value: unknown, item: string): boolean => strings(value).includes(item)

const own = (value: unknown, name: string): unknown =>
  isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
