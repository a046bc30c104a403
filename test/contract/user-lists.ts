import { describe, expect, test } from 'bun:test'
import { type OpenStore, createDatabase } from './fixture'
import { crowd, ids, listPage, pages, passes, putAll, query, sorted, user } from './user-fixture'
import { USER_ORDERS, type UserFilter, type UserQuery } from '../../src/domain/store/users'

/** Users in lists: in every order, narrowed and searched by parts of their texts. */
export function describeUserLists(openStore: OpenStore): void {
  describe('users in a list', () => {
    for (const order of USER_ORDERS) {
      for (const isDescending of [false, true]) {
        test(`by ${order}${isDescending ? ', descending' : ''} come page by page, each once`, async () => {
          await using database = await createDatabase(openStore)
          const users = await putAll(database, crowd(60))
          const expected = sorted(users, order, isDescending)
          for (const limit of [1, 7, 59, 60, 1000]) {
            const base = query({ order, isDescending, limit })
            expect(await pages(database, base)).toEqual(expected)
          }
        })
      }
    }

    test('are each listed once, although others come and go meanwhile', async () => {
      await using database = await createDatabase(openStore)
      const users = await putAll(database, crowd(120))
      for (const order of USER_ORDERS) {
        for (const isDescending of [false, true]) {
          const expected = sorted(users, order, isDescending)
          const guests = crowd(40, 'guest')
          const seen: string[] = []
          let base = query({ order, isDescending, limit: 10 })
          for (;;) {
            const page = await database.read((tx) => listPage(tx, base))
            seen.push(...page.users.map(({ id }) => id))
            if (page.end === undefined) break
            base = { ...base, after: page.end }
            const last = page.users.at(-1)
            await database.write((tx) => {
              for (const guest of guests.splice(0, 2)) tx.users.put(guest)
              // The one that the next page begins after is gone, and a guest with it.
              if (last?.id.startsWith('guest')) tx.users.remove(last.id)
            })
          }
          expect(seen.filter((id) => !id.startsWith('guest'))).toEqual(expected)
          expect(new Set(seen).size).toBe(seen.length)
          await database.write((tx) => {
            for (let at = 0; at < 40; at += 1) tx.users.remove(`guest${at}`)
          })
        }
      }
    })

    test('are those of a type, the active or the others', async () => {
      await using database = await createDatabase(openStore)
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

  describe('users with much data', () => {
    test('come on more pages than they would otherwise', async () => {
      await using database = await createDatabase(openStore)
      const note = 'x'.repeat(60_000)
      await putAll(
        database,
        Array.from({ length: 150 }, (_, at) => user(`u${1_000 + at}`, { data: { note } })),
      )
      const seen: string[] = []
      let next: UserQuery | undefined = query({})
      let count = 0
      while (next !== undefined) {
        const asked: UserQuery = next
        const { users, end } = await database.read((tx) => listPage(tx, asked))
        expect(users.length).toBeGreaterThan(0)
        expect(users.length).toBeLessThan(100)
        seen.push(...users.map(({ id }) => id))
        next = end && { ...asked, after: end }
        count += 1
      }
      expect(count).toBeGreaterThan(1)
      expect(seen).toEqual(Array.from({ length: 150 }, (_, at) => `u${1_000 + at}`))
    })
  })

  describe('a search of users', () => {
    test('finds all parts of their texts, of any length', async () => {
      await using database = await createDatabase(openStore)
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

    test('finds no texts that have its parts elsewhere', async () => {
      await using database = await createDatabase(openStore)
      const letters = Array.from({ length: 90 }, (_, at) => (at * 7919 + 46656).toString(36))
      const long = letters.join('').slice(0, 256)
      await putAll(database, [
        user('defabc'),
        user('abc-def'),
        user('abc', { data: { email: 'def' } }),
      ])
      await putAll(database, [user(long)])
      const found = (search: string) => ids(database, { search })
      expect(await found('abcdef')).toEqual([])
      expect(await found('fab')).toEqual(['defabc'])
      for (const part of [long, long.slice(1), long.slice(5, -5)]) {
        expect(await found(part)).toEqual([long])
        expect(await found(`${part.slice(0, -1)}#`)).toEqual([])
        expect(await found(`#${part.slice(1)}`)).toEqual([])
      }
    })

    test('knows the texts of now', async () => {
      await using database = await createDatabase(openStore)
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
      await using database = await createDatabase(openStore)
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
