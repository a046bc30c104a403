import { describe, expect, test } from 'bun:test'
import type { ReadTx, WriteTx } from '../../src/domain/store/store'
import {
  declare,
  declareIn,
  ensureRealm,
  fresh,
  memoryOf,
  NOW,
  type OpenStore,
  setupDatabase,
} from './fixture'
import { code } from './codes'
import { mail } from './mails'
import { user } from './user-fixture'
import { requireTable } from '../../src/domain/object/tables'

/** `remember`: a remembered value is valid until policy changes. */
export function describeMemory(openStore: OpenStore): void {
  describe('remembering', () => {
    test('loads once, for reads and units alike', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      expect(await database.read(memory.look)).toBe(0)
      expect(await database.read(memory.look)).toBe(0)
      expect(await database.write(memory.look)).toBe(0)
      expect(memory.loads).toBe(1)
    })

    test('remembers a value that is undefined, and one that is loaded at once', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
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

    test('forgets in the commit that changes policy', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      expect(await database.read(memory.look)).toBe(0)
      for (let n = 1; n <= 5; n += 1) {
        const writing = database.write((tx) => tx.origins.put(origin(n)))
        expect(await database.read(memory.look)).toBe(n - 1)
        await writing
        expect(await database.read(memory.look)).toBe(n)
        expect(await database.write(memory.look)).toBe(n)
      }
    })

    test('never shows a unit what the units before it in the same commit changed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      await database.read(memory.look)
      const seen = await Promise.all([
        database.write(memory.look),
        database.write(async (tx) => {
          const before = await memory.look(tx)
          await tx.origins.put(origin(1))
          return [before, await memory.look(tx)]
        }),
        database.write(memory.look),
        database.write(async (tx) => {
          await tx.origins.put(origin(2))
          return memory.look(tx)
        }),
      ])
      expect(seen).toEqual([0, [0, 1], 1, 2])
      expect(await database.read(memory.look)).toBe(2)
    })

    test('is not filled by a unit, least of all by one that fails', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      const failing = database.write(async (tx) => {
        await tx.origins.put(origin(1))
        expect(await memory.look(tx)).toBe(1)
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(await database.read(memory.look)).toBe(0)
    })

    test('loads once for all units of a commit that follow a change of policy', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      await database.read(memory.look)
      const change = database.write((tx) => tx.origins.put(origin(1)))
      const seen = Array.from({ length: 20 }, () => database.write(memory.look))
      await change
      expect(await Promise.all(seen)).toEqual(seen.map(() => 1))
      expect(memory.loads).toBe(2)
      expect(await database.read(memory.look)).toBe(1)
      expect(memory.loads).toBe(3)
    })

    test('forgets what a unit loaded from a change that is undone', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      const [, seen] = await Promise.all([
        database
          .write(async (tx) => {
            await tx.origins.put(origin(1))
            expect(await memory.look(tx)).toBe(1)
            throw new Error('expected')
          })
          .catch(() => undefined),
        database.write(async (tx) => {
          const before = await memory.look(tx)
          await tx.origins.put(origin(2))
          await tx.origins.put(origin(3))
          return [before, await memory.look(tx), await memory.look(tx)]
        }),
      ])
      expect(seen).toEqual([0, 2, 2])
    })

    test('holds on when the change was undone', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const memory = counted()
      await database.read(memory.look)
      const forgets = await memoryOf(database)
      await database.write(async (tx) => {
        const part = tx.attempt(async () => {
          await tx.origins.put(origin(1))
          expect(await memory.look(tx)).toBe(1)
          throw new Error('expected')
        })
        await part.catch(() => undefined)
        expect(await memory.look(tx)).toBe(0)
      })
      expect(await database.read(memory.look)).toBe(0)
      expect(await forgets()).toBe(false)
    })

    test('keeps nothing that was loaded before a commit and arrived after it', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const slow = database.read(async (tx) =>
        tx.remember('origins', async () => {
          const { length } = await tx.origins.list()
          await database.write((other) => other.origins.put(origin(1)))
          return length
        }),
      )
      await slow.catch(() => undefined)
      expect(await database.read(counted().look)).toBe(1)
    })

    test('keeps nothing of a load that failed', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const failing = database.read((tx) =>
        tx.remember('origins', async () => {
          throw new Error('expected')
        }),
      )
      expect(failing).rejects.toThrow('expected')
      await failing.catch(() => undefined)
      expect(await database.read(counted().look)).toBe(0)
    })
  })

  describe('policy', () => {
    test.each(CHANGES)('forgets at a change of %s', async (_, change) => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      await ensureRealm(database, 'rlm-a')
      await database.write((tx) => declare(tx, 'there', '@id, title'))
      const forgets = await memoryOf(database)
      await database.write(change)
      expect(await forgets()).toBe(true)
    })

    test('keeps what it remembers at changes of objects, jobs, refresh tokens, codes and mails', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
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
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const forgets = await memoryOf(database)
      const failing = database.write(async (tx) => {
        await tx.origins.put(origin(1))
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      expect(await forgets()).toBe(false)
    })
  })
}

const CHANGES: [string, (tx: WriteTx) => unknown][] = [
  ['users', (tx) => tx.users.put(user('alice'))],
  ['clients', (tx) => tx.clients.put(client())],
  ['keys', (tx) => tx.keys.put(key())],
  ['origins', (tx) => tx.origins.put(origin(1))],
  ['memberships', (tx) => tx.memberships.removeOfRealm(1)],
  ['realms', (tx) => tx.realms.ensure('rlm-b')],
  ['tables', (tx) => declare(tx, 'new')],
  ['the seal', (tx) => tx.tables.seal(true)],
  ['rows of built-in tables', putRealmRow],
]

async function putRealmRow(tx: WriteTx): Promise<void> {
  const realms = await requireTable(tx, 'realms')
  await tx.objects.put(realms, [fresh('rlm-a')], NOW)
}

/** A look at how many origins there are, which counts how often it was worked out. */
function counted() {
  const memory = {
    loads: 0,
    look: (tx: ReadTx) =>
      tx.remember('origins', async () => {
        memory.loads += 1
        return (await tx.origins.list()).length
      }),
  }
  return memory
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
