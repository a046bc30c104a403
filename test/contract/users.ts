import { describe, expect, test } from 'bun:test'
import type { Database, Store } from '../../src/domain/store'
import type { User, UserFields } from '../../src/domain/user'
import {
  USER_ORDERS,
  type UserFilter,
  type UserOrder,
  type UserQuery,
} from '../../src/domain/user-query'
import { textsOf } from '../../src/domain/user-search'

type OpenStore = () => Promise<AsyncDisposable & { readonly store: Store }>

/** Users: found by id, listed in every order, searched by parts of their texts. */
export function describeUsers(openStore: OpenStore): void {
  describe('a user', () => {
    test('is what was put, whole', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const alice = user('alice', {
        type: 'eval',
        created: 1,
        updated: 2,
        lastLogin: 3,
        validUntil: -4,
        evalUntil: 5,
        deactivated: 6,
        data: { displayName: 'Alice', deep: [{ n: null }], __proto__x: 1 },
      })
      const put = await database.write((tx) => tx.users.put(alice))
      expect(put).toEqual({ ...alice, incarnation: put.incarnation })
      expect(await find(database, 'alice')).toEqual(put)
      expect(await find(database, 'Alice')).toBeUndefined()
    })

    test('keeps names that mean something to JavaScript as data', async () => {
      await using fixture = await setup(openStore)
      const data = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as UserFields['data']
      await fixture.database.write((tx) => tx.users.put(user('alice', { data })))
      const found = await find(fixture.database, 'alice')
      expect(JSON.stringify(found?.data)).toBe('{"__proto__":{"x":1},"constructor":2}')
    })

    test('stays the same one while it changes, and is another one after it was removed', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const put = (fields: UserFields) => database.write((tx) => tx.users.put(fields))
      const first = await put(user('alice'))
      const other = await put(user('bob'))
      const changed = await put({ ...first, type: 'eval', data: { displayName: 'A' } })
      expect(changed.incarnation).toBe(first.incarnation)
      expect(other.incarnation).not.toBe(first.incarnation)
      expect(await database.write((tx) => tx.users.remove('bob'))).toBe(true)
      expect(await find(database, 'bob')).toBeUndefined()
      expect(await database.write((tx) => tx.users.remove('bob'))).toBe(false)
      const again = await put(other)
      expect(again.incarnation).toBeGreaterThan(other.incarnation)
    })

    test('is not there when its unit failed, nor found by a search', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const unit = database.write(async (tx) => {
        await tx.users.put(user('alice'))
        expect(await tx.users.list(query({ search: 'alic' }))).toMatchObject({
          users: [{ id: 'alice' }],
        })
        expect(await tx.users.list(query({ search: 'al' }))).toMatchObject({
          users: [{ id: 'alice' }],
        })
        throw new Error('changed my mind')
      })
      expect(await unit.catch(() => 'failed')).toBe('failed')
      expect(await ids(database, {})).toEqual([])
      expect(await ids(database, { search: 'alic' })).toEqual([])
      expect(await ids(database, { search: 'al' })).toEqual([])
    })

    test('who comes, changes or goes changes who may do what; a login does not', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const before = database.policy
      await database.write((tx) => tx.users.put(user('alice')))
      expect(database.policy).toBe(before + 1)
      await database.write((tx) => tx.users.noteLogin('alice', 5_000))
      expect(database.policy).toBe(before + 1)
      await database.write((tx) => tx.users.remove('alice'))
      expect(database.policy).toBe(before + 2)
      await database.write((tx) => tx.users.remove('alice'))
      expect(database.policy).toBe(before + 2)
    })

    test('has logged in when that was noted: last, and in this life', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      await database.write((tx) => tx.users.put(user('alice', { created: 1_000 })))
      const lastLogin = async () => (await find(database, 'alice'))?.lastLogin
      const note = (id: string, at: number) => database.write((tx) => tx.users.noteLogin(id, at))
      await note('alice', 999)
      expect(await lastLogin()).toBeNull()
      await note('alice', 1_000)
      expect(await lastLogin()).toBe(1_000)
      await note('alice', 3_000)
      await note('alice', 2_000)
      await note('nobody', 2_000)
      expect(await lastLogin()).toBe(3_000)
      expect(await ids(database, {})).toEqual(['alice'])
    })
  })

  describe('users in a list', () => {
    for (const order of USER_ORDERS) {
      for (const isDescending of [false, true]) {
        test(`by ${order}${isDescending ? ', descending' : ''} come page by page, each once`, async () => {
          await using fixture = await setup(openStore)
          const { database } = fixture
          const users = await putAll(database, crowd(60))
          const expected = sorted(users, order, isDescending)
          for (const limit of [1, 7, 59, 60, 1000]) {
            const base = query({ order, isDescending, limit })
            expect(await pages(database, base)).toEqual(expected)
          }
        })
      }
    }

    test('who are there throughout are listed once, whoever comes and goes meanwhile', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const users = await putAll(database, crowd(120))
      for (const order of USER_ORDERS) {
        for (const isDescending of [false, true]) {
          const expected = sorted(users, order, isDescending)
          const guests = crowd(40, 'guest')
          const seen: string[] = []
          let base = query({ order, isDescending, limit: 10 })
          for (;;) {
            const page = await database.read((tx) => tx.users.list(base))
            seen.push(...page.users.map(({ id }) => id))
            if (page.end === undefined) break
            base = { ...base, after: page.end }
            const last = page.users.at(-1)
            await database.write(async (tx) => {
              for (const guest of guests.splice(0, 2)) await tx.users.put(guest)
              // The one that the next page begins after is gone, and a guest with it.
              if (last?.id.startsWith('guest')) await tx.users.remove(last.id)
            })
          }
          expect(seen.filter((id) => !id.startsWith('guest'))).toEqual(expected)
          expect(new Set(seen).size).toBe(seen.length)
          await database.write(async (tx) => {
            for (let at = 0; at < 40; at += 1) await tx.users.remove(`guest${at}`)
          })
        }
      }
    })

    test('are those of a type, the active or the others', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const users = await putAll(database, crowd(60))
      for (const type of ['eval', 'prod', 'demo', undefined] as const) {
        for (const active of [true, false, undefined]) {
          const filter: UserFilter = {
            ...(type === undefined ? {} : { type }),
            ...(active === undefined ? {} : { active }),
          }
          const expected = users.filter((one) => passes(one, filter))
          expect(expected.length).toBeGreaterThan(0)
          const names = sorted(expected, 'displayName', true)
          const base = query({ ...filter, order: 'displayName', isDescending: true, limit: 4 })
          expect(await pages(database, base)).toEqual(names)
          for (const most of [0, 1, 5, 1_000]) {
            const count = await database.read((tx) => tx.users.count(filter, most))
            expect(count).toBe(Math.min(most, expected.length))
          }
        }
      }
    })
  })

  describe('a search of users', () => {
    test('finds the parts of their texts, of any length, whatever they are', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const users = await putAll(database, [
        ...crowd(40),
        user('100%_sure*', { data: { displayName: 'A "quoted" \\ name' } }),
        user('x', { data: { displayName: 'Ö', email: 'oe@example.com' } }),
        user('用户', { data: { displayName: '山田 太郎' } }),
        user("o'neil", { data: { displayName: '👩‍👩‍👧 family -AND NOT (OR)' } }),
        user('colon:minus-plus+', { data: { displayName: '^start $end {near} [x]' } }),
      ])
      const texts = [
        ['%', '_', '*', '"', '\\', "'", '-', '+', ':', '^', '$', '{', '(', '%_', '_s', 'e*'],
        ['"q', '" ', '100%_sure*', 'd" \\ n', "o'n", 'and not (or)', 'near', '^start', ' ', '  '],
        [
          'o',
          'oe',
          'oe@',
          'ö',
          '用',
          '用户',
          '山田',
          '山田 太',
          '郎',
          '👩',
          '👧',
          'nothing like it',
        ],
        ['a', 'e', 'z', 'zz', 'er', 'ers', 'person1', 'x', 'example.com', '@exa', 'com', 'om', 'm'],
      ].flat()
      for (const search of texts) {
        const expected = users.filter((one) => passes(one, { search }))
        expect({ search, found: await ids(database, { search }) }).toEqual({
          search,
          found: sorted(expected, 'userId', false),
        })
      }
    })

    test('knows the texts of now', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const alice = user('alice', { data: { displayName: 'Wonder' } })
      await putAll(database, [alice, user('bob')])
      expect(await ids(database, { search: 'onde' })).toEqual(['alice'])
      await putAll(database, [{ ...alice, data: { displayName: 'Looking' } }])
      expect(await ids(database, { search: 'onde' })).toEqual([])
      expect(await ids(database, { search: 'wo' })).toEqual([])
      expect(await ids(database, { search: 'ooki' })).toEqual(['alice'])
      expect(await ids(database, { search: 'oo' })).toEqual(['alice'])
      await database.write((tx) => tx.users.remove('alice'))
      expect(await ids(database, { search: 'ooki' })).toEqual([])
      expect(await ids(database, { search: 'oo' })).toEqual([])
    })

    test('is as right when thousands match, in every order', async () => {
      await using fixture = await setup(openStore)
      const { database } = fixture
      const users = await putAll(database, crowd(6_000))
      for (const search of ['person', 'e', 'pe', 'person1', '99', '5999', 'q', '@']) {
        for (const order of ['userId', 'displayName', 'lastLogin'] as const) {
          const filter: UserFilter = { search, type: 'prod' }
          const expected = sorted(
            users.filter((one) => passes(one, filter)),
            order,
            true,
          )
          const base = query({ ...filter, order, isDescending: true })
          expect(await pages(database, base)).toEqual(expected)
          const found = await database.read((tx) => tx.users.count(filter, 10_000))
          expect(found).toBe(expected.length)
        }
      }
    }, 60_000)
  })
}

