import { expect, test } from 'bun:test'
import { setupStore } from '../auth/setup'
import { listPage } from '../contract/user-fixture'
import type {
  UserFilter,
  UserOrder,
  UserPosition,
  User,
  UserFields,
} from '../../src/domain/store/users'
import { textsOf } from '../../src/domain/store/users'

/** A search takes three steps. */
const CROWD = 45_000
const LIMIT = 10

/** These users stand together in some orders and are spread over others. */
const FILTERS: readonly UserFilter[] = [
  { search: 'first' },
  { search: 'last' },
  { search: 'last', type: 'eval' },
  { search: 'last-1', active: false },
  { search: 'st', active: true },
  { search: 'ck' },
  { type: 'demo' },
  { type: 'demo', active: false },
  { type: 'eval', active: true },
  { active: false },
  { active: true },
]

function member(at: number): UserFields {
  const name = at < 30_000 ? `first-${at % 100}` : `last-${at % 100}`
  return {
    id: `${(at * 7919) % CROWD}`.padStart(5, '0'),
    type: at % 40 === 0 ? 'demo' : at < 18_000 ? 'prod' : 'eval',
    created: at,
    updated: CROWD - at,
    lastLogin: at % 3 === 0 ? null : (at * 31) % CROWD,
    validUntil: null,
    evalUntil: null,
    deactivated: at > 42_000 ? 5 : null,
    data: { displayName: name, ...(at % 900 === 0 ? { email: 'quack@x' } : {}) },
  }
}

/** Whichever way a page is found, the pages are those of the whole list cut into pieces. */
test('users who stand together are listed like others, from either end and the middle', async () => {
  await using fixture = await setupStore()
  const database = await fixture.store.create('main')
  const users = await database.write((tx) => {
    const put: User[] = []
    for (let at = 0; at < CROWD; at += 1) put.push(tx.users.put(member(at)))
    return put
  })
  const orders: readonly [UserOrder, (user: User) => number | string][] = [
    ['userId', ({ id }) => id],
    ['created', ({ created }) => created],
    ['updated', ({ updated }) => updated],
    ['lastLogin', ({ lastLogin }) => lastLogin ?? -1],
    ['displayName', ({ data }) => String(data?.['displayName'])],
  ]
  for (const [order, valueOf] of orders) {
    const sorted = users.toSorted((a, b) => {
      const [one, other] = [valueOf(a), valueOf(b)]
      return one < other ? -1 : one > other ? 1 : a.incarnation - b.incarnation
    })
    for (const isDescending of [false, true]) {
      const all = isDescending ? sorted.toReversed() : sorted
      for (const filter of FILTERS) {
        const expected = all.filter((user) => passes(user, filter)).map(({ id }) => id)
        const base = { ...filter, order, isDescending }
        const pages: string[] = []
        let after: UserPosition | undefined
        for (const limit of [LIMIT, 500, LIMIT]) {
          const query = { ...base, limit, ...(after && { after }) }
          const page = await database.read((tx) => listPage(tx, query))
          pages.push(...page.users.map(({ id }) => id))
          after = page.end
          if (after === undefined) break
        }
        expect({ ...base, pages }).toEqual({ ...base, pages: expected.slice(0, LIMIT * 2 + 500) })
        expect(after === undefined).toBe(pages.length === expected.length)
      }
    }
  }
})

function passes(user: User, { search, type, active }: UserFilter): boolean {
  const isFound = search === undefined || textsOf(user).search.includes(search)
  const isOfType = type === undefined || user.type === type
  return isFound && isOfType && (active === undefined || active === (user.deactivated === null))
}
