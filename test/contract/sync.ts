import { FIXED_LIMITS } from '../../src/domain/value/fixed-limits'
import { describe, expect, test } from 'bun:test'
import { SatchelError } from '../../src/domain/value/error'
import type { Database } from '../../src/domain/store/store'
import type { CriteriaOperation } from '../../src/domain/store/sync'
import {
  declareIn,
  ensureRealm,
  inEveryLife,
  NOW,
  type OpenStore,
  refusalOf,
  createDatabase,
  setupDatabase,
} from './fixture'

/** An operation of Alice that deletes everything. */
const REJECTION = { name: 'NOT_AUTHORIZED', message: 'no' }

export function criteriaOperation(
  client: number,
  changes: Partial<CriteriaOperation> = {},
): Omit<CriteriaOperation, 'revision' | 'position'> {
  return {
    client,
    subject: 'alice',
    email: null,
    kind: 'delete',
    criteria: '{"range":{"type":3}}',
    change: null,
    ts: NOW,
    base: null,
    ...changes,
  }
}

/** The clients that sync, their transactions and their operations with criteria. */
export function describeSync(openStore: OpenStore): void {
  describe('sync clients', () => {
    test('are found by their user and identity, and keep what they declare', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const made = await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW))
      expect(made).toEqual({
        number: expect.any(Number),
        identity: 'one',
        subject: 'alice',
        tables: [],
        texts: '',
        floor: 0,
        rejected: 0,
        privates: 0,
        seen: NOW,
      })
      const same = await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW + 5))
      expect(same).toEqual(made)
      const tables = ['things', 'a"b']
      const texts = '[["things",["doc"]]]'
      const changed = { ...made, tables, texts, floor: 7, privates: 3, seen: NOW + 9 }
      await database.write((tx) => tx.syncClients.put(changed))
      await inEveryLife(fixture, async (again) => {
        const find = (subject: string, identity: string) =>
          again.read((tx) => tx.syncClients.find(subject, identity))
        expect(await find('alice', 'one')).toEqual(changed)
        expect(await find('bob', 'one')).toBeUndefined()
        expect(await find('alice', 'two')).toBeUndefined()
      })
    })

    test('are listed in pages, all of them or those of a user', async () => {
      await using database = await createDatabase(openStore)
      const made = await database.write((tx) =>
        ['alice', 'bob', 'alice', 'alice'].map((subject, n) =>
          tx.syncClients.ensure(subject, `c${n}`, NOW + n),
        ),
      )
      const list = (after: number, limit: number, subject?: string) =>
        database.read((tx) => tx.syncClients.list(after, limit, subject))
      expect(await list(0, 10)).toEqual(made)
      expect(await list(0, 2)).toEqual(made.slice(0, 2))
      expect(await list(made[1]?.number ?? 0, 1)).toEqual(made.slice(2, 3))
      const own = made.filter(({ subject }) => subject === 'alice')
      expect(await list(0, 2, 'alice')).toEqual(own.slice(0, 2))
      expect(await list(own[0]?.number ?? 0, 10, 'alice')).toEqual(own.slice(1))
      expect(await list(0, 10, 'carl')).toEqual([])
    })

    test('are a hundred for each user: those that were seen longest ago are forgotten', async () => {
      await using database = await createDatabase(openStore)
      const { most } = FIXED_LIMITS.userClients
      const seen = async (identity: string) =>
        (await database.read((tx) => tx.syncClients.find('alice', identity)))?.seen
      await database.write((tx) => {
        tx.syncClients.ensure('bob', 'c0', NOW)
        for (let n = 0; n < most; n += 1) tx.syncClients.ensure('alice', `c${n}`, NOW + n)
        const first = tx.syncClients.ensure('alice', 'c0', NOW)
        tx.syncClients.put({ ...first, seen: NOW + 1_000 })
      })
      expect(await seen('c1')).toBe(NOW + 1)
      await database.write((tx) => tx.syncClients.ensure('alice', 'new', NOW + 2_000))
      expect(await seen('c1')).toBeUndefined()
      expect([await seen('c0'), await seen('c2'), await seen('new')]).toEqual([
        NOW + 1_000,
        NOW + 2,
        NOW + 2_000,
      ])
      await database.write((tx) => {
        for (let n = 0; n < 1_000; n += 1) tx.syncClients.ensure('alice', `x${n}`, NOW + 3_000)
      })
      const kept = await Promise.all(Array.from({ length: 1_000 }, (_, n) => seen(`x${n}`)))
      expect(kept.filter((time) => time !== undefined)).toHaveLength(most)
      expect(await database.read((tx) => tx.syncClients.find('bob', 'c0'))).toBeDefined()
    })

    test('whose transaction is rejected, or who get private rows, have a revision of it that nobody else has', async () => {
      await using database = await createDatabase(openStore)
      const { number } = await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW))
      const before = await database.read((tx) => tx.revision())
      await database.write((tx) => tx.syncClients.noteCorrection(number))
      const client = await database.read((tx) => tx.syncClients.find('alice', 'one'))
      expect(client).toMatchObject({ rejected: before + 1, privates: 0 })
      await database.write((tx) => tx.syncClients.notePrivates(number))
      const noted = await database.read((tx) => tx.syncClients.find('alice', 'one'))
      expect(noted).toMatchObject({ rejected: before + 1, privates: before + 2 })
      expect(await database.read((tx) => tx.revision())).toBe(before + 2)
    })

    test('are remembered until they change', async () => {
      await using database = await createDatabase(openStore)
      const remembered = () =>
        database.read((tx) =>
          tx.remember('the client', () => ({ client: tx.syncClients.find('alice', 'one') })),
        )
      const look = async () => (await remembered()).client
      expect(await look()).toBeUndefined()
      const made = await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW))
      const { number } = made
      expect(await look()).toEqual(made)
      await database.write((tx) => tx.syncClients.put({ ...made, tables: ['things'] }))
      expect(await look()).toMatchObject({ tables: ['things'] })
      await database.write((tx) => tx.syncClients.put({ ...made, floor: 5 }))
      expect(await look()).toMatchObject({ floor: 5 })
      await database.write((tx) => tx.syncClients.noteCorrection(number))
      expect(await look()).toMatchObject({ rejected: await database.read((tx) => tx.revision()) })
      await database.write((tx) => tx.syncClients.removeOfSubject('alice'))
      expect(await look()).toBeUndefined()
      await database.write((tx) => tx.syncClients.ensure('alice', 'one', NOW))
      expect(await look()).toBeDefined()
      await database.write((tx) => tx.prune('syncClients', NOW + 1, 1))
      expect(await look()).toBeUndefined()
      expect(await remembered()).toBe(await remembered())
    })

    test('that are not seen for long are removed with their transactions', async () => {
      await using database = await createDatabase(openStore)
      const old = await database.write((tx) => {
        for (const [identity, seen] of [
          ['old', NOW - 10],
          ['new', NOW],
        ] as const) {
          const { number } = tx.syncClients.ensure('alice', identity, seen)
          tx.applied.put(number, `tx-${identity}`, seen)
        }
        return tx.syncClients.ensure('alice', 'old', NOW).number
      })
      expect(await database.write((tx) => tx.prune('syncClients', NOW, 10))).toBe(1)
      expect(await database.write((tx) => tx.prune('syncClients', NOW, 10))).toBe(0)
      await database.read((tx) => {
        expect(tx.syncClients.find('alice', 'old')).toBeUndefined()
        expect(tx.syncClients.find('alice', 'new')).toBeDefined()
        expect(tx.applied.find(old, 'tx-old')).toBeUndefined()
        expect(tx.applied.findOfUser('alice', 'tx-new')).toBeDefined()
      })
    })

    test('of a user go with their transactions and operations', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const table = await declareIn(database, 'things')
      const alice = await database.write((tx) => {
        for (const subject of ['alice', 'bob']) {
          const { number } = tx.syncClients.ensure(subject, 'one', NOW)
          tx.applied.put(number, 'txid', NOW)
          tx.criteriaOps.put(table.number, criteriaOperation(number, { subject }), NOW, 10)
        }
        const { number } = tx.syncClients.ensure('alice', 'one', NOW)
        tx.syncClients.removeOfSubject('alice')
        return number
      })
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          expect(tx.syncClients.find('alice', 'one')).toBeUndefined()
          expect(tx.applied.find(alice, 'txid')).toBeUndefined()
          expect(tx.applied.findOfUser('bob', 'txid')).toBeDefined()
          const left = (subject: string) =>
            tx.criteriaOps.list(table.number, { subject }, 0, 10).length
          expect([left('alice'), left('bob')]).toEqual([0, 1])
        }),
      )
    })
  })

  describe('transactions of clients', () => {
    test('are known by their client and id, in the commit that executes them', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const revision = await database.write((tx) => {
        const { ref } = tx.realms.ensure('rlm-a')
        expect(ref).toBeDefined()
        tx.applied.put(3, 'txid', NOW)
        tx.applied.put(3, 'rejected', NOW, { rejection: REJECTION })
        return tx.unitRevision()
      })
      const failing = database.write((tx) => {
        tx.applied.put(3, 'undone', NOW)
        throw new SatchelError('CONFLICT', 'no')
      })
      expect(await refusalOf(failing)).toBe('CONFLICT')
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          const noted = { client: 3, revision, steps: null }
          expect(tx.applied.find(3, 'txid')).toEqual({ ...noted, rejection: null })
          const rejected = tx.applied.find(3, 'rejected')
          expect(rejected).toEqual({ ...noted, rejection: REJECTION })
          expect(tx.applied.find(4, 'txid')).toBeUndefined()
          expect(tx.applied.find(3, 'undone')).toBeUndefined()
        }),
      )
    })

    test('are found by their user too', async () => {
      await using fixture = await setupDatabase(openStore)
      const number = await fixture.database.write((tx) => {
        tx.syncClients.ensure('alice', 'other', NOW)
        const client = tx.syncClients.ensure('alice', 'one', NOW)
        tx.applied.put(client.number, 'txid', NOW)
        return client.number
      })
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          expect(tx.applied.findOfUser('alice', 'txid')).toMatchObject({ client: number })
          expect(tx.applied.findOfUser('bob', 'txid')).toBeUndefined()
          expect(tx.applied.findOfUser('alice', 'other')).toBeUndefined()
        }),
      )
    })

    test('are executed in steps, whose keys are kept until they are removed or forgotten', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const step = (txid: string, steps: number) =>
        database.write((tx) => {
          tx.applied.putKeys(3, txid, steps, [`${txid}${steps}`, '"'])
          tx.applied.put(3, txid, NOW - 1, { steps })
        })
      await step('one', 0)
      await step('one', 1)
      await step('two', 0)
      const keysOf = (again: Database, txid: string, number: number) =>
        again.read((tx) => tx.applied.keysOf(3, txid, number))
      await inEveryLife(fixture, async (again) => {
        expect(await again.read((tx) => tx.applied.find(3, 'one'))).toMatchObject({
          steps: 1,
        })
        expect(await keysOf(again, 'one', 0)).toEqual(['one0', '"'])
        expect(await keysOf(again, 'one', 1)).toEqual(['one1', '"'])
        expect(await keysOf(again, 'one', 2)).toBeUndefined()
      })
      const reopened = await (await fixture.reopen()).open('main')
      await reopened.write((tx) => tx.applied.removeKeys(3, 'one'))
      expect(await keysOf(reopened, 'one', 0)).toBeUndefined()
      expect(await keysOf(reopened, 'two', 0)).toEqual(['two0', '"'])
      await reopened.write((tx) => tx.applied.prune(3, NOW, new Set()))
      expect(await keysOf(reopened, 'two', 0)).toBeUndefined()
    })

    test('are forgotten when they are old, of one client, and not named', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => {
        for (let n = 0; n < 600; n += 1) tx.applied.put(1, `old${n}`, NOW - 1)
        tx.applied.put(1, 'named', NOW - 1)
        tx.applied.put(1, 'recent', NOW)
        tx.applied.put(2, 'other', NOW - 1)
      })
      await database.write((tx) => tx.applied.prune(1, NOW, new Set(['named'])))
      await database.read((tx) => {
        for (let n = 0; n < 600; n += 1) {
          expect(tx.applied.find(1, `old${n}`)).toBeUndefined()
        }
        for (const txid of ['named', 'recent']) expect(tx.applied.find(1, txid)).toBeDefined()
        expect(tx.applied.find(2, 'other')).toBeDefined()
      })
    })
  })

  describe('operations with criteria', () => {
    const named = (text: string, changes: Partial<CriteriaOperation> = {}) =>
      criteriaOperation(1, { kind: 'modify', change: '{}', criteria: text, ...changes })
    const texts = (operations: readonly CriteriaOperation[]) =>
      operations.map(({ criteria }) => criteria)

    test('are listed by user and table after a revision, in order, the last ones', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const things = await declareIn(database, 'things')
      const others = await declareIn(database, 'others')
      const [first, places] = await database.write((tx) => {
        const made = [
          tx.criteriaOps.put(things.number, named('"a"'), NOW, 10),
          tx.criteriaOps.put(others.number, named('"b"'), NOW, 10),
          tx.criteriaOps.put(things.number, named('"c"', { subject: 'bob' }), NOW, 10),
        ]
        return [tx.unitRevision(), made] as const
      })
      expect(places.map(({ revision }) => revision)).toEqual([first, first, first])
      const operation = named('"d"', { base: first })
      await database.write((tx) => tx.criteriaOps.put(things.number, operation, NOW, 10))
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          const since = (table: number, subject: string, revision: number, limit = 10) =>
            texts(tx.criteriaOps.list(table, { subject }, revision, limit))
          expect(since(things.number, 'alice', 0)).toEqual(['"a"', '"d"'])
          expect(since(things.number, 'alice', 0, 1)).toEqual(['"d"'])
          expect(since(things.number, 'bob', 0)).toEqual(['"c"'])
          expect(since(others.number, 'alice', 0)).toEqual(['"b"'])
          const [last] = tx.criteriaOps.list(things.number, { subject: 'alice' }, first, 10)
          expect(last).toEqual({ ...operation, revision: first + 1, position: expect.any(Number) })
          expect(tx.criteriaOps.newest()).toBeGreaterThanOrEqual(first + 1)
        }),
      )
    })

    test('of a realm are those of its members who were in it before', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const { number } = await declareIn(database, 'things')
      const realm = await ensureRealm(database, 'rlm-a')
      const membership = (userId: string, accepted: boolean) => ({
        source: `members:${userId}`,
        realm,
        userId,
        email: null,
        accepted,
        rejected: false,
        permissions: {},
        roles: [],
      })
      const join = (userId: string, accepted: boolean) =>
        database.write((tx) => tx.memberships.put(membership(userId, accepted)))
      const operate = (subject: string, text: string) =>
        database.write((tx) => tx.criteriaOps.put(number, named(text, { subject }), NOW, 10))
      await join('alice', true)
      await join('carol', false)
      await join('dave', true)
      // Owners of a realm may have a second membership in it.
      await database.write((tx) =>
        tx.memberships.put({ ...membership('alice', true), source: 'realms:rlm-a' }),
      )
      for (const subject of ['alice', 'bob', 'carol', 'dave'])
        await operate(subject, `"${subject}"`)
      await join('bob', true)
      await join('carol', true)
      await database.write((tx) => tx.memberships.remove('members:dave'))
      await operate('bob', '"later"')
      await inEveryLife(fixture, (again) =>
        again.read((tx) => {
          expect(texts(tx.criteriaOps.list(number, { realm }, 0, 10))).toEqual([
            '"alice"',
            '"later"',
          ])
          expect(texts(tx.criteriaOps.list(number, { realm }, 0, 1))).toEqual(['"later"'])
          expect(tx.criteriaOps.list(number, { realm: 1 }, 0, 10)).toEqual([])
        }),
      )
    })

    test('of one user on one table go when there are newer ones', async () => {
      await using database = await createDatabase(openStore)
      const { number } = await declareIn(database, 'things')
      const others = await declareIn(database, 'others')
      const put = (table: number, text: string, subject = 'alice') =>
        database.write((tx) => tx.criteriaOps.put(table, named(text, { subject }), NOW, 2))
      await put(number, '"a"')
      await put(others.number, '"b"')
      await put(number, '"c"', 'bob')
      await put(number, '"d"')
      await put(number, '"e"')
      await database.read((tx) => {
        const of = (table: number, subject: string) =>
          texts(tx.criteriaOps.list(table, { subject }, 0, 10))
        expect(of(number, 'alice')).toEqual(['"d"', '"e"'])
        expect(of(number, 'bob')).toEqual(['"c"'])
        expect(of(others.number, 'alice')).toEqual(['"b"'])
      })
    })
  })
}
