import { describe, expect, test } from 'bun:test'
import type { Database } from '../../src/domain/store/store'
import { inEveryLife, NOW, type OpenStore, createDatabase, setupDatabase } from './fixture'
import type { Code } from '../../src/domain/store/credentials'

/** Codes that are good once: one-time codes and authorization codes. */
export function describeCodes(openStore: OpenStore): void {
  describe('codes', () => {
    test('are found by their id as they were last put, of every kind', async () => {
      await using fixture = await setupDatabase(openStore)
      const first = code('a', { state: { as: null, list: [1, { deep: true }] }, used: null })
      const second: Code = {
        id: 'a',
        kind: 'authorization',
        hash: null,
        subject: 'bob',
        scopes: [],
        state: JSON.parse('{"__proto__":{"x":1},"constructor":2}') as Code['state'],
        attempts: 4,
        created: NOW - 5,
        expires: NOW + 7,
        used: NOW + 6,
      }
      const find = (database: Database) => database.read((tx) => tx.codes.find('a'))
      await putCodes(fixture.database, first)
      expect(await find(fixture.database)).toEqual(first)
      await putCodes(fixture.database, second)
      await inEveryLife(fixture, async (database) => {
        expect(JSON.stringify(await find(database))).toBe(JSON.stringify(second))
        expect(await database.read((tx) => tx.codes.find('b'))).toBeUndefined()
      })
    })

    test('of a subject come newest first, as far back as is asked for', async () => {
      await using database = await createDatabase(openStore)
      await putCodes(
        database,
        code('second', { created: NOW - 1 }),
        code('third', { created: NOW - 2, kind: 'authorization', hash: null }),
        code('first', { created: NOW }),
        code('other', { subject: 'alice@example.co' }),
      )
      const of = (subject: string, since: number) =>
        database.read((tx) => tx.codes.ofSubject(subject, since).map(({ id }) => id))
      expect(await of(ALICE, 0)).toEqual(['first', 'second', 'third'])
      expect(await of(ALICE, NOW - 2)).toEqual(['first', 'second'])
      expect(await of(ALICE, NOW)).toEqual([])
      expect(await of('alice%', 0)).toEqual([])
      // A unit sees what it put: a cap that counts codes counts those beside it.
      await database.write((tx) => {
        tx.codes.put(code('newest', { created: NOW + 1 }))
        expect(tx.codes.ofSubject(ALICE, NOW).map(({ id }) => id)).toEqual(['newest'])
      })
    })

    test('go with the subject they are for', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const other = { subject: 'alice@example.co' }
      const used = { used: NOW, kind: 'authorization', hash: null } as const
      await putCodes(database, code('a'), code('b', used), code('c', other))
      await database.write((tx) => tx.forgetAddress('nobody'))
      await database.write((tx) => tx.forgetAddress(ALICE))
      await inEveryLife(fixture, async (again) => {
        expect(await idsOf(again, 'a', 'b', 'c')).toEqual(['c'])
      })
    })

    test('are forgotten when they were over before a time', async () => {
      await using database = await createDatabase(openStore)
      await putCodes(
        database,
        code('over', { expires: NOW - 1 }),
        code('used', { expires: NOW - 1, used: NOW - 2 }),
        code('just', { expires: NOW }),
      )
      expect(await database.write((tx) => tx.prune('codes', NOW, 1))).toBe(1)
      expect(await database.write((tx) => tx.prune('codes', NOW, 10))).toBe(1)
      expect(await idsOf(database, 'over', 'used', 'just')).toEqual(['just'])
    })

    test('are not there when their unit or part failed', async () => {
      await using database = await createDatabase(openStore)
      await putCodes(database, code('a'))
      const failing = database.write((tx) => {
        tx.codes.put(code('a', { used: NOW }))
        throw new Error('expected')
      })
      await failing.catch(() => undefined)
      await database.write((tx) => {
        const part = () =>
          tx.attempt(() => {
            tx.codes.put(code('b'))
            throw new Error('expected')
          })
        expect(part).toThrow()
      })
      expect(await database.read((tx) => tx.codes.find('a'))).toMatchObject({ used: null })
      expect(await idsOf(database, 'a', 'b')).toEqual(['a'])
    })
  })
}

const ALICE = 'alice@example.com'

export function code(id: string, changes: Partial<Code> = {}): Code {
  return {
    id,
    kind: 'otp',
    hash: 'hash',
    subject: ALICE,
    scopes: ['ACCESS_DB'],
    state: {},
    attempts: 0,
    created: NOW,
    expires: NOW + 1,
    used: null,
    ...changes,
  }
}

async function putCodes(database: Database, ...codes: Code[]): Promise<void> {
  await database.write((tx) => {
    for (const each of codes) tx.codes.put(each)
  })
}

/** Those of these ids that there are. */
async function idsOf(database: Database, ...ids: string[]): Promise<string[]> {
  return await database.read((tx) => {
    const found: string[] = []
    for (const id of ids) if (tx.codes.find(id) !== undefined) found.push(id)
    return found
  })
}