interface UsersFixture extends AsyncDisposable {
  readonly database: Database
}

async function setup(openStore: OpenStore): Promise<UsersFixture> {
  const fixture = await openStore()
  const database = await fixture.store.create('main')
  return { database, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() }
}

function user(id: string, fields: Partial<UserFields> = {}): UserFields {
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
function crowd(size: number, prefix = 'person'): UserFields[] {
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

async function putAll(database: Database, users: readonly UserFields[]): Promise<User[]> {
  return await database.write(async (tx) => {
    const put: User[] = []
    for (const fields of users) put.push(await tx.users.put(fields))
    return put
  })
}

function find(database: Database, id: string): Promise<User | undefined> {
  return database.read((tx) => tx.users.find(id))
}

function query(fields: Partial<UserQuery>): UserQuery {
  return { order: 'userId', isDescending: false, limit: 1_000, ...fields }
}

async function ids(database: Database, fields: Partial<UserQuery>): Promise<string[]> {
  return await pages(database, query(fields))
}

/** The ids of all pages from this one on. */
async function pages(database: Database, first: UserQuery): Promise<string[]> {
  const found: string[] = []
  let next: UserQuery | undefined = first
  while (next !== undefined) {
    const asked: UserQuery = next
    const { users, end } = await database.read((tx) => tx.users.list(asked))
    expect(users.length).toBeLessThanOrEqual(asked.limit)
    if (end !== undefined) expect(users).toHaveLength(asked.limit)
    found.push(...users.map(({ id }) => id))
    next = end && { ...asked, after: end }
  }
  return found
}

function passes(one: User, { search, active, type }: UserFilter): boolean {
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

function sorted(users: readonly User[], order: UserOrder, isDescending: boolean): string[] {
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
