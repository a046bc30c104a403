import { describe, expect, test } from 'bun:test'
import { PUBLIC_REALM_REF } from '../../src/domain/store/realms'
import type { Membership } from '../../src/domain/store/memberships'
import type { Commit, CommitUnit, Database, WriteTx } from '../../src/domain/store/store'
import { requireTable } from '../../src/domain/object/tables'
import { code } from './codes'
import {
  declareIn,
  ensureRealm,
  find,
  fresh,
  insert,
  NOW,
  type OpenStore,
  remove,
  createDatabase,
  update,
} from './fixture'
import { user } from './user-fixture'

/** `onCommit`: one announcement for each commit that has a listener. */
export function describeCommits(openStore: OpenStore): void {
  describe('announcements', () => {
    test('have each unit with its revision, the realms and tables that changed, and its writer', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      const writer = { programPart: 'browser 1', subject: 'alice', client: 1 }
      using heard = listen(database)
      await insert(database, table, 'a')
      const { revision } = (await find(database, table, 'a')) ?? { revision: 0 }
      await database.write((tx) => update(tx, table, 'a', { realm }), writer)
      await database.write((tx) => remove(tx, table, 'a'), { programPart: null })
      const nobody = { programPart: null, subject: null, client: null }
      const unit = { tables: ['things'], subjects: [], records: [], ...nobody }
      expect(heard.units).toEqual([
        { ...unit, revision, realms: [PUBLIC_REALM_REF] },
        {
          ...unit,
          revision: revision + 1,
          realms: [PUBLIC_REALM_REF, realm],
          ...writer,
        },
        { ...unit, revision: revision + 2, realms: [realm] },
      ])
      expect(heard.commits).toMatchObject(
        [0, 1, 2].map((n) => ({
          database: 'main',
          revision: revision + n,
          jobs: false,
          mails: false,
          leftFiles: [],
        })),
      )
    })

    test('are plain JSON', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      using heard = listen(database)
      await insert(database, table, 'a', 'b')
      await database.write((tx) => tx.users.put(user('alice')))
      expect(JSON.parse(JSON.stringify(heard.commits))).toStrictEqual(heard.commits)
    })

    test('list each realm, table and subject of a unit once', async () => {
      await using database = await createDatabase(openStore)
      const [things, others] = [
        await declareIn(database, 'things'),
        await declareIn(database, 'others'),
      ]
      const realm = await ensureRealm(database, 'rlm-a')
      using heard = listen(database)
      await database.write((tx) => {
        for (const key of ['a', 'b', 'c']) {
          tx.objects.put(things, [fresh(key)], NOW)
          tx.objects.put(others, [fresh(key, { realm })], NOW)
          tx.users.put(user('alice', { created: NOW }))
        }
      })
      expect(heard.units).toMatchObject([
        {
          realms: [PUBLIC_REALM_REF, realm],
          tables: ['others', 'things'],
          subjects: ['alice'],
        },
      ])
    })

    test.each(RIGHTS)('name the subjects of %s', async (_, change, ...subjects) => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => {
        const { ref: realm } = tx.realms.ensure('rlm-a')
        expect(realm).toBe(REALM)
        tx.memberships.put(membership('members:bob', { userId: 'bob', email: 'b@x.org' }))
        tx.memberships.put(membership('members:invited', { email: 'invited@x.org' }))
        tx.users.put(user('bob'))
      })
      const before = await database.read((tx) => tx.revision())
      using heard = listen(database)
      await database.write(change)
      expect(heard.units).toMatchObject([{ revision: before + 1, subjects: subjects }])
    })

    test.each(RECORDS)('name %s', async (_, change, ...records) => {
      await using database = await createDatabase(openStore)
      using heard = listen(database)
      await database.write(change)
      expect(heard.units).toMatchObject([{ realms: [], tables: [], subjects: [], records }])
    })

    test('name no record where rows were changed by hand, but everything', async () => {
      await using database = await createDatabase(openStore)
      using heard = listen(database)
      for await (const { faults } of database.verify(() => undefined, true)) {
        expect(faults).toEqual([])
      }
      for (const unit of heard.units) expect(unit).toMatchObject({ records: ['everything'] })
      expect(heard.units).not.toEqual([])
    })

    test('name no record of a part that was undone', async () => {
      await using database = await createDatabase(openStore)
      using heard = listen(database)
      await database.write((tx) => {
        tx.origins.put({ id: 'https://a.example', created: NOW })
        const failing = () => {
          tx.logins.revoke('l1', NOW)
          throw new Error('undone')
        }
        expect(() => tx.attempt(failing)).toThrow('undone')
      })
      expect(heard.units).toMatchObject([{ records: ['origins https://a.example'] }])
    })

    test('name the realm of a role instead of its members', async () => {
      await using database = await createDatabase(openStore)
      const realm = await ensureRealm(database, 'rlm-a')
      const roles = await database.read((tx) => requireTable(tx, 'roles'))
      const named = { userId: 'bob', realm, roles: ['boss'] }
      await database.write((tx) => tx.memberships.put(membership('members:bob', named)))
      using heard = listen(database)
      await database.write((tx) =>
        tx.objects.put(roles, [fresh('["rlm-a","boss"]', { realm })], NOW),
      )
      expect(heard.units).toMatchObject([{ realms: [realm], tables: ['roles'], subjects: [] }])
    })

    test('name nobody whose membership is stored again as it is', async () => {
      await using database = await createDatabase(openStore)
      await ensureRealm(database, 'rlm-a')
      const bobs = membership('members:bob', { userId: 'bob', permissions: { add: ['a'] } })
      await database.write((tx) => tx.memberships.put(bobs))
      const members = await database.read((tx) => requireTable(tx, 'members'))
      using heard = listen(database)
      await database.write((tx) => {
        tx.objects.put(members, [fresh('bob', { realm: REALM })], NOW)
        tx.memberships.put(structuredClone(bobs))
      })
      expect(heard.units).toMatchObject([{ realms: [REALM], tables: ['members'], subjects: [] }])
      await database.write((tx) => tx.memberships.put(bobs))
      expect(heard.units).toHaveLength(1)
    })

    test('report that a realm was created or is to be erased', async () => {
      await using database = await createDatabase(openStore)
      using heard = listen(database)
      const realm = await ensureRealm(database, 'rlm-a')
      await ensureRealm(database, 'rlm-a')
      await database.write((tx) => tx.realms.markErasing(realm))
      await database.write((tx) => tx.realms.markErasing(realm))
      expect(heard.units.map(({ realms }) => realms)).toEqual([[realm], [realm]])
    })

    test('tell that a job was put down, moved on or ended', async () => {
      await using database = await createDatabase(openStore)
      using heard = listen(database)
      const job = {
        id: 'erase-1',
        kind: 'erase',
        state: {},
        done: 0,
        total: null,
        created: NOW,
        failure: null,
      } as const
      await database.write((tx) => tx.jobs.put(job))
      await database.write((tx) => tx.jobs.put({ ...job, done: 1 }))
      await database.write((tx) => tx.jobs.remove(job.id))
      await database.write((tx) => tx.jobs.remove(job.id))
      expect(heard.commits.map(({ jobs, units }) => ({ jobs, units }))).toEqual(
        Array.from({ length: 3 }, () => ({ jobs: true, units: [] })),
      )
    })

    test('come once for a commit, however many units share it, and none is left out', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      using heard = listen(database)
      const keys = Array.from({ length: 100 }, (_, n) => `k${n}`)
      await Promise.all(keys.map((key) => insert(database, table, key)))
      const revisions = heard.commits.map(({ revision }) => revision)
      expect(revisions.length).toBeWithin(1, 51)
      const units = heard.units.map(({ revision }) => revision)
      expect(units).toEqual(Array.from({ length: 100 }, (_, n) => units[0]! + n))
      expect(
        heard.commits.every(({ revision, units }) => units.at(-1)?.revision === revision),
      ).toBe(true)
      expect(new Set(revisions).size).toBe(revisions.length)
      expect(revisions.toSorted((one, other) => one - other)).toEqual(revisions)
      expect(revisions.at(-1)).toBe(await database.read((tx) => tx.revision()))
    })

    test('do not come for units that changed nothing which is announced', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      using heard = listen(database)
      await database.write((tx) => tx.codes.put(code('a')))
      await database.write((tx) => tx.objects.count(table, 1_000_000))
      await database.write((tx) => tx.newId('x', 'rlm-public'))
      expect(heard.commits).toEqual([])
    })

    test('leave out what a unit or a part did that failed', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      using heard = listen(database)
      const put = (tx: WriteTx, key: string) => tx.objects.put(table, [fresh(key, { realm })], NOW)
      const failing = database.write((tx) => {
        put(tx, 'a')
        tx.jobs.remove('none')
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(heard.commits).toEqual([])
      await database.write((tx) => {
        tx.objects.put(table, [fresh('b')], NOW)
        const part = () =>
          tx.attempt(() => {
            put(tx, 'a')
            throw new Error('expected')
          })
        expect(part).toThrow()
      })
      expect(heard.units.map(({ realms }) => realms)).toEqual([[PUBLIC_REALM_REF]])
    })

    test('come when the change can be read, and before the unit is answered', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const reads: Promise<boolean>[] = []
      let isAnswered = false
      using _ = stopping(
        database.onCommit(({ revision }) => {
          expect(isAnswered).toBe(false)
          reads.push(database.read((tx) => tx.revision() >= revision))
        }),
      )
      await insert(database, table, 'a').finally(() => {
        isAnswered = true
      })
      expect(await Promise.all(reads)).toEqual([true])
    })

    test('are told again to those who missed them', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const before = await database.read((tx) => tx.revision())
      using heard = listen(database)
      expect(await database.commitsAfter(before)).toEqual([])
      await Promise.all(['a', 'b', 'c'].map((key) => insert(database, table, key)))
      await insert(database, table, 'd')
      expect(await database.commitsAfter(before)).toEqual([...heard.commits])
      for (const { revision } of heard.units) {
        const commits = (await database.commitsAfter(revision)) ?? []
        const later = heard.units.filter((unit) => unit.revision > revision)
        expect(commits.flatMap(({ units }) => units)).toEqual(later)
      }
      expect(await database.commitsAfter(before + 1_000)).toEqual([])
    })

    test('are told again in full, or not at all', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const start = await database.read((tx) => tx.revision())
      using heard = listen(database)
      for (let round = 0; round < 10; round += 1) {
        const keys = Array.from({ length: 500 }, (_, n) => `${round} ${n}`)
        await Promise.all(keys.map((key) => insert(database, table, key)))
      }
      const end = await database.read((tx) => tx.revision())
      expect(heard.units).toHaveLength(5_000)
      for (let revision = start; revision <= end; revision += 100) {
        const commits = await database.commitsAfter(revision)
        if (commits === undefined) continue
        const later = heard.units.filter((unit) => unit.revision > revision)
        expect(commits.flatMap(({ units }) => units)).toEqual(later)
      }
      expect(await database.commitsAfter(end)).toEqual([])
    })

    test('stop for a listener that is done, and reach the others when one throws', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const stopThrowing = database.onCommit(() => {
        throw new Error('a listener of the contract suite')
      })
      const heard = listen(database)
      await insert(database, table, 'a')
      await insert(database, table, 'b')
      expect(heard.commits).toHaveLength(2)
      stopThrowing()
      heard[Symbol.dispose]()
      await insert(database, table, 'c')
      expect(heard.commits).toHaveLength(2)
    })
  })
}

