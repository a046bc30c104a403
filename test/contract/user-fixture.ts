import { expect } from 'bun:test'
import type { Database, ReadTx } from '../../src/domain/store/store'
import type {
  UserFilter,
  UserOrder,
  UserPage,
  UserQuery,
  User,
  UserFields,
} from '../../src/domain/store/users'
import { textsOf } from '../../src/domain/store/users'

export function user(id: string, fields: Partial<UserFields> = {}): UserFields {
  return {
    id,
    type: 'prod',
    created: 1,
    updated: 1,
    lastLogin: null,
    validUntil: null,
    evalUntil: null,
    deactivated: null,
    data: null,
    ...fields,
  }
}

/** Users with something of everything, many of them alike. */
export function crowd(size: number, prefix = 'person'): UserFields[] {
  const names = ['Åsa', 'asa', 'Bjørn', 'zoë', 'Zed', '', null, undefined]
  return Array.from({ length: size }, (_, at) => {
    const name = names[at % names.length]
    return user(at % 11 === 0 ? `${prefix}${at}` : `${prefix}${at}@example.com`, {
      type: (['prod', 'eval', 'demo'] as const)[at % 3] ?? 'prod',
      created: 1_000 + (at % 13),
      updated: 2_000 + ((at * 7) % 17),
      lastLogin: at % 4 === 0 ? null : 3_000 + ((at * 5) % 19),
      validUntil: at % 5 === 0 ? null : -4_000 + ((at * 3) % 9),
      evalUntil: at % 3 === 1 ? 5_000 + ((at * 11) % 23) : null,
      deactivated: at % 5 === 1 ? 6_000 : null,
      data: name === undefined ? null : { displayName: name },
    })
  })
}

export async function putAll(database: Database, users: readonly UserFields[]): Promise<User[]> {
  return await database.write((tx) => {
    const put: User[] = []
    for (const fields of users) put.push(tx.users.put(fields))
    return put
  })
}

export function putOne(database: Database, fields: UserFields): Promise<User> {
  return database.write((tx) => tx.users.put(fields))
}

export async function find(database: Database, id: string): Promise<User | undefined> {
  return database.read((tx) => tx.users.find(id))
}

export function query(fields: Partial<UserQuery>): UserQuery {
  return { order: 'userId', isDescending: false, limit: 1_000, ...fields }
}

export async function ids(database: Database, fields: Partial<UserQuery>): Promise<string[]> {
  return await pages(database, query(fields))
}

/** One page, all steps of its search in one unit. */
export function listPage({ users }: ReadTx, asked: UserQuery): UserPage {
  let found = users.search(asked)
  while (found.next !== undefined) found = users.search(asked, found)
  return users.page(found.positions, asked.limit)
}

/** The ids of all pages from this one on. */
export async function pages(database: Database, first: UserQuery): Promise<string[]> {
  const found: string[] = []
  let next: UserQuery | undefined = first
  while (next !== undefined) {
    const asked: UserQuery = next
    const { users, end } = await database.read((tx) => listPage(tx, asked))
    expect(users.length).toBeLessThanOrEqual(asked.limit)
    if (end !== undefined) expect(users).toHaveLength(asked.limit)
    found.push(...users.map(({ id }) => id))
    next = end && { ...asked, after: end }
  }
  return found
}

export function passes(one: User, { search, active, type }: UserFilter): boolean {
  const isFound =
    search === undefined ||
    textsOf(one)
      .search.split('\n')
      .some((line) => line.includes(search))
  return (
    isFound &&
    (type === undefined || one.type === type) &&
    (active === undefined || (one.deactivated === null) === active)
  )
}

const VALUES: Readonly<Record<UserOrder, (one: User) => string | number | null>> = {
  userId: ({ id }) => id,
  created: ({ created }) => created,
  updated: ({ updated }) => updated,
  lastLogin: ({ lastLogin }) => lastLogin,
  validUntil: ({ validUntil }) => validUntil,
  evalDaysLeft: ({ evalUntil }) => evalUntil,
  type: ({ type }) => type,
  displayName: (one) => textsOf(one).name ?? '',
}

export function sorted(users: readonly User[], order: UserOrder, isDescending: boolean): string[] {
  const ascending = users.toSorted(
    (a, b) => compare(VALUES[order](a), VALUES[order](b)) || a.incarnation - b.incarnation,
  )
  return (isDescending ? ascending.toReversed() : ascending).map(({ id }) => id)
}

function compare(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0
  if (a === null) return -1
  if (b === null) return 1
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b)))
  return a - Number(b)
}
