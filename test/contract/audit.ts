import { describe, expect, test } from 'bun:test'
import type { AuditLine } from '../../src/domain/store/audit'
import type { Database } from '../../src/domain/store/store'
import {
  failPart,
  inEveryLife,
  NOW,
  type OpenStore,
  createDatabase,
  setupDatabase,
} from './fixture'

/** Lines about operations. */
export function describeAudit(openStore: OpenStore): void {
  describe('lines about operations', () => {
    test('are kept as they were put, in the order of their times', async () => {
      await using fixture = await setupDatabase(openStore)
      const { database } = fixture
      const full = { door: 'rest', client: 'c', user: 'alice', address: '192.0.2.1' } as const
      const lines = [auditLine('later', { at: NOW + 1 }), auditLine('a', full), auditLine('b')]
      await putLines(database, ...lines)
      await inEveryLife(fixture, async (again) => {
        const known = await again.read((tx) => tx.audit.list({ at: 0, seq: 0 }, 10))
        expect(known).toMatchObject([lines[1]!, lines[2]!, lines[0]!])
      })
    })

    test('come from a time, and then from where the last ones ended', async () => {
      await using database = await createDatabase(openStore)
      await putLines(database, auditLine('old', { at: NOW - 1 }), auditLine('a'), auditLine('b'))
      await putLines(database, auditLine('c', { at: NOW + 1 }))
      const list = (at: number, seq: number, limit: number) =>
        database.read((tx) => tx.audit.list({ at, seq }, limit))
      expect((await list(NOW, 0, 10)).map(({ id }) => id)).toEqual(['a', 'b', 'c'])
      const [, last] = await list(NOW, 0, 2)
      expect((await list(last!.at, last!.seq, 2)).map(({ id }) => id)).toEqual(['c'])
    })

    test('come the newest first, back to a time, page by page', async () => {
      await using database = await createDatabase(openStore)
      await putLines(database, auditLine('later', { at: NOW + 1 }), auditLine('a'), auditLine('b'))
      await putLines(database, auditLine('old', { at: NOW - 1 }))
      const list = (at: number, seq: number, limit: number) =>
        database.read((tx) => tx.audit.listNewest({ at, seq }, NOW, limit))
      const first = await list(NOW + 2, 0, 2)
      expect(first.map(({ id }) => id)).toEqual(['later', 'b'])
      const last = first[1]!
      expect((await list(last.at, last.seq, 2)).map(({ id }) => id)).toEqual(['a'])
    })

    test('are one for an operation, with its latest result', async () => {
      await using database = await createDatabase(openStore)
      await putLines(database, auditLine('a', { result: 'begun' }), auditLine('b'))
      await putLines(database, auditLine('a', { result: 'NOT_AUTHORIZED' }))
      expect(await resultsIn(database)).toEqual(['a NOT_AUTHORIZED', 'b done'])
    })

    test('go with the part of a unit that fails', async () => {
      await using database = await createDatabase(openStore)
      await database.write((tx) => {
        tx.audit.put(auditLine('a'))
        failPart(tx, () => tx.audit.put(auditLine('b')))
      })
      expect(await resultsIn(database)).toEqual(['a done'])
    })

    test('are forgotten from before a time, as many as are asked for', async () => {
      await using database = await createDatabase(openStore)
      const old = ['a', 'b', 'c'].map((id) => auditLine(id, { at: NOW - 1 }))
      await putLines(database, ...old, auditLine('new'))
      const prune = () => database.write((tx) => tx.prune('audit', NOW, 2))
      expect([await prune(), await prune(), await prune()]).toEqual([2, 1, 0])
      expect(await resultsIn(database)).toEqual(['new done'])
    })
  })
}

/** A line about a command, at `NOW`. */
export function auditLine(id: string, line: Partial<AuditLine> = {}): AuditLine {
  return {
    id,
    at: NOW,
    operation: 'user.delete',
    result: 'done',
    door: 'command',
    uid: null,
    client: null,
    user: null,
    address: null,
    session: null,
    ...line,
  }
}

function putLines(database: Database, ...lines: AuditLine[]): Promise<void> {
  return database.write((tx) => {
    for (const line of lines) tx.audit.put(line)
  })
}

async function resultsIn(database: Database): Promise<string[]> {
  const lines = await database.read((tx) => tx.audit.list({ at: 0, seq: 0 }, 100))
  return lines.map(({ id, result }) => `${id} ${result}`)
}
