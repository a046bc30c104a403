import { describe, expect, test } from 'bun:test'
import type { Membership } from '../../src/domain/store/memberships'
import type { ReadTx, WriteTx } from '../../src/domain/store/store'
import {
  declare,
  declareIn,
  failPart,
  fresh,
  memoryOf,
  NO_TRACES,
  NOW,
  type OpenStore,
  createDatabase,
  WHOLE,
} from './fixture'
import { code } from './codes'
import { mail } from './mails'
import { user } from './user-fixture'
import { requireTable } from '../../src/domain/object/tables'

/** `remember`: a remembered value is valid until something changes that it was loaded from. */
export function describeMemory(openStore: OpenStore): void {
  describe('remembering', () => {
    test('loads once, for reads and units alike', async () => {
      await using database = await createDatabase(openStore)
      const first = await database.read(origins)
      expect(await database.read(origins)).toBe(first)
      expect(await database.write(origins)).toBe(first)
    })

    test('remembers a value that is undefined, and one that is loaded at once', async () => {
      await using database = await createDatabase(openStore)
      let loads = 0
      const look = (tx: ReadTx) =>
        tx.remember('nothing', () => {
          loads += 1
          return undefined
        })
      expect(await database.read(look)).toBeUndefined()
      expect(await database.read(look)).toBeUndefined()
      expect(loads).toBe(1)
    })

    test('gives a load the two values it is asked with', async () => {
      await using database = await createDatabase(openStore)
      const load = (one: string, other: number) => [one, other]
      expect(await database.read((tx) => tx.remember('read', load, 'a', 1))).toEqual(['a', 1])
      expect(await database.read((tx) => tx.remember('read', load, 'b', 2))).toEqual(['a', 1])
      expect(await database.write((tx) => tx.remember('unit', load, 'c', 3))).toEqual(['c', 3])
    })

    test('forgets in the commit that changes policy', async () => {
      await using database = await createDatabase(openStore)
      expect(await database.read(count)).toBe(0)
      for (let n = 1; n <= 5; n += 1) {
        const writing = database.write((tx) => tx.origins.put(origin(n)))
        expect(await database.read(count)).toBe(n - 1)
        await writing
        expect(await database.read(count)).toBe(n)
        expect(await database.write(count)).toBe(n)
      }
    })

    test('never shows a unit what the units before it in the same commit changed', async () => {
      await using database = await createDatabase(openStore)
      await database.read(count)
      const seen = await Promise.all([
        database.write(count),
        database.write((tx) => {
          const before = count(tx)
          tx.origins.put(origin(1))
          return [before, count(tx)]
        }),
        database.write(count),
        database.write((tx) => {
          tx.origins.put(origin(2))
          return count(tx)
        }),
      ])
      expect(seen).toEqual([0, [0, 1], 1, 2])
      expect(await database.read(count)).toBe(2)
    })

    test('is not filled by a unit, least of all by one that fails', async () => {
      await using database = await createDatabase(openStore)
      const failing = database.write((tx) => {
        tx.origins.put(origin(1))
        expect(count(tx)).toBe(1)
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(await database.read(count)).toBe(0)
    })

    test('loads once for all units of a commit that follow a change of policy', async () => {
      await using database = await createDatabase(openStore)
      await database.read(origins)
      const change = database.write((tx) => tx.origins.put(origin(1)))
      const units = Array.from({ length: 20 }, () => database.write(origins))
      await change
      const [first, ...others] = await Promise.all(units)
      expect(first).toEqual({ count: 1 })
      for (const other of others) expect(other).toBe(first!)
      // What a unit has loaded is known to readers as soon as it is committed.
      expect(await database.read(origins)).toBe(first!)
    })

    test('loads again for a value that was loaded from a remembered one', async () => {
      await using database = await createDatabase(openStore)
      const twice = (tx: ReadTx) => tx.remember('twice', () => 2 * count(tx))
      expect(await database.read(count)).toBe(0)
      expect(await database.read(twice)).toBe(0)
      for (let n = 1; n <= 3; n += 1) {
        await database.write((tx) => tx.origins.put(origin(n)))
        expect(await database.read(twice)).toBe(2 * n)
      }
    })

    test('forgets what a unit loaded from a change that is undone', async () => {
      await using database = await createDatabase(openStore)
      const [, seen] = await Promise.all([
        database
          .write((tx) => {
            tx.origins.put(origin(1))
            expect(count(tx)).toBe(1)
            throw new Error('expected')
          })
          .catch(() => undefined),
        database.write((tx) => {
          const before = count(tx)
          tx.origins.put(origin(2))
          tx.origins.put(origin(3))
          return [before, count(tx), count(tx)]
        }),
      ])
      expect(seen).toEqual([0, 2, 2])
    })

    test('holds on when the change was undone', async () => {
      await using database = await createDatabase(openStore)
      await database.read(count)
      const forgets = await memoryOf(database)
      await database.write((tx) => {
        failPart(tx, () => {
          tx.origins.put(origin(1))
          expect(count(tx)).toBe(1)
        })
        expect(count(tx)).toBe(0)
      })
      expect(await database.read(count)).toBe(0)
      expect(await forgets()).toBe(false)
    })

    test('keeps nothing of a load that failed', async () => {
      await using database = await createDatabase(openStore)
      const failing = database.read((tx) =>
        tx.remember('origins', () => {
          throw new Error('expected')
        }),
      )
      expect(failing).rejects.toThrow('expected')
      await failing.catch(() => undefined)
      expect(await database.read(count)).toBe(0)
    })
  })

  describe('policy', () => {
    test.each(CHANGES)('forgets at a change of %s', async (_, look, change) => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => {
        tx.realms.ensure('rlm-a')
        tx.users.put(user('bob'))
        tx.memberships.put(membership('members:bob', 'bob'))
        putRow('roles', '["rlm-public","boss"]')(tx)
        declare(tx, 'there', '@id, title')
      })
      const remembered = (tx: ReadTx) => tx.remember('probe', () => ({ seen: look(tx) }))
      const before = await database.read(remembered)
      await database.write(change)
      expect(await database.read(remembered)).not.toBe(before)
    })

    test('keeps the rights of a user when those of others change', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => tx.memberships.put(membership('members:bob', 'bob')))
      const rights = (tx: ReadTx) =>
        tx.remember('rights of bob', () => {
          tx.users.find('bob')
          tx.realms.find('bob')
          tx.memberships.ofSubject('bob', 'bob@example.com')
          const roles = requireTable(tx, 'roles')
          tx.objects.realmsWith(roles, new Set([1]))
          return { role: tx.objects.find(roles, '["rlm-public","boss"]') }
        })
      const loaded = await database.read(rights)
      for (const change of STRANGERS) {
        await database.write(change)
        expect(await database.read(rights)).toBe(loaded)
      }
    })

    test('keeps what it remembers at changes of objects, jobs, refresh tokens, codes and mails', async () => {
      await using database = await createDatabase(openStore)
      const table = await declareIn(database, 'things')
      const forgets = await memoryOf(database)
      await database.write((tx) => tx.objects.put(table, [fresh('a')], NOW))
      await database.write((tx) => tx.jobs.remove('none'))
      await database.write((tx) => tx.refreshTokens.recordUse('hash', 1, NOW))
      await database.write((tx) => tx.codes.put(code('a')))
      await database.write((tx) => tx.mails.put(mail('a')))
      expect(await forgets()).toBe(false)
    })

    test('keeps what it remembers when a unit fails', async () => {
      await using database = await createDatabase(openStore)
      const forgets = await memoryOf(database)
      const failing = database.write((tx) => {
        tx.origins.put(origin(1))
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(await forgets()).toBe(false)
    })
  })
}

