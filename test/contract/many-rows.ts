import { describe, expect, test } from 'bun:test'
import type { Membership } from '../../src/domain/store/memberships'
import type { Database, WriteTx } from '../../src/domain/store/store'
import { failPart, NOW, type OpenStore, refreshToken, createDatabase } from './fixture'
import { criteriaOperation } from './sync'

/** More rows than an engine may remove at a stretch. */
const COUNT = 600
const REALM = 7

/** Rows that one verb removes, however many there are. */
export function describeManyRows(openStore: OpenStore): void {
  describe('hundreds of rows that go together', () => {
    test.each(KINDS)('are gone for the rest of their unit: %s', async (_, kind) => {
      await using database = await createDatabase(openStore)
      await fill(database, kind)
      const left = await database.write((tx) => {
        kind.removeAll(tx)
        return kind.count(tx)
      })
      expect(left).toBe(0)
      expect(await countOf(database, kind)).toBe(0)
    })

    test.each(KINDS)('leave alone what is put after them: %s', async (_, kind) => {
      await using database = await createDatabase(openStore)
      await fill(database, kind)
      await database.write((tx) => {
        kind.removeAll(tx)
        kind.put(tx, COUNT - 1)
      })
      expect(await countOf(database, kind)).toBe(1)
    })

    test.each(KINDS)('stay when their part or their unit fails: %s', async (_, kind) => {
      await using database = await createDatabase(openStore)
      await fill(database, kind)
      await database.write((tx) => failPart(tx, () => kind.removeAll(tx)))
      const failed = database.write((tx) => {
        kind.removeAll(tx)
        throw new Error('no')
      })
      expect(await failed.catch(String)).toBe('Error: no')
      const inSteps = database.writeSteps(async (step) => {
        await step((tx) => kind.removeAll(tx))
        throw new Error('no')
      })
      expect(await inSteps.catch(String)).toBe('Error: no')
      expect(await countOf(database, kind)).toBe(COUNT)
    })

    test('are announced with everyone who loses rights', async () => {
      await using database = await createDatabase(openStore)
      await fill(database, MEMBERSHIPS)
      const told = new Set<string>()
      database.onCommit(({ units }) => {
        for (const subject of units.flatMap(({ subjects }) => subjects)) told.add(subject)
      })
      await database.write((tx) => MEMBERSHIPS.removeAll(tx))
      expect(told.size).toBe(COUNT)
    })
  })
}

interface Kind {
  put(tx: WriteTx, n: number): void
  count(tx: WriteTx): number
  removeAll(tx: WriteTx): void
}

const MEMBERSHIPS: Kind = {
  put: (tx, n) => tx.memberships.put(membershipOf(n)),
  count: (tx) => tx.memberships.ofRealm(REALM, '', COUNT).length,
  removeAll: (tx) => tx.memberships.removeOfRealm(REALM),
}

const TOKENS: Kind = {
  put: (tx, n) => tx.refreshTokens.put(refreshToken(`h${n}`)),
  count: (tx) => countThere((n) => tx.refreshTokens.find(`h${n}`)),
  removeAll: (tx) => tx.refreshTokens.removeOf({ clientId: 'c1' }),
}

const TRANSACTIONS: Kind = {
  // Of two clients.
  put(tx, n) {
    const { number } = tx.syncClients.ensure('alice', `device${n % 2}`, NOW)
    tx.applied.put(number, `t${n}`, NOW)
  },
  count: (tx) => countThere((n) => tx.applied.findOfUser('alice', `t${n}`)),
  removeAll: (tx) => tx.syncClients.removeOfSubject('alice'),
}

const OPERATIONS: Kind = {
  put: (tx) => void tx.criteriaOps.put(1, criteriaOperation(1), NOW, COUNT),
  count: (tx) => tx.criteriaOps.list(1, { subject: 'alice' }, 0, COUNT).length,
  removeAll: (tx) => tx.syncClients.removeOfSubject('alice'),
}

const KINDS: [string, Kind][] = [
  ['the memberships of a realm', MEMBERSHIPS],
  ['the refresh tokens of a client', TOKENS],
  ['the transactions of a user', TRANSACTIONS],
  ['the operations of a user', OPERATIONS],
]

function countThere(find: (n: number) => unknown): number {
  return Array.from({ length: COUNT }, (_, n) => find(n)).filter(Boolean).length
}

async function fill(database: Database, kind: Kind): Promise<void> {
  await database.write((tx) => {
    for (let n = 0; n < COUNT; n += 1) kind.put(tx, n)
  })
}

async function countOf(database: Database, kind: Kind): Promise<number> {
  return database.write((tx) => kind.count(tx))
}

function membershipOf(n: number): Membership {
  return {
    source: `members:m${n}`,
    realm: REALM,
    userId: `user${n}`,
    email: null,
    accepted: true,
    rejected: false,
    permissions: {},
    roles: [],
  }
}