interface Heard extends Disposable {
  readonly commits: readonly Commit[]
  /** Of all commits, their lists sorted. */
  readonly units: readonly CommitUnit[]
}

function listen(database: Database): Heard {
  const commits: Commit[] = []
  return {
    commits,
    get units() {
      return commits.flatMap(({ units }) => units.map(sorted))
    },
    ...stopping(database.onCommit((commit) => commits.push(commit))),
  }
}

function sorted(unit: CommitUnit): CommitUnit {
  return {
    ...unit,
    realms: unit.realms.toSorted((one, other) => one - other),
    tables: unit.tables.toSorted(),
    subjects: unit.subjects.toSorted(),
    records: unit.records.toSorted(),
  }
}

/** The first realm of a database after the public one. */
const REALM = PUBLIC_REALM_REF + 1

/** Changes of policy, and who is concerned. */
const RIGHTS: [string, (tx: WriteTx) => unknown, ...string[]][] = [
  ['a new user', (tx) => tx.users.put(user('alice')), 'alice'],
  ['a changed user', (tx) => tx.users.put(user('bob', { deactivated: NOW })), 'bob'],
  ['a removed user', (tx) => tx.users.remove('bob'), 'bob'],
  ['a private realm', (tx) => tx.realms.ensure('alice'), 'alice'],
  ['a shared realm', (tx) => tx.realms.ensure('rlm-b')],
  [
    'a new member',
    (tx) => tx.memberships.put(membership('members:alice', { userId: 'alice' })),
    'alice',
  ],
  [
    'an invitation that is accepted',
    (tx) => tx.memberships.put(membership('members:invited', { userId: 'alice' })),
    'alice',
    'invited@x.org',
  ],
  ['a member who leaves', (tx) => tx.memberships.remove('members:bob'), 'bob'],
  ['a realm whose members go', (tx) => tx.memberships.removeOfRealm(REALM), 'bob', 'invited@x.org'],
  ['an origin', (tx) => tx.origins.put({ id: 'https://a.example', created: NOW })],
]

/** Changes of policy that are no one's rights, and the records that they change. */
const RECORDS: [string, (tx: WriteTx) => unknown, ...string[]][] = [
  [
    'an origin',
    (tx) => tx.origins.put({ id: 'https://a.example', created: NOW }),
    'origins https://a.example',
  ],
  ['a login that is revoked', (tx) => tx.logins.revoke('l1', NOW), 'logins l1'],
]

function membership(source: string, changes: Partial<Membership>): Membership {
  return {
    source,
    realm: REALM,
    userId: null,
    email: null,
    accepted: true,
    rejected: false,
    permissions: {},
    roles: [],
    ...changes,
  }
}

function stopping(stop: () => void): Disposable {
  return { [Symbol.dispose]: stop }
}
