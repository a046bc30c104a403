import { describe, expect, test } from 'bun:test'
import { inEveryLife, memoryOf, type OpenStore, createDatabase, setupDatabase } from './fixture'
import { find, ids, listPage, putOne, query, user } from './user-fixture'
import { USER_ORDERS, type UserFields } from '../../src/domain/store/users'

/** Users: found by id, one life of it after the other. */
export function describeUsers(openStore: OpenStore): void {
  describe('a user', () => {
    test('is what was put, whole', async () => {
      await using database = await createDatabase(openStore)
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
      await using fixture = await setupDatabase(openStore)
      const data = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as UserFields['data']
      await fixture.database.write((tx) => tx.users.put(user('alice', { data })))
      const found = await find(fixture.database, 'alice')
      expect(JSON.stringify(found?.data)).toBe('{"__proto__":{"x":1},"constructor":2}')
    })

    test('is there in every life of the store, with its texts and its place in every order', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const alice = await putOne(database, user('alice', { data: { displayName: 'Wonder' } }))
      await putOne(database, user('bob'))
      await database.write((tx) => tx.users.remove('bob'))
      await database.write((tx) => tx.users.noteLogin('alice', 7, 7))
      await inEveryLife(fixture, async (again) => {
        expect(await find(again, 'alice')).toEqual({ ...alice, lastLogin: 7 })
        expect(await find(again, 'bob')).toBeUndefined()
        for (const order of USER_ORDERS) expect(await ids(again, { order })).toEqual(['alice'])
        expect(await ids(again, { search: 'onde' })).toEqual(['alice'])
        expect(await ids(again, { search: 'w' })).toEqual(['alice'])
        expect(await ids(again, { search: 'b' })).toEqual([])
      })
      // An ended incarnation is not used again, even after a restart.
      const reopened = await (await fixture.reopen()).open('main')
      expect((await putOne(reopened, user('bob'))).incarnation).toBeGreaterThan(
        alice.incarnation + 1,
      )
    })

    test('that is removed is a number in each copy from then on, until that is pruned', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const erasedIn = async () => {
        await using copy = await database.copy()
        return copy.erasedUsers(0, 10)
      }
      const [alice, bob] = [
        await putOne(database, user('alice', { created: 5 })),
        await putOne(database, user('bob', { created: 6 })),
      ]
      for (const { id } of [alice, bob]) await database.write((tx) => tx.users.remove(id))
      await database.write((tx) => tx.users.remove('nobody'))
      const lives = [alice, bob].map(({ incarnation, created }) => ({
        number: incarnation,
        created,
      }))
      expect(await erasedIn()).toEqual(lives)
      await using copy = await database.copy()
      expect(copy.erasedUsers(alice.incarnation, 10)).toEqual(lives.slice(1))
      expect(copy.erasedUsers(0, 1)).toEqual(lives.slice(0, 1))
      const now = fixture.clock.now()
      const prune = (before: number) => database.write((tx) => tx.prune('erasedUsers', before, 10))
      expect(await prune(now)).toBe(0)
      expect(await prune(now + 1)).toBe(2)
      expect(await erasedIn()).toEqual([])
    })

    test('is found by its whole address, as its data says it now', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const emails: Readonly<Record<string, unknown>> = {
        u1: ' Ädam@Example.com\t',
        u2: 'ädam@example.com',
        u3: 'b.ädam@example.com',
        u4: null,
        u5: '',
        u6: { email: 'ädam@example.com' },
        'ädam@example.com': 'ÄDAM@example.com',
      }
      for (const [id, email] of Object.entries(emails)) {
        await putOne(database, user(id, { data: { email } }))
      }
      await putOne(database, user('u7'))
      const found = async (email: string, limit = 10, again = database) =>
        (await again.read((tx) => tx.users.ofEmail(email, limit))).map(({ id }) => id)
      await inEveryLife(fixture, async (again) => {
        expect(await found('ädam@example.com', 10, again)).toEqual(['u1', 'u2'])
      })
      const reopened = await (await fixture.reopen()).open('main')
      const now = (email: string, limit?: number) => found(email, limit, reopened)
      expect(await now('ädam@example.com', 1)).toEqual(['u1'])
      expect(await now('adam@example.com')).toEqual([])
      expect(await now('Ädam@Example.com')).toEqual([])
      expect(await now('')).toEqual([])
      await putOne(reopened, user('u1', { data: { email: 'eve@example.com' } }))
      await putOne(reopened, user('u2', { data: null }))
      await reopened.write((tx) => tx.users.remove('u3'))
      expect(await now('ädam@example.com')).toEqual([])
      expect(await now('b.ädam@example.com')).toEqual([])
      expect(await now('eve@example.com')).toEqual(['u1'])
    })

    test('is found by its id letter by letter, and another one under every other', async () => {
      await using database = await createDatabase(openStore)
      const twins = ['é', 'e\u0301', 'E\u0301', 'Alice', 'alice', 'alice ', '1', '01', '👩', '用户']
      for (const id of twins) await putOne(database, user(id, { data: { of: id } }))
      for (const id of twins) expect((await find(database, id))?.data).toEqual({ of: id })
      expect(await ids(database, {})).toHaveLength(twins.length)
      for (const id of ['', 'a', 'ALICE', '%', '_'])
        expect(await find(database, id)).toBeUndefined()
    })

    test('is as it was before a part of the unit that failed', async () => {
      await using database = await createDatabase(openStore)
      await putOne(database, user('alice', { data: { displayName: 'Wonder' } }))
      await database.write((tx) => {
        const part = () =>
          tx.attempt(() => {
            tx.users.put(user('alice', { data: { displayName: 'Looking' } }))
            tx.users.put(user('bob'))
            tx.users.remove('alice')
            throw new Error('changed my mind')
          })
        expect(part).toThrow('changed my mind')
        expect(tx.users.find('alice')?.data).toEqual({ displayName: 'Wonder' })
        expect(tx.users.count({}, 5)).toBe(1)
      })
      expect(await ids(database, { search: 'wonder' })).toEqual(['alice'])
      expect(await ids(database, { search: 'look' })).toEqual([])
      expect(await ids(database, { search: 'b' })).toEqual([])
    })

    test('stays the same one while it changes, and is another one after it was removed', async () => {
      await using database = await createDatabase(openStore)
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
      await using database = await createDatabase(openStore)
      const unit = database.write((tx) => {
        tx.users.put(user('alice'))
        expect(listPage(tx, query({ search: 'alic' }))).toMatchObject({
          users: [{ id: 'alice' }],
        })
        expect(listPage(tx, query({ search: 'al' }))).toMatchObject({
          users: [{ id: 'alice' }],
        })
        throw new Error('changed my mind')
      })
      expect(await unit.catch(() => 'failed')).toBe('failed')
      expect(await ids(database, {})).toEqual([])
      expect(await ids(database, { search: 'alic' })).toEqual([])
      expect(await ids(database, { search: 'al' })).toEqual([])
    })

    test('creating, changing or deleting one ends what is remembered; a login does not', async () => {
      await using database = await createDatabase(openStore)
      const forgets = await memoryOf(database)
      await database.write((tx) => tx.users.put(user('alice')))
      expect(await forgets()).toBe(true)
      await database.write((tx) => tx.users.noteLogin('alice', 5_000, 5_000))
      expect(await forgets()).toBe(false)
      await database.write((tx) => tx.users.remove('alice'))
      expect(await forgets()).toBe(true)
      await database.write((tx) => tx.users.remove('alice'))
      expect(await forgets()).toBe(false)
    })

    test('has logged in when that was noted: last, and in this life', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => tx.users.put(user('alice', { created: 1_000 })))
      const lastLogin = async () => (await find(database, 'alice'))?.lastLogin
      const note = (id: string, at: number) =>
        database.write((tx) => tx.users.noteLogin(id, at, 9_999))
      await note('alice', 999)
      expect(await lastLogin()).toBeNull()
      await note('alice', 1_000)
      expect(await lastLogin()).toBe(1_000)
      await note('alice', 3_000)
      await note('alice', 2_000)
      await note('nobody', 2_000)
      expect(await lastLogin()).toBe(3_000)
      // Noted while the clock was ahead of 2,600.
      await database.write((tx) => tx.users.noteLogin('alice', 2_500, 2_600))
      expect(await lastLogin()).toBe(2_500)
      expect(await ids(database, {})).toEqual(['alice'])
    })
  })
}
