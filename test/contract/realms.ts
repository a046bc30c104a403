import { describe, expect, test } from 'bun:test'
import type { Membership } from '../../src/domain/store/memberships'
import type { Database } from '../../src/domain/store/store'
import { PUBLIC_REALM, PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import {
  declareIn,
  ensureRealm,
  eraseAll,
  find,
  fresh,
  inEveryLife,
  NOW,
  type OpenStore,
  createDatabase,
  setupDatabase,
} from './fixture'

/** Realm ids, their incarnations, and their members. */
export function describeRealms(openStore: OpenStore): void {
  describe('realms', () => {
    test('begin with the public one', async () => {
      await using database = await createDatabase(openStore)
      const realm = { ref: PUBLIC_REALM_REF, id: PUBLIC_REALM }
      expect(await database.read((tx) => tx.realms.find(PUBLIC_REALM))).toEqual(realm)
      expect(await database.read((tx) => tx.realms.findByRef(PUBLIC_REALM_REF))).toEqual(realm)
    })

    test('are created once, and are the same for units that share a commit', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      expect(await database.read((tx) => tx.realms.find('alice'))).toBeUndefined()
      const refs = await Promise.all(
        Array.from({ length: 5 }, () => ensureRealm(database, 'alice')),
      )
      expect(new Set(refs).size).toBe(1)
      const [ref = 0] = refs
      await inEveryLife(fixture, async (again) => {
        expect(await again.read((tx) => tx.realms.find('alice'))).toEqual({ ref, id: 'alice' })
        expect(await again.read((tx) => tx.realms.findByRef(ref))).toEqual({ ref, id: 'alice' })
        expect(await again.read((tx) => tx.realms.isRetired('alice'))).toBe(false)
      })
    })

    test('that a failed unit created do not exist, for anyone', async () => {
      await using database = await createDatabase(openStore)
      const failing = database.write((tx) => {
        tx.realms.ensure('alice')
        throw new Error('expected')
      })
      const next = database.write((tx) => tx.realms.find('alice'))
      await failing.catch(() => undefined)
      expect(await next).toBeUndefined()
      expect(await database.read((tx) => tx.realms.find('alice'))).toBeUndefined()
    })

    test('that are to be erased are gone at once, and retired', async () => {
      await using database = await createDatabase(openStore)
      const ref = await ensureRealm(database, 'rlm-a')
      await database.read((tx) => tx.realms.find('rlm-a'))
      await database.writeSteps(async (step) => {
        await step((tx) => {
          tx.realms.markErasing(ref)
          expect(tx.realms.find('rlm-a')).toBeUndefined()
          expect(tx.realms.findByRef(ref)).toBeUndefined()
          expect(tx.realms.isRetired('rlm-a')).toBe(true)
        })
        expect(await database.read((other) => other.realms.find('rlm-a'))).toBeDefined()
      })
      await database.read((tx) => {
        expect(tx.realms.find('rlm-a')).toBeUndefined()
        expect(tx.realms.findByRef(ref)).toBeUndefined()
        expect(tx.realms.isRetired('rlm-a')).toBe(true)
      })
      expect(await eraseAll(database, ref)).toBe(0)
      expect(await database.read((tx) => tx.realms.isRetired('rlm-a'))).toBe(true)
    })

    test('that live again have another ref, and the old rows do not come back', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const lives: number[] = []
      for (let life = 0; life < 3; life += 1) {
        const realm = await ensureRealm(database, 'rlm-a')
        expect(lives).not.toContain(realm)
        expect(await find(database, table, 'a')).toBeUndefined()
        lives.push(realm)
        await database.write((tx) => tx.objects.put(table, [fresh('a', { realm })], NOW))
        await database.write((tx) => tx.realms.markErasing(realm))
      }
      const alive = await ensureRealm(database, 'rlm-a')
      await database.write((tx) => tx.objects.put(table, [fresh('a', { realm: alive })], NOW))
      for (const life of lives) expect(await eraseAll(database, life)).toBe(1)
      expect(await find(database, table, 'a')).toMatchObject({ realm: alive })
      for (const life of lives) {
        await database.write((tx) => tx.realms.markErasing(life))
        expect(await eraseAll(database, life)).toBe(0)
      }
      expect(await database.read((tx) => tx.realms.find('rlm-a'))).toEqual({
        ref: alive,
        id: 'rlm-a',
      })
    })
  })

  describe('memberships', () => {
    test('are found by user, by realm, and by address while they have no user', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const alices = membership('members:1', { userId: 'alice', email: 'alice@example.com' })
      const bobs = membership('members:2', { email: 'bob@example.com', roles: ['doer'] })
      const seventh = membership('members:3', {
        userId: 'bob',
        realm: 7,
        permissions: { add: ['a'], update: { things: ['title'] } },
      })
      const owners = membership('realms:rlm-a', {
        userId: 'alice',
        accepted: true,
        permissions: { manage: '*' },
      })
      await database.write((tx) => {
        for (const one of [alices, bobs, seventh, owners]) tx.memberships.put(one)
      })
      await inEveryLife(fixture, (again) =>
        again.read(({ memberships: reader }) => {
          expect(sorted(reader.ofUser('alice', 100))).toEqual([alices, owners])
          expect(reader.ofUser('bob@example.com', 100)).toEqual([])
          const { permissions, roles } = owners
          expect(reader.ofSubject('alice', 'bob@example.com')).toEqual({
            accepted: [{ realm: owners.realm, permissions, roles }],
            open: [alices, bobs],
          })
          expect(reader.ofSubject(null, 'alice@example.com')).toEqual({ accepted: [], open: [] })
          expect(reader.ofSubject('bob@example.com', null)).toEqual({ accepted: [], open: [] })
          expect(reader.ofSubjectIn(null, 'bob@example.com', PUBLIC_REALM_REF)).toEqual([bobs])
          expect(reader.ofSubjectIn('alice', 'bob@example.com', PUBLIC_REALM_REF)).toEqual([
            ...sorted([alices, owners]),
            bobs,
          ])
          expect(reader.ofSubjectIn(null, 'bob@example.com', 7)).toEqual([])
          expect(reader.ofSubjectIn(null, 'alice@example.com', PUBLIC_REALM_REF)).toEqual([])
          expect(sorted(reader.ofRealm(PUBLIC_REALM_REF, '', 100))).toEqual([alices, bobs, owners])
          expect(reader.ofRealm(7, '', 100)).toEqual([seventh])
        }),
      )
    })

    test('are read in parts, in order of realm and source, of those who are in or of all', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const rows = Array.from({ length: 30 }, (_, at) =>
        membership(`members:${String((at * 7) % 30).padStart(2, '0')}`, {
          realm: 3 + (at % 2),
          userId: at % 5 === 0 ? 'alice' : `person${at}`,
          accepted: at % 3 > 0,
        }),
      )
      await database.write((tx) => {
        for (const row of rows) tx.memberships.put(row)
      })
      const inOrder = rows.toSorted((a, b) => a.realm - b.realm || (a.source < b.source ? -1 : 1))
      const third = inOrder.filter(({ realm }) => realm === 3)
      const members = third.filter(({ accepted }) => accepted)
      const hers = inOrder.filter(({ userId }) => userId === 'alice')
      expect(members.length).toBeGreaterThan(6)
      expect(hers.length).toBeGreaterThan(4)
      await inEveryLife(fixture, (again) =>
        again.read(({ memberships: reader }) => {
          expect(reader.ofUser('alice', 100)).toEqual(hers)
          expect(reader.ofUser('alice', 4)).toEqual(hers.slice(0, 4))
          expect(reader.ofUser('alice', 2, hers[1])).toEqual(hers.slice(2, 4))
          expect(reader.ofUser('alice', 4, hers.at(-1))).toEqual([])
          expect(reader.ofSubjectIn('alice', null, 3)).toEqual(
            hers.filter(({ realm }) => realm === 3),
          )
          expect(reader.ofSubjectIn('bob', null, 3)).toEqual([])
          expect(reader.ofRealm(3, '', 100)).toEqual(third)
          expect(reader.ofRealm(3, '', 5)).toEqual(third.slice(0, 5))
          expect(reader.ofRealm(3, '', 100, true)).toEqual(members)
          expect(reader.ofRealm(3, '', 4, true)).toEqual(members.slice(0, 4))
          const after = members[3]?.source ?? ''
          expect(reader.ofRealm(3, after, 2, true)).toEqual(members.slice(4, 6))
          expect(reader.ofRealm(3, members.at(-1)?.source ?? '', 2, true)).toEqual([])
          expect(reader.ofRealm(7, '', 2, true)).toEqual([])
        }),
      )
    })

    test('show each different pair of rights in a realm once', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const kinds: Pick<Membership, 'permissions' | 'roles'>[] = [
        { permissions: {}, roles: [] },
        { permissions: {}, roles: ['doer'] },
        { permissions: { manage: '*' }, roles: ['doer'] },
        { permissions: { update: { things: ['title'] } }, roles: ['a', 'b'] },
      ]
      const rows = Array.from({ length: 40 }, (_, at) =>
        membership(`members:${at}`, {
          realm: 3 + (at % 2),
          accepted: at % 5 > 0,
          ...(kinds[at % 4] ?? kinds[0]!),
        }),
      )
      await database.write((tx) => {
        for (const row of rows) tx.memberships.put(row)
      })
      const expected = (realm: number, accepted: boolean) =>
        new Set(
          rows
            .filter((row) => row.realm === realm && row.accepted === accepted)
            .map(({ permissions, roles }) => JSON.stringify([permissions, roles])),
        )
      await inEveryLife(fixture, (again) =>
        again.read(({ memberships: reader }) => {
          for (const [realm, accepted] of [
            [3, true],
            [3, false],
            [4, true],
            [9, true],
          ] as const) {
            const found: string[] = []
            for (let after = ''; ;) {
              const rights = reader.nextRights(realm, accepted, after)
              if (rights === undefined) break
              found.push(JSON.stringify([rights.permissions, rights.roles]))
              after = rights.cursor
            }
            expect(found).toHaveLength(expected(realm, accepted).size)
            expect(new Set(found)).toEqual(expected(realm, accepted))
          }
        }),
      )
    })

    test('are replaced by their source and removed one by one or with their realm', async () => {
      await using database = await createDatabase(openStore)
      const invited = membership('members:1', { email: 'a@example.com' })
      const accepted = membership('members:1', { userId: 'a', accepted: true })
      await database.write((tx) => tx.memberships.put(invited))
      await database.write((tx) => tx.memberships.put(accepted))
      await database.write((tx) => tx.memberships.put(membership('members:2', { userId: 'b' })))
      await database.write((tx) => tx.memberships.put(membership('members:3', { realm: 7 })))
      expect(
        await database.read((tx) => tx.memberships.ofSubject(null, 'a@example.com').open),
      ).toEqual([])
      expect(await database.read((tx) => tx.memberships.ofUser('a', 100))).toEqual([accepted])
      await database.write((tx) => tx.memberships.remove('members:1'))
      expect(await database.read((tx) => tx.memberships.ofUser('a', 100))).toEqual([])
      await database.write((tx) => tx.memberships.removeOfRealm(PUBLIC_REALM_REF))
      expect(
        await database.read((tx) => tx.memberships.ofRealm(PUBLIC_REALM_REF, '', 100)),
      ).toEqual([])
      expect(await database.read((tx) => tx.memberships.ofRealm(7, '', 100))).toHaveLength(1)
    })

    test('are remembered by key for the user or address whose they were, with the history', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database, clock } = fixture
      const realm = await ensureRealm(database, 'rlm-a')
      const put = (...given: readonly Membership[]) =>
        database.write((tx) => {
          for (const one of given) tx.memberships.put(one)
        })
      const own = { userId: 'a', realm }
      const address = { email: 'a@example.com', realm }
      await put(
        membership('members:1', own),
        membership('members:2', own),
        membership('members:3', address),
        membership('members:4', own),
        membership('realms:5', own),
        membership('members:6', { userId: 'a', realm: 7 }),
      )
      const formerOf = (of: Database, id: string, email: string | null) =>
        of.read((tx) => {
          const keys: string[] = []
          for (const key of ['1', '2', '3', '4', '5', '6']) {
            if (tx.memberships.hadMemberRow(id, email, key)) keys.push(key)
          }
          return keys
        })
      const former = (of: Database) => formerOf(of, 'a', 'a@example.com')
      expect(await former(database)).toEqual([])
      await put(
        membership('members:1', { ...own, roles: ['doer'] }),
        membership('members:2', { userId: 'b', realm }),
        membership('members:3', { userId: 'a', email: 'a@example.com', realm }),
      )
      const lost = await database.write((tx) => {
        for (const source of ['members:4', 'realms:5']) tx.memberships.remove(source)
        tx.memberships.removeOfRealm(7)
        return tx.unitRevision()
      })
      await inEveryLife(fixture, async (again) => {
        expect(await former(again)).toEqual(['2', '3', '4'])
        expect(await formerOf(again, 'a', null)).toEqual(['2', '4'])
        expect(await formerOf(again, 'b', null)).toEqual([])
      })
      const reopened = await (await fixture.crash()).open('main')
      const forget = (subject: string, limit: number) =>
        reopened.write((tx) => tx.memberships.forgetFormer(subject, limit))
      expect(await forget('a@example.com', 5)).toBe(1)
      expect(await former(reopened)).toEqual(['2', '4'])
      const prune = (before: number) => reopened.write((tx) => tx.prune('history', before, 5))
      expect(await prune(clock.now())).toBe(0)
      expect(await reopened.read((tx) => tx.runs.oldest())).toBe(0)
      clock.advance(1)
      await reopened.write((tx) => tx.memberships.put(membership('members:1', { realm })))
      // The others are from before.
      expect(await prune(clock.now())).toBe(2)
      expect(await former(reopened)).toEqual(['1'])
      expect(await reopened.read((tx) => tx.runs.oldest())).toBe(lost)
      for (const key of ['3', '4']) {
        await reopened.write((tx) => {
          tx.memberships.put(membership(`members:${key}`, own))
          tx.memberships.remove(`members:${key}`)
        })
      }
      expect(await forget('a', 2)).toBe(2)
      expect(await former(reopened)).toHaveLength(1)
      await reopened.write((tx) => tx.realms.markErasing(realm))
      expect(await eraseAll(reopened, realm)).toBe(1)
      expect(await former(reopened)).toEqual([])
    })
  })
}

function membership(source: string, changes: Partial<Membership>): Membership {
  const base = { source, realm: PUBLIC_REALM_REF, userId: null, email: null }
  return { ...base, accepted: false, rejected: false, permissions: {}, roles: [], ...changes }
}

function sorted(memberships: readonly Membership[]): Membership[] {
  return memberships.toSorted((one, other) => (one.source < other.source ? -1 : 1))
}