const CHANGES: readonly [
  string,
  look: (tx: ReadTx) => unknown,
  change: (tx: WriteTx) => unknown,
][] = [
  ['a user', (tx) => tx.users.find('alice'), (tx) => tx.users.put(user('alice'))],
  ['a user who goes', (tx) => tx.users.find('bob'), (tx) => tx.users.remove('bob')],
  ['users', (tx) => tx.users.count({}, 9), (tx) => tx.users.put(user('alice'))],
  ['a client', (tx) => tx.clients.find('c1'), (tx) => tx.clients.put(client())],
  ['clients', (tx) => tx.clients.list(), (tx) => tx.clients.put(client())],
  ['keys', (tx) => tx.keys.list(), (tx) => tx.keys.put(key())],
  ['origins', (tx) => tx.origins.list(), (tx) => tx.origins.put(origin(1))],
  ['settings', (tx) => tx.settings.find('s'), (tx) => tx.settings.put({ id: 's', value: {} })],
  ['revoked logins', (tx) => tx.logins.isRevoked('l'), (tx) => tx.logins.revoke('l', NOW)],
  [
    'memberships of a user',
    (tx) => tx.memberships.ofSubject('bob', null),
    (tx) => tx.memberships.removeOfRealm(1),
  ],
  [
    'memberships of a user, one by one',
    (tx) => tx.memberships.ofSubjectIn('bob', null, 1),
    (tx) => tx.memberships.remove('members:bob'),
  ],
  [
    'a membership that goes to another user',
    (tx) => tx.memberships.ofUser('bob', 100),
    (tx) => tx.memberships.put(membership('members:bob', 'carol')),
  ],
  [
    'open memberships',
    (tx) => tx.memberships.ofSubject('bob', null),
    (tx) => tx.memberships.put({ ...membership('members:bob', 'bob'), accepted: false }),
  ],
  [
    'invitations to an address',
    (tx) => tx.memberships.ofSubject(null, 'b@example.com'),
    (tx) => tx.memberships.put({ ...membership('members:b', null), email: 'b@example.com' }),
  ],
  [
    'members of a realm',
    (tx) => tx.memberships.ofRealm(1, '', 9, true),
    (tx) => tx.memberships.put(membership('members:new', 'carol')),
  ],
  ['a realm', (tx) => tx.realms.find('rlm-b'), (tx) => tx.realms.ensure('rlm-b')],
  ['a private realm', (tx) => tx.realms.find('bob'), (tx) => tx.realms.ensure('bob')],
  ['a realm that ends', (tx) => tx.realms.findByRef(2), (tx) => tx.realms.markErasing(2)],
  [
    'a role that is not there',
    (tx) => tx.objects.find(requireTable(tx, 'roles'), '["rlm-a","boss"]'),
    (tx) => putRow('roles', '["rlm-a","boss"]')(tx),
  ],
  [
    'a role',
    (tx) => tx.objects.find(requireTable(tx, 'roles'), '["rlm-public","boss"]'),
    (tx) => {
      const table = requireTable(tx, 'roles')
      const previous = tx.objects.find(table, '["rlm-public","boss"]')
      tx.objects.remove(table, [{ previous: previous!, ...NO_TRACES }], NOW)
    },
  ],
  [
    'the roles of a realm',
    (tx) => tx.objects.realmsWith(requireTable(tx, 'roles'), new Set([2])),
    (tx) => putRow('roles', '["rlm-a","new"]', 2)(tx),
  ],
  [
    'rows of built-in tables',
    (tx) => tx.objects.page(requireTable(tx, 'realms'), { size: WHOLE }),
    (tx) => putRow('realms', 'rlm-a')(tx),
  ],
  [
    'a row of a built-in table',
    (tx) => tx.objects.findMany(requireTable(tx, 'realms'), ['rlm-a']),
    (tx) => putRow('realms', 'rlm-a')(tx),
  ],
  ['a table', (tx) => tx.tables.find('new'), (tx) => declare(tx, 'new')],
  ['tables', (tx) => tx.tables.list(), (tx) => declare(tx, 'new')],
  [
    'an index',
    (tx) => tx.tables.find('there'),
    (tx) => {
      const [index] = requireTable(tx, 'there').indexes
      tx.tables.setIndexState(index!.number, 'ready')
    },
  ],
  ['the seal', (tx) => tx.tables.isSealed(), (tx) => tx.tables.seal(true)],
]

/** Changes of policy that have nothing to do with Bob. */
const STRANGERS: readonly ((tx: WriteTx) => unknown)[] = [
  (tx) => tx.users.put(user('alice')),
  (tx) => tx.realms.ensure('alice'),
  (tx) => tx.realms.ensure('rlm-b'),
  (tx) => tx.memberships.put(membership('members:alice', 'alice')),
  (tx) => tx.memberships.put({ ...membership('members:c', null), email: 'c@example.com' }),
  // Nothing changes here.
  (tx) => tx.memberships.put(membership('members:bob', 'bob')),
  (tx) => putRow('members', 'alice')(tx),
  (tx) => {
    const realm = tx.realms.find('rlm-b')
    putRow('roles', '["rlm-b","boss"]', realm?.ref)(tx)
  },
  (tx) => tx.clients.put(client()),
  (tx) => declare(tx, 'new'),
]

function putRow(name: string, rowKey: string, realm = 1) {
  return (tx: WriteTx): void => {
    const table = requireTable(tx, name)
    tx.objects.put(table, [fresh(rowKey, { realm })], NOW)
  }
}

function membership(source: string, userId: string | null): Membership {
  const rights = { permissions: {}, roles: [] }
  return { source, realm: 1, userId, email: null, accepted: true, rejected: false, ...rights }
}

/** How many origins there are: one object each time that it is worked out. */
function origins(tx: ReadTx): { readonly count: number } {
  return tx.remember('origins', () => ({ count: tx.origins.list().length }))
}

function count(tx: ReadTx): number {
  return origins(tx).count
}

function origin(n: number) {
  return { id: `https://${n}.example`, created: NOW }
}

function client() {
  return {
    id: 'c1',
    secretHash: '',
    scopes: [],
    name: null,
    email: null,
    created: NOW,
    expires: null,
  }
}

function key() {
  const text = { publicKey: '', sealedPrivateKey: '' }
  return { id: 'k1', state: 'current' as const, ...text, created: NOW, retired: null }
}
